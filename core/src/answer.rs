//! Encodes the answer of an operation as a JSON object, the same for HTTP and `--json`.

use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;

use crate::error::Error;
use crate::id::ObjectId;

/// `{"result": "success", …}`: the result, followed by the fields of `T`.
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

/// Returns the object of a successful operation, with the fields of `body`; `()` adds none.
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

/// Returns the object of an operation with this `result` text and the fields of `body`.
pub fn with_result<T: Serialize>(result: &str, body: &T) -> Vec<u8> {
    encode(&Success { result, body })
}

/// Returns the object of a refused operation with this `result` text.
pub fn refusal(result: &str) -> Vec<u8> {
    encode(&Failure { result })
}

/// Returns the object of a failed operation. For an import that failed after a part was written, it has the numbers of
/// written records.
pub fn failure(error: &Error) -> Vec<u8> {
    match error {
        Error::Unfinished { done, .. } => with_result(&error.to_string(), done),
        error => refusal(&error.to_string()),
    }
}

/// The answer of an operation that inserts a record.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Inserted {
    /// The id of the new record.
    #[serde(rename = "_id")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ObjectId,
}

/// A refused line of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LineError {
    /// The line's number, from 1; in a JSON array, the element's.
    pub line: u64,
    /// The reason, for people.
    pub reason: String,
}

/// An encoded answer that is sent many times.
#[derive(Debug)]
pub struct Encoded {
    json: Bytes,
    compressed: OnceLock<Bytes>,
}

impl Encoded {
    /// Wraps a complete JSON object.
    pub fn new(json: impl Into<Bytes>) -> Self {
        Self { json: json.into(), compressed: OnceLock::new() }
    }

    /// Returns the JSON object.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Returns whether the compressed form exists.
    pub fn is_compressed(&self) -> bool {
        self.compressed.get().is_some()
    }

    /// Returns the compressed JSON object. Calls `compress` only the first time.
    pub fn compressed(&self, compress: impl FnOnce(&[u8]) -> Bytes) -> &Bytes {
        self.compressed.get_or_init(|| compress(&self.json))
    }
}

fn encode<T: Serialize>(object: &T) -> Vec<u8> {
    serde_json::to_vec(object).expect("the types of answers have text keys and serialise without errors")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Outcome;

    #[test]
    fn an_answer_without_fields_has_only_the_result() {
        assert_eq!(success(&()), br#"{"result":"success"}"#);
        assert_eq!(failure(&Outcome::CheckPw.into()), br#"{"result":"check pw"}"#);
    }
}
