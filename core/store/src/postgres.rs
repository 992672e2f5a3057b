//! The PostgreSQL implementation of the store. Only this file and the files below it use the driver.
//!
//! Each store has a writing connection, connections for reading, and one that looks for the commits of other servers. A
//! connection runs on the thread that waits for its answer.

mod arrays;
mod committer;
mod connect;
mod engine;
mod error;
mod fill;
mod horizon;
mod inspect;
mod lane;
mod migrate;
mod partition;
mod password_file;
mod server;
mod session;
#[cfg(test)]
mod tests;
mod time;
mod tls;
mod tx;
mod url;
mod value;
mod wait;
mod watch;
mod write_connection;

pub(super) use engine::PgEngine;
pub use fill::ServerTarget;
pub use inspect::InspectedServer;
