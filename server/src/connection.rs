//! The connection guard between the network and the service.
//!
//! hyper has few time limits and no bounds of its own. This module accepts connections and gives each to hyper behind a socket
//! that watches it, so that no client keeps others from being served, however slow, silent or greedy it is. The service behind it
//! ([`crate::router`]) knows nothing of connections. The figures are in [`bounds`] and in [`crate::Config`].

pub(crate) mod bounds;
mod files;
pub(crate) mod listen;
pub(crate) mod per_connection;
mod registry;
mod state;
mod stream;
mod timeouts;
pub(crate) mod tls;
mod unsent;
