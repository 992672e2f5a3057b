//! The socket of a connection. A runtime waits for it while the connection begins, and then the [reactor](super::reactor) of
//! the thread that waits for an answer.

use std::io::{self, Read, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use mio::event::Source;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::Config;

use super::url::Host;

/// Maximum number of bytes that are read at once: the buffer of a large message is much larger, and is filled with zeros first.
const READ_MAX: usize = 64 * 1024;

/// A socket, shared by its connection and by what waits for it.
#[derive(Clone)]
pub(super) struct Socket(Arc<Mutex<Stream>>);

enum Stream {
    /// The runtime in which it was opened waits for it.
    Async(Box<dyn AsyncStream>),
    /// Its reactor waits for it.
    Direct(Box<dyn DirectStream>, Arc<Readiness>),
    /// It could not be moved to its reactor.
    Closed,
}

/// A stream of a runtime.
trait AsyncStream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Takes the stream out of the runtime.
    fn leave(self: Box<Self>) -> io::Result<Box<dyn DirectStream>>;
}

impl AsyncStream for TcpStream {
    fn leave(self: Box<Self>) -> io::Result<Box<dyn DirectStream>> {
        Ok(Box::new(mio::net::TcpStream::from_std(self.into_std()?)))
    }
}

#[cfg(unix)]
impl AsyncStream for tokio::net::UnixStream {
    fn leave(self: Box<Self>) -> io::Result<Box<dyn DirectStream>> {
        Ok(Box::new(mio::net::UnixStream::from_std(self.into_std()?)))
    }
}

/// A stream whose operations never block.
pub(super) trait DirectStream: Read + Write + Source + Send {}

impl<S: Read + Write + Source + Send> DirectStream for S {}

/// What the next operations of a socket can do without waiting, as far as the reactor knows. It learns only of changes.
#[derive(Debug)]
pub(super) struct Readiness {
    pub(super) readable: AtomicBool,
    pub(super) writable: AtomicBool,
    /// Whether the other side has ended the connection, so that reading never waits again.
    pub(super) ended: AtomicBool,
}

impl Readiness {
    fn new() -> Self {
        Self { readable: true.into(), writable: true.into(), ended: false.into() }
    }
}

impl Socket {
    /// Opens the socket of a host in the current runtime.
    pub(super) async fn open(host: &Host, config: &Config) -> io::Result<Self> {
        let stream: Box<dyn AsyncStream> =
            if host.is_socket() { open_unix(host).await? } else { Box::new(open_tcp(host, config).await?) };
        Ok(Self(Arc::new(Mutex::new(Stream::Async(stream)))))
    }

    /// Takes the socket out of its runtime. `register` gives it to a reactor.
    pub(super) fn leave_runtime(
        &self,
        register: impl FnOnce(&mut dyn Source) -> io::Result<()>,
    ) -> io::Result<Arc<Readiness>> {
        let mut stream = self.lock();
        let Stream::Async(shared) = std::mem::replace(&mut *stream, Stream::Closed) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let (mut direct, readiness) = (shared.leave()?, Arc::new(Readiness::new()));
        register(&mut direct)?;
        *stream = Stream::Direct(direct, Arc::clone(&readiness));
        Ok(readiness)
    }

    /// Changes the registration of the socket with its reactor.
    pub(super) fn change(&self, change: impl FnOnce(&mut dyn Source) -> io::Result<()>) -> io::Result<()> {
        match &mut *self.lock() {
            Stream::Direct(stream, _) => change(stream),
            Stream::Async(_) | Stream::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open_tcp(host: &Host, config: &Config) -> io::Result<TcpStream> {
    let stream = if let Some(address) = host.address {
        TcpStream::connect((address, host.port)).await?
    } else {
        TcpStream::connect((&*host.name, host.port)).await?
    };
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(config.get_tcp_user_timeout().copied())?;
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        socket.set_tcp_keepalive(&keepalive)?;
    }
    Ok(stream)
}

#[cfg(unix)]
async fn open_unix(host: &Host) -> io::Result<Box<dyn AsyncStream>> {
    let path = Path::new(&host.name).join(format!(".s.PGSQL.{}", host.port));
    Ok(Box::new(tokio::net::UnixStream::connect(path).await?))
}

#[cfg(not(unix))]
async fn open_unix(_: &Host) -> io::Result<Box<dyn AsyncStream>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Runs an operation, unless it would wait. Without an answer, the reactor polls again after a change.
fn operate(
    is_ready: &AtomicBool,
    mut operation: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        return match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                is_ready.store(false, Ordering::Relaxed);
                Poll::Pending
            }
            result => Poll::Ready(result),
        };
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self.lock() {
            Stream::Async(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Direct(stream, readiness) => {
                let Readiness { readable, ended, .. } = &**readiness;
                if !readable.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed) {
                    return Poll::Pending;
                }
                let free = buffer.initialize_unfilled_to(buffer.remaining().min(READ_MAX));
                let read = ready!(operate(readable, || stream.read(free)))?;
                // Other systems report a change only after an operation that would have waited.
                if cfg!(unix) && read < free.len() {
                    // There was no more, and a change tells when there is.
                    readable.store(false, Ordering::Relaxed);
                }
                buffer.advance(read);
                Poll::Ready(Ok(()))
            }
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self.lock() {
            Stream::Async(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Direct(_, readiness) if !readiness.writable.load(Ordering::Relaxed) => Poll::Pending,
            Stream::Direct(stream, readiness) => operate(&readiness.writable, || stream.write(bytes)),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self.lock() {
            Stream::Async(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Direct(..) | Stream::Closed => Poll::Ready(Ok(())),
        }
    }

    /// The end of a direct stream is that of the socket.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self.lock() {
            Stream::Async(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Direct(..) | Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}
