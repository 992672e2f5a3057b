//! Sends requests byte by byte, for requests that no HTTP client library would send.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ureq::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::Answer;

/// The read timeout: longer than any response takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// Sends `request` unchanged on a new connection, and reads the first response completely. Returns `None` if the server closes
/// the connection without a response. A server may do either before it has read the whole request.
pub(crate) fn send(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let request = request.to_owned();
    // Write in a second thread: a server that responds before it has read everything would otherwise block.
    let writing = std::thread::spawn(move || drop(writer.write_all(&request)));
    let mut reader = BufReader::new(stream);
    let answer = read_answer(&mut reader);
    let _ = reader.into_inner().shutdown(std::net::Shutdown::Both);
    writing.join().unwrap();
    answer
}

/// Reads exactly one response from a connection; `None` if the connection is closed first.
pub fn read_answer(reader: &mut impl BufRead) -> Option<Answer> {
    let first = line(reader)?;
    let status: StatusCode = first.split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    while let Some(line) = line(reader).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value.trim()).unwrap());
    }
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    let body = if let Some(length) = header("content-length") {
        exactly(reader, length.parse().unwrap())
    } else if header("transfer-encoding") == Some("chunked") {
        chunks(reader)
    } else if matches!(status.as_u16(), 100..200 | 204 | 304) {
        Vec::new()
    } else {
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        rest
    };
    Some(Answer::new(status, headers, body))
}

/// Returns `None` if the connection is closed or reset.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
        Err(error) => panic!("no response: {error}"),
    }
    Some(line.strip_suffix("\r\n").expect("the line is complete").to_owned())
}

fn exactly(reader: &mut impl BufRead, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).expect("the body is complete");
    bytes
}

fn chunks(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let size = usize::from_str_radix(&line(reader).expect("a chunk"), 16).unwrap();
        body.extend(exactly(reader, size));
        assert_eq!(line(reader).as_deref(), Some(""), "a chunk ends with a line break");
        if size == 0 {
            return body;
        }
    }
}
