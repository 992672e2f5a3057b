//! Test support: temporary PostgreSQL servers, and the choice of the database that tests run on.
//!
//! ```no_run
//! use tidings_cluster::Cluster;
//!
//! let cluster = Cluster::shared().expect("PostgreSQL is installed");
//! let database = cluster.database();
//! database.query("CREATE TABLE member (id text)", &[]);
//! assert_eq!(database.query("SELECT count(*) FROM member", &[]), [[Some("0".to_owned())]]);
//! ```
//!
//! [`Cluster::shared`] is the server of a test process. It starts on first use, listens on a Unix socket in a temporary
//! folder, and each test has a [`Database`] of its own in it. Tests of crashes, replication and passwords start their own
//! servers with [`Cluster::builder`].
//!
//! A supervising shell runs the programs of a server one after the other. It stops the server and removes the folder as
//! soon as the test process has ended, even by SIGKILL.
//!
//! `TIDINGS_TEST_STORE` chooses the databases of a test process: see [`Engine`].
#![expect(clippy::unwrap_used, reason = "a failed step of a test panics")]

mod cluster;
mod connection;
mod database;
mod engine;
mod programs;
mod scratch;
mod supervisor;

pub use cluster::{Builder, Cluster};
pub use connection::{Connection, Value};
pub use database::Database;
pub use engine::{Engine, is_installed, suite_on_postgres};
pub use programs::Programs;
pub use scratch::Scratch;
