//! Encodes the answer of an operation as a JSON object, the same for HTTP and `--json`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use siphasher::sip128::SipHasher13;
use utoipa::ToSchema;

use crate::record::error::{Done, Error, Problem};
use crate::record::id::ObjectId;

/// The capacity of a new answer, in bytes. Most answers are shorter.
const CAPACITY: usize = 512;

/// The `result` of a success.
pub const SUCCESS: &str = "success";

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
    with_result(SUCCESS, body)
}

/// Returns the object of an operation with this `result` text and the fields of `body`.
pub fn with_result<T: Serialize>(result: &str, body: &T) -> Vec<u8> {
    let mut object = Vec::with_capacity(CAPACITY);
    object.extend_from_slice(br#"{"result":"#);
    encode(&mut object, result);
    let end = object.len();
    encode(&mut object, body);
    match &object[end..] {
        b"null" | b"{}" => {
            object.truncate(end);
            object.push(b'}');
        }
        fields => {
            assert!(fields.starts_with(b"{"), "the body of an answer is an object or nothing");
            object[end] = b',';
        }
    }
    object
}

/// The fields of a failure besides its result.
#[derive(Serialize)]
struct Failure<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    done: Option<Done>,
}

/// Returns the object of a failed operation: `result`, `code`, `message`, and `field` if one is at fault. For an import that
/// failed after a part was written, it also has the numbers of written records.
pub fn failure(error: &Error) -> Vec<u8> {
    let Problem { code, field, .. } = error.problem();
    let done = match error {
        Error::Unfinished { done, .. } => Some(*done),
        _ => None,
    };
    let (code, message) = (code.as_str(), error.message());
    with_result(&error.to_string(), &Failure { code, message: &message, field, done })
}

/// Returns the object of a request that is refused before it is an operation's, with this `result` text.
pub fn refused(result: &str, problem: &Problem) -> Vec<u8> {
    let (code, message) = (problem.code.as_str(), problem.message());
    with_result(result, &Failure { code, message: &message, field: problem.field, done: None })
}

/// Returns the object of a failure that is no operation's, such as that of a command line. `message` says what was wrong and
/// what to do.
///
/// ```
/// let json = tidings_core::answer::refusal("bad request", "invalid_value", "1 to 300 posts");
/// assert_eq!(json, br#"{"result":"bad request","code":"invalid_value","message":"1 to 300 posts"}"#);
/// ```
pub fn refusal(result: &str, code: &'static str, message: &str) -> Vec<u8> {
    with_result(result, &Failure { code, message, field: None, done: None })
}

/// The answer of an operation that inserts a record.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct Inserted {
    /// The id of the new record.
    #[serde(rename = "_id")]
    pub id: ObjectId,
}

/// A refused line of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineError {
    /// The line's number, from 1; in a JSON array, the element's.
    #[schema(minimum = 1, examples(7))]
    pub line: u64,
    /// The reason, for people.
    #[schema(max_length = 10_000, examples("url is missing"))]
    pub reason: String,
}

/// An encoded answer that is sent many times, with its compressed forms. A file of the API's page is also one.
#[derive(Debug)]
pub struct Encoded {
    json: Bytes,
    compressed: OnceLock<Bytes>,
    dense: OnceLock<Bytes>,
    /// The number of calls of [`Encoded::claim_dense`], up to [`CLAIMED`].
    claims: AtomicU8,
    tag: OnceLock<Bytes>,
}

/// The number of calls of [`Encoded::claim_dense`] of which the last one was told to compute the dense form.
const CLAIMED: u8 = 2;

impl Encoded {
    /// Wraps a complete JSON object.
    pub fn new(json: impl Into<Bytes>) -> Self {
        Self {
            json: json.into(),
            compressed: OnceLock::new(),
            dense: OnceLock::new(),
            claims: AtomicU8::new(0),
            tag: OnceLock::new(),
        }
    }

    /// Returns the JSON object.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Returns the [`tag`] of the JSON object, which also identifies its compressed forms. Computed only the first time.
    pub fn tag(&self) -> &Bytes {
        self.tag.get_or_init(|| tag(&self.json))
    }

    /// Returns the compressed JSON object if [`Encoded::compress`] has made it.
    pub fn compressed(&self) -> Option<&Bytes> {
        self.compressed.get()
    }

    /// Returns the compressed JSON object. Calls `compress` only the first time.
    pub fn compress(&self, compress: impl FnOnce(&[u8]) -> Bytes) -> &Bytes {
        self.compressed.get_or_init(|| compress(&self.json))
    }

    /// Returns the dense form, which is smaller than [`Encoded::compressed`] and takes much longer to compute; `None`
    /// until [`Encoded::set_dense`].
    pub fn dense(&self) -> Option<&Bytes> {
        self.dense.get()
    }

    /// Sets the dense form, unless it is set.
    pub fn set_dense(&self, dense: Bytes) {
        // A second form has the same content.
        let _ = self.dense.set(dense);
    }

    /// Returns whether the caller has to compute the dense form. This is `true` for exactly one caller: the second,
    /// because the dense form of an answer that is sent once would never be used.
    pub fn claim_dense(&self) -> bool {
        let claims = self.claims.load(Ordering::Relaxed);
        claims < CLAIMED
            && self
                .claims
                .compare_exchange(claims, claims + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok_and(|claims| claims + 1 == CLAIMED)
    }

    /// Passes the task of [`Encoded::claim_dense`] on to its next caller.
    pub fn release_dense(&self) {
        self.claims.store(CLAIMED - 1, Ordering::Relaxed);
    }
}

/// Returns the entity tag of an answer, the value of the HTTP header `ETag`.
///
/// It depends only on the content: it stays the same after a restart and on other servers. It is weak, because the
/// content has the same tag whether it is compressed or not.
///
/// Source: RFC 9110 section 8.8.3.
pub fn tag(content: &[u8]) -> Bytes {
    let hash = SipHasher13::new().hash(content);
    format!("W/\"{:016x}{:016x}\"", hash.h1, hash.h2).into()
}

/// Appends the JSON of a value.
fn encode<T: Serialize + ?Sized>(json: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(json, value)
        .expect("the types of answers have text keys and serialise without errors");
}

/// Cuts a page that was read with one item more than the `limit`, and returns its last item if another page follows.
pub(crate) fn cut<T>(page: &mut Vec<T>, limit: i64) -> Option<&T> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = page.len() > limit;
    page.truncate(limit);
    page.last().filter(|_| more)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::error::Outcome;
    use crate::store::StoreError;

    #[test]
    fn an_answer_without_fields_has_only_the_result() {
        assert_eq!(success(&()), br#"{"result":"success"}"#);
        assert_eq!(success(&None::<Inserted>), success(&()));
        assert_eq!(success(&BTreeMap::<String, i64>::new()), success(&()));
    }

    #[test]
    fn a_failure_says_what_was_wrong() {
        let differ = br#"{"result":"check pw","code":"passwords_differ","message":"the password and its repetition differ","field":"pw_check"}"#;
        assert_eq!(failure(&Outcome::CheckPw.into()), differ);
        let done = Done { inserted: 3, ..Done::default() };
        let failed: serde_json::Value =
            serde_json::from_slice(&failure(&Error::Unfinished { cause: StoreError::Full, done })).unwrap();
        assert_eq!((&failed["code"], &failed["inserted"]), (&"internal_error".into(), &3.into()));
        assert!(failed.get("field").is_none());
    }

    #[test]
    fn the_fields_of_an_answer_follow_its_result() {
        let fields = BTreeMap::from([("a", Some("}{")), ("b", None)]);
        let expected = br#"{"result":"a \"text\"","a":"}{","b":null}"#;
        assert_eq!(with_result("a \"text\"", &fields), expected);
    }

    #[test]
    #[should_panic(expected = "an object or nothing")]
    fn a_list_is_no_body_of_an_answer() {
        success(&[1, 2]);
    }

    #[test]
    fn a_tag_depends_only_on_the_content() {
        let answer = Encoded::new(success(&()));
        assert_eq!(&answer.tag()[..], br#"W/"4c3282b53cd7086b89a5f8d918591504""#);
        assert_eq!(*answer.tag(), tag(&success(&())));
        assert_ne!(*answer.tag(), tag(&success(&BTreeMap::from([("a", 1)]))));
    }

    #[test]
    fn the_dense_form_is_the_task_of_the_second_caller_only() {
        let answer = Encoded::new(success(&()));
        let claims = || [(); 4].map(|()| answer.claim_dense());
        assert_eq!(claims(), [false, true, false, false]);
        answer.release_dense();
        assert_eq!(claims(), [true, false, false, false]);
        let shared = Encoded::new(success(&()));
        let tasks = std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(|| (0..100).filter(|_| shared.claim_dense()).count()));
            threads.map(|thread| thread.join().unwrap()).iter().sum::<usize>()
        });
        assert_eq!(tasks, 1);
    }
}
