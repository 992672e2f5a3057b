//! Parses HTTP/1.1 responses, as far as a measurement needs it.

use memchr::memmem;

const SUCCESS: &[u8] = br#""result":"success""#;
const SUCCESS_HEADER: &[u8] = b"tidings-result: success";
const CHUNKED: &[u8] = b"transfer-encoding: chunked";
/// The number of bytes at both ends of a body that are searched for `result` before the whole body is.
const END: usize = 64;

/// The status of the response to a client that has the content; only requests with a tag get it.
const NOT_MODIFIED: u16 = 304;

#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// The length of the head in bytes, including the empty line.
    pub(crate) length: usize,
    /// The length of head and body in bytes.
    pub(crate) total: usize,
}

/// Parses the head; `None` if it is still incomplete, or if the end of a body of unknown length is missing.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<Head>, String> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let mut lines = bytes[..end].split(|byte| *byte == b'\n');
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix(b"HTTP/1.1 "))
        .and_then(|rest| number(rest.get(..3)?))
        .and_then(|status| u16::try_from(status).ok())
        .ok_or("the response is not HTTP/1.1")?;
    let length = end + 4;
    let body = if status == NOT_MODIFIED {
        Some(0)
    } else if let Some(body) = lines.find_map(content_length) {
        Some(body)
    } else if has_line(&bytes[..end], CHUNKED) {
        chunks(&bytes[length..])?
    } else {
        return Err("the response has no content-length".into());
    };
    Ok(body.map(|body| Head { status, length, total: length + body }))
}

/// Returns the length of a body in chunks; `None` if its end is missing.
fn chunks(body: &[u8]) -> Result<Option<usize>, String> {
    let mut at = 0;
    loop {
        let Some(end) = memmem::find(&body[at.min(body.len())..], b"\r\n") else { return Ok(None) };
        let size = str::from_utf8(&body[at..at + end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size, 16).ok()).ok_or("a chunk has no size")?;
        // The line of the size, the chunk, and its end.
        at += end + 2 + size + 2;
        if size == 0 {
            return Ok(Some(at).filter(|at| *at <= body.len()));
        }
    }
}

/// Checks that a complete response reports success, or that the client has the current content.
pub(crate) fn check(head: Head, answer: &[u8]) -> Result<(), String> {
    let body = &answer[head.length..head.total];
    let either_end = || {
        let (front, back) = (&body[..body.len().min(END)], &body[body.len().saturating_sub(END)..]);
        holds_success(front) || holds_success(back)
    };
    let is_success =
        || either_end() || has_line(&answer[..head.length], SUCCESS_HEADER) || holds_success(body);
    if head.status == NOT_MODIFIED || head.status == 200 && is_success() {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(200)]);
    Err(format!("{} {start}", head.status))
}

fn has_line(head: &[u8], line: &[u8]) -> bool {
    head.split(|byte| *byte == b'\n').any(|other| other.trim_ascii().eq_ignore_ascii_case(line))
}

fn holds_success(bytes: &[u8]) -> bool {
    memmem::find(bytes, SUCCESS).is_some()
}

fn content_length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    if !name.eq_ignore_ascii_case(NAME) {
        return None;
    }
    number(value.trim_ascii())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
