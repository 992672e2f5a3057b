//! The answer of an operation as the one JSON object that HTTP and `--json` both send.

use serde::Serialize;

use crate::error::Error;

/// `{"result": "success", …}`: the fields of `T` behind the result.
#[derive(Serialize)]
struct Success<'a, T> {
    result: &'static str,
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

/// The object of an operation that was refused with this `result` text.
pub fn refusal(result: &str) -> Vec<u8> {
    encode(&Failure { result })
}

/// The object of an operation that failed.
pub fn failure(error: &Error) -> Vec<u8> {
    refusal(&error.to_string())
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
