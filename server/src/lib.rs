//! The HTTP API of tidings: every operation of [`tidings_core`] as a route.
//!
//! [`serve`] answers requests on a listener until it is told to stop. [`service`] returns the same API as a tower
//! service, which another program mounts beside services of its own. The rules of the service are in the core: a
//! handler decodes a request, calls one operation of the core, and encodes the result.
//!
//! ```
//! use tidings_core::Tidings;
//! use tidings_server::Config;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let tidings = Tidings::start(dir.path().join("campus.db"))?;
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
//! let server = tidings_server::serve(tidings, Config::default(), listener, async {
//!     let _ = stopped.await;
//! });
//! let client = async {
//!     use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!     let mut connection = tokio::net::TcpStream::connect(address).await?;
//!     connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await?;
//!     let mut answer = String::new();
//!     connection.read_to_string(&mut answer).await?;
//!     let _ = stop.send(());
//!     Ok::<_, std::io::Error>(answer)
//! };
//! let (served, answer) = tokio::join!(server, client);
//! served?;
//! assert!(answer?.ends_with(r#"{"result":"success"}"#));
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod api;
mod config;
mod connection;
mod events;
mod filter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod metrics;
mod openapi;
mod route;
mod router;
mod routes;
mod service;
mod state;
mod syndication;
#[cfg(test)]
mod testing;

pub use config::{BasePath, Config, InvalidText, IpNet, Origin};
pub use connection::listen::{Handle, Running, Server, serve};
pub use filter::client::PeerAddress;
pub use openapi::openapi;
pub use service::{filter, service};
