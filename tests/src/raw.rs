//! Requests written byte by byte, for what no client would send.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ureq::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::Answer;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends `request` as it is on a connection of its own and reads the first answer to its end.
///
/// `None` when the connection was closed without one. A server may answer, and close, before it has read
/// everything.
pub(crate) fn send(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let request = request.to_owned();
    // Beside the reading, or a server that answers before it has read everything would have to wait for us.
    let writing = std::thread::spawn(move || drop(writer.write_all(&request)));
    let answer = read(&mut stream);
    let _ = stream.shutdown(std::net::Shutdown::Both);
    writing.join().unwrap();
    answer
}

fn read(stream: &mut TcpStream) -> Option<Answer> {
    let mut read = Vec::new();
    let head = loop {
        if let Some(end) = find(&read, b"\r\n\r\n") {
            break end;
        }
        if more(stream, &mut read) == 0 {
            assert!(read.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(&read));
            return None;
        }
    };
    let mut body = read.split_off(head + 4);
    let (status, headers) = parse_head(std::str::from_utf8(&read[..head]).unwrap());
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    if let Some(length) = header("content-length") {
        let length = length.parse().unwrap();
        while body.len() < length {
            assert_ne!(more(stream, &mut body), 0, "the body ended after {} of {length} bytes", body.len());
        }
        assert_eq!(body.len(), length, "more was sent than one answer");
    } else if header("transfer-encoding") == Some("chunked") {
        while !body.ends_with(b"\r\n0\r\n\r\n") && body != b"0\r\n\r\n" {
            assert_ne!(more(stream, &mut body), 0, "the body ended between chunks");
        }
        body = unchunked(&body);
    } else if !matches!(status.as_u16(), 100..200 | 204 | 304) {
        while more(stream, &mut body) > 0 {}
    }
    Some(Answer::new(status, headers, body))
}

/// Reads what has come; 0 when the connection is closed, properly or not.
fn more(stream: &mut TcpStream, to: &mut Vec<u8>) -> usize {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(count) => {
            to.extend_from_slice(&buffer[..count]);
            count
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
        Err(error) => panic!("no answer: {error}"),
    }
}

fn parse_head(head: &str) -> (StatusCode, HeaderMap) {
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value.trim()).unwrap());
    }
    (status.parse().unwrap(), headers)
}

fn unchunked(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = find(chunks, b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[end + 2..][..size]);
        chunks = &chunks[end + 2 + size + 2..];
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
