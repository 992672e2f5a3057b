//! hyper has few time limits and no bounds of its own. This module gives each connection to hyper behind a socket that watches it,
//! so that no client keeps others from being served, however slow, silent or greedy it is. The service behind it
//! ([`crate::router`]) knows nothing of connections. The figures are here and in [`crate::Config`].

pub(crate) mod listen;
mod registry;
mod state;
mod stream;
mod timeouts;
pub(crate) mod tls;
mod unsent;

/// Head of a request in HTTP/1, in bytes.
pub(crate) const HEAD_MAX: usize = 64 * 1024;
/// Head of each request in HTTP/2, in bytes.
const HEAD_MAX_HTTP2: u32 = 16 * 1024;
/// Concurrent requests on an HTTP/2 connection.
const STREAMS: u32 = 32;
/// Flow-control windows for uploads, in bytes, of a stream and of an HTTP/2 connection.
const STREAM_WINDOW: u32 = 128 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// Bytes of a response that h2 buffers for each stream.
const STREAM_BUFFER: usize = 64 * 1024;
/// Streams that an HTTP/2 client may break by protocol errors.
const BROKEN_STREAMS: usize = 256;
/// A connection whose client has left this many bytes unread gets no more responses: 128 KiB for each of its streams.
const CONNECTION_UNSENT: usize = 4 * 1024 * 1024;
/// The socket's send buffer, in bytes. Linux doubles it to include its own bookkeeping, and a guest's feed fits in it. Without
/// this setting the system would buffer up to 4 MiB for each connection.
const SEND_BUFFER: usize = 128 * 1024;
/// As far as the system allows it. Beyond the backlog, the system drops the first packets of connections, which clients send
/// again only after a second.
const BACKLOG: i32 = 4_096;
