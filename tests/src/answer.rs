//! What a server answered.

use std::fmt;

use serde_json::Value;
use ureq::http::{HeaderMap, StatusCode};

/// An answer of the server.
#[derive(Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as JSON; null when it is none.
    pub body: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, bytes: Vec<u8>) -> Self {
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { status: status.as_u16(), headers, body, bytes }
    }

    /// The `result` of the answer.
    ///
    /// # Panics
    /// When it has none.
    #[track_caller]
    pub fn result(&self) -> &str {
        self.body["result"].as_str().unwrap_or_else(|| panic!("no result in {self:?}"))
    }

    /// Status and `result` in one: `200 success`.
    ///
    /// # Panics
    /// When it has no `result`.
    #[track_caller]
    pub fn said(&self) -> String {
        format!("{} {}", self.status, self.result())
    }

    /// This answer, which was expected to be `200 success`.
    ///
    /// # Panics
    /// When it was not.
    #[must_use]
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.said(), "200 success", "{self:?}");
        self
    }

    /// A header, `""` when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The text at `path` in the body (a JSON pointer), as `/access_token`.
    ///
    /// # Panics
    /// When there is no text.
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let text = self.body.pointer(path).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text at {path} in {self:?}")).to_owned()
    }

    /// The list of this name in the body.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn list(&self, name: &str) -> &[Value] {
        self.body[name].as_array().unwrap_or_else(|| panic!("no list {name} in {self:?}"))
    }

    /// The text or number of this name in each element of a list: `column("newsfeed", "title")`.
    ///
    /// # Panics
    /// When there is no such list.
    #[track_caller]
    pub fn column(&self, list: &str, name: &str) -> Vec<String> {
        let cell = |row: &Value| row[name].as_str().map_or_else(|| row[name].to_string(), ToOwned::to_owned);
        self.list(list).iter().map(cell).collect()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body: String = String::from_utf8_lossy(&self.bytes).chars().take(2_000).collect();
        write!(f, "{} {:?} {body}", self.status, self.headers)
    }
}
