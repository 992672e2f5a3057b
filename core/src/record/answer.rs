//! Encodes the answer of an operation as a JSON object, the same for HTTP and `--json`.

use std::any::Any;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use crate::record::error::{Done, Error, Problem};
use crate::record::id::ObjectId;

/// In bytes; most answers are shorter.
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

/// Returns the object of a failure outside any operation, such as that of a command line. `message` says what was wrong and
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

/// An encoded answer that is sent many times. A file of the API's page is also one.
#[derive(Debug)]
pub struct Encoded {
    json: Bytes,
    forms: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Encoded {
    /// Wraps a complete JSON object.
    pub fn new(json: impl Into<Bytes>) -> Self {
        Self { json: json.into(), forms: OnceLock::new() }
    }

    /// Returns the JSON object.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Returns data that the program caches with the answer, such as its compressed forms. Empty at first; `F` is one type in the
    /// whole program.
    pub fn forms<F: Any + Default + Send + Sync>(&self) -> &F {
        let forms = self.forms.get_or_init(|| Box::<F>::default());
        forms.downcast_ref().expect("a program keeps one type with its answers")
    }
}

/// The complete answer of a success, already encoded. `T` has its fields.
///
/// Programs that embed the library, and the command line, decode it; a server sends it as it is.
#[derive(Debug)]
pub struct Ready<T> {
    encoded: Arc<Encoded>,
    fields: PhantomData<fn() -> T>,
}

impl<T> Ready<T> {
    pub(crate) fn new(encoded: Arc<Encoded>) -> Self {
        Self { encoded, fields: PhantomData }
    }

    /// Returns the complete JSON object, `{"result":"success",…}`.
    pub fn encoded(&self) -> &Arc<Encoded> {
        &self.encoded
    }
}

impl<T: DeserializeOwned> Ready<T> {
    /// Decodes the fields.
    pub fn fields(&self) -> T {
        serde_json::from_slice(self.encoded.json()).expect("the JSON object has the fields of its type")
    }
}

impl<T: Serialize + DeserializeOwned> Serialize for Ready<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields().serialize(serializer)
    }
}

impl<'de, T: Serialize + Deserialize<'de>> Deserialize<'de> for Ready<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = T::deserialize(deserializer)?;
        Ok(Self::new(Arc::new(Encoded::new(success(&fields)))))
    }
}

impl<T: ToSchema> PartialSchema for Ready<T> {
    fn schema() -> RefOr<Schema> {
        T::schema()
    }
}

impl<T: ToSchema> ToSchema for Ready<T> {
    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

fn encode<T: Serialize + ?Sized>(json: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(json, value)
        .expect("the types of answers have text keys and serialise without errors");
}

/// Appends the elements of a list without its brackets.
pub(crate) fn elements<T: Serialize>(json: &mut Vec<u8>, list: &[T]) {
    for (number, element) in list.iter().enumerate() {
        if number > 0 {
            json.push(b',');
        }
        encode(json, element);
    }
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
        assert_eq!(success(&()), br#"{"result":"success"}"#);
        assert_eq!(success(&None::<Inserted>), success(&()));
        let fields = BTreeMap::from([("a", Some("}{")), ("b", None)]);
        let expected = br#"{"result":"a \"text\"","a":"}{","b":null}"#;
        assert_eq!(with_result("a \"text\"", &fields), expected);
    }

    #[test]
    #[should_panic(expected = "an object or nothing")]
    fn a_list_is_no_body_of_an_answer() {
        success(&[1, 2]);
    }
}
