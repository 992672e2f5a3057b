//! A blocking HTTP/1.1 client that can choose its source address.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpSocket;

/// The timeout: longer than any bound of an attack.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Opens a TCP connection from `source`; `receive_buffer` limits how many unread bytes the kernel accepts.
pub(crate) fn connect(
    source: Ipv4Addr,
    to: SocketAddr,
    receive_buffer: Option<u32>,
) -> io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(SocketAddr::from((source, 0)))?;
        tokio::time::timeout(TIMEOUT, socket.connect(to)).await.map_err(io::Error::from)?
    })?;
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(source: Ipv4Addr, to: SocketAddr) -> io::Result<Self> {
        Ok(Self(BufReader::new(connect(source, to, None)?)))
    }

    pub(crate) fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.0.get_mut().write_all(request)?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        while line != "\r\n" {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).and_then(|status| status.parse().ok()).unwrap_or_default();
            } else if let Some(("content-length", value)) = line.split_once(": ") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(Answer { status, body })
    }
}

pub(crate) struct Answer {
    status: u16,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        self.status == 200 && self.body.starts_with(br#"{"result":"success""#)
    }
}

pub(crate) fn get(path: &str, token: Option<&str>) -> Vec<u8> {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes()
}

pub(crate) fn post(path: &str, body: &Value) -> Vec<u8> {
    post_text(path, &body.to_string())
}

pub(crate) fn post_text(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    format!("{head}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// The latencies of requests, and the number of failures.
#[derive(Default)]
pub(crate) struct Latencies {
    ms: Vec<f64>,
    failures: usize,
}

impl Latencies {
    pub(crate) fn add(&mut self, took: Duration, succeeded: bool) {
        self.ms.push(took.as_secs_f64() * 1_000.0);
        self.failures += usize::from(!succeeded);
    }

    pub(crate) fn and(mut self, other: Self) -> Self {
        self.ms.extend(other.ms);
        self.failures += other.failures;
        self
    }

    /// Returns the latency in ms that this share of the responses did not exceed.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "far fewer than 2^53")]
    #[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share).ceil() as usize).copied().unwrap_or(f64::INFINITY)
    }

    #[expect(clippy::cast_precision_loss, reason = "a few thousand responses")]
    pub(crate) fn succeeded(&self) -> f64 {
        1.0 - self.failures as f64 / self.ms.len().max(1) as f64
    }
}
