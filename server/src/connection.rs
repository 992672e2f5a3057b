//! The connection guard: what stands between the network and the service.
//!
//! hyper has few time limits and no bounds of its own. This module accepts connections and gives each to hyper behind a
//! socket that watches it, so that no client keeps others from being served, however slow, silent or greedy it is. The
//! service behind it ([`crate::router`]) knows nothing of connections, and adding a route touches nothing here.
//!
//! | what could go wrong | what is done | module |
//! |---|---|---|
//! | more connections than the system can hold | a permit for each; when none is left, the network with the most connections loses those that wait longest for their client | [`registry`], [`files`] |
//! | a client sends its request, or nothing, slowly | time limits on the head of a request, on idle connections and on bodies | [`timeouts`] |
//! | a client does not read its responses | the unread bytes of each connection and of all together are counted and bounded; those that hold most are closed | [`unsent`], [`stream`] |
//! | a client abandons requests that still run | an HTTP/2 connection that resets most of its requests is closed | [`state`], [`stream`] |
//! | a client never finishes the TLS handshake | the handshake counts as a part of the first head | [`tls`] |
//! | the server stops | it refuses new connections, lets requests end for a while, and then breaks off | [`listen`] |
//!
//! The figures are in [`bounds`] and in [`crate::Config`].

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
