//! The socket of a connection, with or without TLS.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::server::TlsStream;

use super::{H2, Tls};
use crate::connection::state::Connection;
use crate::connection::timeouts::TimeoutStream;

const HANDSHAKE: u8 = 22;
/// Bytes that are read of a request in plain HTTP before it is answered.
const PLAIN_MAX: usize = 16 * 1024;
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 42\r\n\
    Connection: close\r\n\
    \r\n\
    This server speaks TLS: use https, please\n";

type Tcp = TimeoutStream<TcpStream>;

/// The timeouts are below TLS, so the handshake has the timeout of the first request's head.
pub(crate) enum Socket {
    Plain(Tcp),
    /// Runs as long as the connection wants to read.
    Handshake(Pin<Box<dyn Future<Output = io::Result<TlsStream<Tcp>>> + Send>>),
    Tls(Box<TlsStream<Tcp>>),
    Closed,
}

impl Socket {
    pub(crate) fn new(tcp: Tcp, tls: Option<&Arc<Tls>>, connection: &Arc<Connection>) -> Self {
        match tls {
            None => Self::Plain(tcp),
            Some(tls) => Self::Handshake(Box::pin(handshake(Arc::clone(tls), tcp, Arc::clone(connection)))),
        }
    }

    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Open<'_>>> {
        if let Self::Handshake(handshake) = self {
            *self = match ready!(handshake.as_mut().poll(cx)) {
                Ok(stream) => Self::Tls(Box::new(stream)),
                Err(error) => {
                    *self = Self::Closed;
                    return Poll::Ready(Err(error));
                }
            };
        }
        Poll::Ready(match self {
            Self::Plain(stream) => Ok(Open::Plain(stream)),
            Self::Tls(stream) => Ok(Open::Tls(stream)),
            Self::Handshake(_) | Self::Closed => Err(ErrorKind::NotConnected.into()),
        })
    }
}

enum Open<'a> {
    Plain(&'a mut Tcp),
    Tls(&'a mut TlsStream<Tcp>),
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(self.poll_open(cx))? {
            Open::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Open::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match ready!(self.poll_open(cx))? {
            Open::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Open::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match ready!(self.poll_open(cx))? {
            Open::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Open::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        // TLS collects the slices in a record.
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Self::Handshake(_) | Self::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Handshake(_) | Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

async fn handshake(tls: Arc<Tls>, mut tcp: Tcp, connection: Arc<Connection>) -> io::Result<TlsStream<Tcp>> {
    let first = tcp.peek().await?;
    if first != HANDSHAKE {
        return Err(refuse(tcp, first).await);
    }
    let stream = answer(&tls, tcp).await?;
    if stream.get_ref().1.alpn_protocol() == Some(H2) {
        connection.set_http2();
    }
    Ok(stream)
}

async fn answer(tls: &Tls, tcp: Tcp) -> io::Result<TlsStream<Tcp>> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), tcp).await?;
    let accept = {
        // A slow client holds no permit: this part computes the signature and does not wait.
        let _permit = tls.signatures.acquire().await.map_err(io::Error::other)?;
        hello.into_stream(Arc::clone(&tls.active.load().config))
    };
    accept.await
}

/// Returns the error that closes the connection.
async fn refuse(mut tcp: Tcp, first: u8) -> io::Error {
    if first.is_ascii_uppercase() {
        // If bytes stayed unread, the system would reset the connection, and the client would not get the answer.
        let _ = tcp.read(&mut vec![0; PLAIN_MAX]).await;
        let _ = tcp.write_all(PLAIN).await;
        let _ = tcp.shutdown().await;
    }
    io::Error::new(ErrorKind::InvalidData, "the client does not speak TLS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_plain_http_has_its_length() {
        let answer = str::from_utf8(PLAIN).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    }
}
