//! Test support: runs the real binary as a server, sends HTTP requests to it, and provides sample data.
//!
//! ```no_run
//! use serde_json::json;
//! use tidings_tests::Server;
//!
//! let server = Server::start();
//! let (ann, admin) = (server.member("ann"), server.admin());
//! assert_eq!(ann.post("/change_nickname", json!({ "new_nickname": "Annie" })).outcome(), "200 success");
//! assert_eq!(ann.get("/admin_remove_user/admin").outcome(), "200 Not admin");
//! assert_eq!(admin.get("/admin_remove_user/ann").outcome(), "200 success");
//! assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
//! ```
//!
//! [`Server`] runs `tidings serve` with its own database and port, so tests can run in parallel. All callers
//! ([`Server::anyone`], [`Server::member`] and [`Server::admin`]) have the same methods, so a test shows directly
//! which caller may do what. A request returns an [`Answer`]. Tests do not sleep; they wait for a condition with
//! [`wait_until`].
#![expect(clippy::unwrap_used, reason = "a failed step of a test panics")]

mod answer;
mod binary;
mod caller;
mod contract;
mod database;
mod events;
pub mod jwt;
mod operation;
mod process;
mod raw;
pub mod receiver;
pub mod remote;
pub mod sample;
mod server;
pub mod site;
mod terminal;
mod tls;
mod tmux;
pub mod totp;
pub mod usage;
mod wait;

pub use answer::{Answer, LINES};
pub use binary::{Output, command, command_in, run};
pub use caller::{Caller, PASSWORD, Request};
pub use database::{Database, integrity, location};
pub use events::{Event, EventStream};
pub use operation::{Access, OPERATIONS, Operation};
pub use process::{Process, Stopped};
pub use raw::read_answer;
pub use server::Server;
pub use terminal::Terminal;
pub use tidings_cluster::{Engine, Value, only_on_sqlite};
pub use tls::{Authority, TlsProxy};
pub use tmux::Tmux;
pub use wait::{WAIT_MAX, wait_until};
