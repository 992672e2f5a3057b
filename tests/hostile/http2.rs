//! A minimal HTTP/2 client whose flow control blocks all response bodies.
//!
//! Source: RFC 9113 (frames) and RFC 7541 (header fields without compression).

use std::io::{self, Write as _};
use std::net::TcpStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
const PING: u8 = 6;
/// The setting that limits how much of a response the server may send before the client allows more.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
const END_STREAM_AND_HEADERS: u8 = 0x5;

pub(crate) fn begin(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = PREFACE.to_vec();
    let mut settings = INITIAL_WINDOW_SIZE.to_vec();
    settings.extend_from_slice(&0_u32.to_be_bytes());
    frame(&mut bytes, SETTINGS, 0, 0, &settings);
    // Acknowledge the server's settings in advance.
    frame(&mut bytes, SETTINGS, 1, 0, &[]);
    stream.write_all(&bytes)
}

/// Sends one request per stream; the paths are `path` followed by a number from 200 to 366.
pub(crate) fn ask(stream: &mut TcpStream, path: &str, streams: u32) -> io::Result<()> {
    let mut bytes = Vec::new();
    for number in 0..streams {
        let path = format!("{path}{}", 366 - number % 167);
        let mut fields = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).expect("a short path")];
        fields.extend_from_slice(path.as_bytes());
        fields.extend_from_slice(b"\x01\x09localhost");
        frame(&mut bytes, HEADERS, END_STREAM_AND_HEADERS, 2 * number + 1, &fields);
    }
    stream.write_all(&bytes)
}

pub(crate) fn ping(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame(&mut bytes, PING, 0, 0, &[0; 8]);
    stream.write_all(&bytes)
}

fn frame(bytes: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    bytes.extend_from_slice(&length[1..]);
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
}
