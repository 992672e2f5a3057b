//! What the end-to-end tests of tidings share: the real binary as a running server, callers who speak HTTP to
//! it, and sample data.
//!
//! ```no_run
//! use serde_json::json;
//! use tidings_tests::Server;
//!
//! let server = Server::start();
//! let (ann, admin) = (server.member("ann"), server.admin());
//! assert_eq!(ann.post("/change_nickname", json!({ "new_nickname": "Annie" })).said(), "200 success");
//! assert_eq!(ann.get("/admin_remove_user/admin").said(), "200 Not admin");
//! assert_eq!(admin.get("/admin_remove_user/ann").said(), "200 success");
//! assert_eq!(ann.get("/get_userinfo").said(), "200 not found");
//! ```
//!
//! [`Server`] runs `tidings serve` on a database and a port of its own, so tests run side by side. Its callers,
//! [`Server::anyone`], [`Server::member`] and [`Server::admin`], share one set of requests, so a test shows at a
//! glance who may. What a caller gets is an [`Answer`]. Nothing sleeps: what takes its time is waited for with
//! [`wait_until`].
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod answer;
mod binary;
mod caller;
pub mod jwt;
mod operation;
mod raw;
pub mod sample;
mod server;
mod store;
mod terminal;
mod wait;
mod window;

pub use answer::Answer;
pub use binary::{Output, command, run};
pub use caller::{Caller, PASSWORD, Request};
pub use operation::{Access, OPERATIONS, Operation};
pub use raw::read_answer;
pub use server::{Server, Stopped};
pub use terminal::Terminal;
pub use wait::{WAIT_MAX, wait_until};
pub use window::Window;
