//! Reading an HTTP/1.1 answer: as much of it as a measurement needs.

/// What stands in the body of every answer that did what was asked.
const SUCCESS: &[u8] = br#""result":"success""#;
/// `result` is looked for in so many bytes at either end before the whole body is searched.
const END: usize = 64;

/// The status line and headers of an answer.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    status: u16,
    /// Bytes of the head, its empty line included.
    pub(crate) length: usize,
    /// Bytes of head and body.
    pub(crate) total: usize,
}

/// The head, when all of it has come.
///
/// # Errors
/// When it is no HTTP, or names no `content-length`: every answer of the service has one.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<Head>, String> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let mut lines = bytes[..end].split(|byte| *byte == b'\n');
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix(b"HTTP/1.1 "))
        .and_then(|rest| number(rest.get(..3)?))
        .and_then(|status| u16::try_from(status).ok())
        .ok_or("an answer that is no HTTP/1.1")?;
    let body = lines.find_map(content_length).ok_or("an answer without content-length")?;
    let length = end + 4;
    Ok(Some(Head { status, length, total: length + body }))
}

/// Whether a whole answer says success; else what it says.
///
/// # Errors
/// Status and beginning of the body of any other answer.
pub(crate) fn check(head: Head, answer: &[u8]) -> Result<(), String> {
    let body = &answer[head.length..head.total];
    let either_end = || {
        let (front, back) = (&body[..body.len().min(END)], &body[body.len().saturating_sub(END)..]);
        holds_success(front) || holds_success(back)
    };
    if head.status == 200 && (either_end() || holds_success(body)) {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(200)]);
    Err(format!("{} {start}", head.status))
}

fn holds_success(bytes: &[u8]) -> bool {
    bytes.windows(SUCCESS.len()).any(|window| window == SUCCESS)
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
