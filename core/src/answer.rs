//! The answer of an operation as the one JSON object that HTTP and `--json` both send.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;

use crate::error::Error;
use crate::id::ObjectId;

/// `{"result": "success", …}`: the fields of `T` behind the result.
#[derive(Serialize)]
struct Success<'a, T> {
    result: &'a str,
    #[serde(flatten)]
    body: &'a T,
}

/// `{"result": "<text>"}`.
#[derive(Serialize)]
struct Failure<'a> {
    result: &'a str,
}

/// The object of an operation that succeeded, with the fields of `body`; `()` adds none.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Counts { posts: u32 }
///
/// let json = tidings_core::answer::success(&Counts { posts: 3 });
/// assert_eq!(json, br#"{"result":"success","posts":3}"#);
/// ```
pub fn success<T: Serialize>(body: &T) -> Vec<u8> {
    encode(&Success { result: "success", body })
}

/// The object of an operation whose result is another than success, with the fields of `body`.
pub fn with_result<T: Serialize>(result: &str, body: &T) -> Vec<u8> {
    encode(&Success { result, body })
}

/// The object of an operation that was refused with this `result` text.
pub fn refusal(result: &str) -> Vec<u8> {
    encode(&Failure { result })
}

/// The object of an operation that failed; of an import that ended early, with what is kept of it.
pub fn failure(error: &Error) -> Vec<u8> {
    match error {
        Error::Unfinished { done, .. } => with_result(&error.to_string(), done),
        error => refusal(&error.to_string()),
    }
}

/// What inserting something answers.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Inserted {
    /// The id of what was inserted.
    #[serde(rename = "_id")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ObjectId,
}

/// A line of an import that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LineError {
    /// The line's number, from 1; in a JSON array, the element's.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// An answer that is encoded once and sent often.
#[derive(Debug)]
pub struct Encoded {
    json: Bytes,
    compressed: OnceLock<Bytes>,
}

impl Encoded {
    /// Keeps a complete answer.
    pub fn new(json: impl Into<Bytes>) -> Self {
        Self { json: json.into(), compressed: OnceLock::new() }
    }

    /// The JSON object.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Whether it has been compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed.get().is_some()
    }

    /// The JSON object as `compress` makes it smaller; it is asked once.
    pub fn compressed(&self, compress: impl FnOnce(&[u8]) -> Bytes) -> &Bytes {
        self.compressed.get_or_init(|| compress(&self.json))
    }
}

fn encode<T: Serialize>(object: &T) -> Vec<u8> {
    serde_json::to_vec(object).expect("the answers' types have text keys and nothing that fails")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Outcome;

    #[test]
    fn nothing_to_add_leaves_the_result_alone() {
        assert_eq!(success(&()), br#"{"result":"success"}"#);
        assert_eq!(failure(&Outcome::CheckPw.into()), br#"{"result":"check pw"}"#);
    }
}
