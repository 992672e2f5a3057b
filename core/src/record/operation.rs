//! Operations: each is one type that declares its route, its callers, its fields, its answer and its effect.
//!
//! Everything else follows from the declaration: the HTTP route and its documentation, the client that calls the operation on a
//! server or on a database, the limits and the caching of its requests, and the tests that go through all operations.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use tidings_core::account::Caller;
//! use tidings_core::operation::{Access, Operation, Spec};
//! use tidings_core::{Call, Result, Tidings};
//! use utoipa::{ToSchema, openapi};
//!
//! /// Returns how often a word is in the greeting.
//! #[derive(Debug, Serialize, Deserialize, ToSchema)]
//! pub struct CountWord {
//!     /// The word.
//!     pub word: String,
//! }
//!
//! /// The answer of [`CountWord`].
//! #[derive(Debug, Serialize, Deserialize, ToSchema)]
//! pub struct Count {
//!     /// How often the word is there.
//!     pub count: usize,
//! }
//!
//! impl Operation for CountWord {
//!     type Answer = Count;
//!     const SPEC: Spec = Spec::get("search", "/count_word/{word}", Access::Open);
//!
//!     fn run(self, _: &Call<'_>) -> Result<Count> {
//!         Ok(Count { count: "hello, hello".matches(&self.word).count() })
//!     }
//! }
//!
//! # let dir = tempfile::tempdir()?;
//! let tidings = Tidings::open(dir.path().join("campus.db"))?;
//! assert_eq!(tidings.call(&Caller::Guest, CountWord { word: "hello".into() })?.count, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What the fields of an operation mean
//!
//! - A field that the path names in braces is that segment of the path. A segment that is no UTF-8 is refused, except in the
//!   name of an object (`…_obi`), a member (`user_id`) or a list (`type_num`), which then is unknown.
//! - The other fields are the query of a `GET`, and the JSON object or form of a `POST`.
//! - A field renamed to `..` ([`REST`]) has fields of its own, which count as if they were listed in its place.
//! - A field renamed to `?` ([`QUERY`]) has the fields of the query of a `POST`.
//!
//! The first paragraph of a type's comment is the summary of the operation, and the rest its description.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::{ToSchema, openapi};

use crate::base::config::Config;
use crate::record::answer::Encoded;
use crate::record::error::{Error, Outcome, Pending, Result};
use crate::record::scope::Scope;
use crate::{Call, Caller, ClientInfo, Tidings};

/// The name of a field whose own fields count as if they were listed in its place.
pub const REST: &str = "..";
/// The name of a field with the fields of the query of a `POST`.
pub const QUERY: &str = "?";

/// An operation of the service that answers with one object: what a caller gives.
pub trait Operation: Fields {
    /// The answer of a success; `()` for nothing but success.
    type Answer: Answer;

    /// The declaration of the operation.
    const SPEC: Spec;

    /// Returns the failures that its documentation names, which are answered with status 200.
    fn documented_refusals(_settings: &Config) -> Vec<Error> {
        Vec::new()
    }

    /// Adds to the OpenAPI description what the declaration cannot express, such as a header.
    fn describe(operation: &mut openapi::path::Operation) {
        let _ = operation;
    }

    /// Runs it. It may block.
    ///
    /// # Errors
    /// Those that it documents; `bad request` if a field breaks its rule; an error of the store.
    fn run(self, call: &Call<'_>) -> Result<Self::Answer>;

    /// Starts it if that does not block: its answer is awaited. Otherwise returns it, to be run.
    ///
    /// # Errors
    /// The operation itself.
    fn start(self, _call: &Call<'_>) -> Result<Pending<Self::Answer>, Self> {
        Err(self)
    }

    /// Returns the encoded answer, if it is kept: several callers share it, or a caller gets it again until it changes.
    fn shared(_answer: &Self::Answer) -> Option<&Arc<Encoded>> {
        None
    }

    /// Returns the answer to a guest if it is in memory and up to date. Never blocks.
    fn remembered(&self, _tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        None
    }
}

/// An operation that sends or receives more than one object, as a stream.
pub trait Stream: Fields {
    /// A line of what it receives.
    type Line: ToSchema;
    /// The object that it answers, if it answers with JSON.
    type Answer: ToSchema;

    /// The declaration of the operation.
    const SPEC: Spec;
    /// The media types of bodies that it receives.
    const TAKES: &'static [Media] = &[];
    /// The media types of its answer.
    const GIVES: &'static [&'static str] = &[JSON];

    /// Adds to the OpenAPI description what the declaration cannot express, such as a header.
    fn describe(operation: &mut openapi::path::Operation) {
        let _ = operation;
    }
}

/// The media type of answers, and of most bodies.
pub const JSON: &str = "application/json";
/// One JSON object on each line.
pub const NDJSON: &str = "application/x-ndjson";
/// A table whose first line has the names of the columns, in UTF-8.
pub const CSV: &str = "text/csv";

/// The media type of a body with lines.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    /// The media type.
    pub name: &'static str,
    /// How the lines are in the body.
    pub form: Form,
}

/// How lines are in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each is a JSON object.
    Lines,
    /// They are an array of JSON objects.
    Array,
    /// They are text of another format.
    Text,
}

/// Lines of JSON objects, or an array of them.
pub const JSON_LINES: &[Media] =
    &[Media { name: NDJSON, form: Form::Lines }, Media { name: JSON, form: Form::Array }];

/// The answer of an operation.
pub trait Answer: Serialize + DeserializeOwned + ToSchema + Send + 'static {}

impl<T: Serialize + DeserializeOwned + ToSchema + Send + 'static> Answer for T {}

/// The fields of an operation.
pub trait Fields: Serialize + DeserializeOwned + ToSchema + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + ToSchema + Send + Sync + 'static> Fields for T {}

impl Tidings {
    /// Runs an operation for a caller on this machine.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn call<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Answer> {
        self.call_from(caller, &ClientInfo::default(), operation)
    }

    /// Runs an operation for a caller who uses this client, whose attempts to guess a password or a code are slowed.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn call_from<O: Operation>(
        &self,
        caller: &Caller,
        client: &ClientInfo,
        operation: O,
    ) -> Result<O::Answer> {
        operation.run(&Call::new::<O>(self, caller, client))
    }

    /// Starts an operation, if that does not block. Otherwise returns it.
    ///
    /// # Errors
    /// The operation itself.
    pub fn start_from<O: Operation>(
        &self,
        caller: &Caller,
        client: &ClientInfo,
        operation: O,
    ) -> Result<Pending<O::Answer>, O> {
        operation.start(&Call::new::<O>(self, caller, client))
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// It has no body. Existing clients also change things with it.
    Get,
    /// It has a body.
    Post,
}

impl Method {
    /// Returns its name in requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// The callers that an operation accepts. The operation checks it in the transaction of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone; a token changes nothing.
    Open,
    /// Everyone; an invalid token is ignored.
    Anyone,
    /// Members.
    Members,
    /// Members about themselves, and administrators, or an API key or a role with this scope.
    Own(Scope),
    /// Administrators, or an API key or a role with this scope.
    Admins(Scope),
    /// Administrators in person: no API key and no role allows it.
    Persons,
}

impl Access {
    /// Returns the scope with which an API key, or a member with a role, may call it.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::Own(scope) | Self::Admins(scope) => Some(scope),
            Self::Open | Self::Anyone | Self::Members | Self::Persons => None,
        }
    }
}

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: `HEAD` is answered, and clients may ask again.
    Reads,
    /// Nothing, and its answer to a member has an entity tag, so that an app that keeps it asks whether it has changed.
    ReadsTagged,
    /// Nothing, and it answers all guests alike, so that caches may store the answers.
    Public,
    /// Nothing, and its answer is a part of the program, which caches may store for longer.
    Document,
    /// It counts or records that it was called.
    Counts,
    /// Something else.
    Writes,
}

/// How much work an operation is, which decides where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It reads a few rows.
    Few,
    /// It reads a little.
    Read,
    /// It may read for long.
    Query,
    /// It writes, or its reads take longer than others.
    Store,
    /// It checks a password at a sign-in.
    SignIn,
    /// It hashes the password of a new member.
    SignUp,
    /// It hashes another password.
    Password,
    /// It asks the university's system.
    University,
    /// It works for seconds.
    Long,
    /// It waits for a server that the caller names.
    Remote,
}

/// The limit of requests that applies besides the general one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// No other.
    General,
    /// That of sign-ups.
    SignUp,
    /// That of searches.
    Search,
    /// That of writes by callers who are not signed in.
    Write,
    /// That of feedback: a write that is limited for all callers.
    Feedback,
}

/// A failure with a status of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The object in the path does not exist: 404.
    Missing,
    /// The service would have no administrator: 409.
    LastAdministrator,
    /// Another post has the url: 409.
    DuplicateUrl,
    /// Nobody was signed up, for a cause that is in the log: 500.
    SignUp,
    /// The feedback was not stored, for a cause that is in the log: 500.
    Feedback,
    /// An import ended early, for a cause that is in the log: 500.
    Import,
}

/// The declaration of an operation besides its fields and its answer.
#[derive(Clone, Copy, Debug)]
#[must_use]
#[expect(clippy::struct_excessive_bools, reason = "each is declared by its name")]
pub struct Spec {
    /// The part of the service that it belongs to, as the documentation groups operations.
    pub group: &'static str,
    /// The method of its requests.
    pub method: Method,
    /// The template of its path, with the names of fields in braces.
    pub path: &'static str,
    /// The callers it accepts.
    pub access: Access,
    /// Its effect.
    pub effect: Effect,
    /// How much work it is.
    pub work: Work,
    /// The limit of its requests.
    pub rate: Rate,
    /// Whether the answer has another format if `Accept` or the field `format` asks for it.
    pub has_formats: bool,
    /// The failures with a status of their own.
    pub failures: &'static [Failure],
    /// The fields that are required to insert a record. The operation that changes such a record has the same fields, all
    /// optional.
    pub requires: &'static [&'static str],
    /// Whether the answer is a file, with a name.
    pub is_file: bool,
    /// Whether its requests are recorded as communications.
    pub is_recorded: bool,
    /// Whether it checks a password or a code: its failures are logged for programs that block addresses.
    pub is_attempt: bool,
    /// The answer to callers whose token or right does not suffice, with status 200; `None` for the statuses of these errors.
    pub refused_with: Option<Outcome>,
    name: Option<&'static str>,
}

impl Spec {
    /// Returns an operation that reads a little.
    pub const fn get(group: &'static str, path: &'static str, access: Access) -> Self {
        Self {
            group,
            method: Method::Get,
            path,
            access,
            effect: Effect::Reads,
            work: Work::Read,
            rate: Rate::General,
            has_formats: false,
            failures: &[],
            requires: &[],
            is_file: false,
            is_recorded: true,
            is_attempt: false,
            refused_with: None,
            name: None,
        }
    }

    /// Returns an operation that writes, with the fields of a body.
    pub const fn post(group: &'static str, path: &'static str, access: Access) -> Self {
        Self { method: Method::Post, ..Self::get(group, path, access).writes() }
    }

    /// Sets a name that differs from the first segment of the path.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Declares that it writes.
    pub const fn writes(self) -> Self {
        Self { effect: Effect::Writes, work: Work::Store, rate: Rate::Write, ..self }
    }

    /// Declares that it answers all guests alike and changes nothing.
    pub const fn public(self) -> Self {
        Self { effect: Effect::Public, ..self }
    }

    /// Declares that it counts or records that it was called.
    pub const fn counts(self) -> Self {
        Self { effect: Effect::Counts, ..self }
    }

    /// Declares that it changes nothing, although it is a `POST`.
    pub const fn reads(self) -> Self {
        Self { effect: Effect::Reads, work: Work::Read, rate: Rate::General, ..self }
    }

    /// Declares that it checks a password or a code.
    pub const fn attempt(self) -> Self {
        Self { is_attempt: true, ..self }
    }

    /// Declares the answer to callers whose token or right does not suffice.
    pub const fn refused_with(self, outcome: Outcome) -> Self {
        Self { refused_with: Some(outcome), ..self }
    }

    /// Returns the answers to callers whose token or right does not suffice, if the operation has texts of its own for them.
    pub fn refusals(&self) -> Vec<Error> {
        let Some(outcome) = self.refused_with else { return Vec::new() };
        let mut refusals = vec![Error::BadToken];
        match self.access {
            Access::Open | Access::Anyone | Access::Members => {}
            Access::Own(scope) | Access::Admins(scope) => {
                refusals.extend([Error::Forbidden, Error::MissingScope(scope), Error::SecondFactorNeeded]);
            }
            Access::Persons => refusals.extend([Error::Forbidden, Error::SecondFactorNeeded]),
        }
        refusals.into_iter().map(|refusal| refusal.unless_authorised(outcome)).collect()
    }

    /// Declares how much work it is.
    pub const fn works(self, work: Work) -> Self {
        Self { work, ..self }
    }

    /// Declares the limit of its requests.
    pub const fn limited(self, rate: Rate) -> Self {
        Self { rate, ..self }
    }

    /// Declares that its requests are no communications: they are not recorded.
    pub const fn unrecorded(self) -> Self {
        Self { is_recorded: false, ..self }
    }

    /// Declares that it answers with a document or a file of the program, which changes only with the program.
    pub const fn document(self) -> Self {
        Self { effect: Effect::Document, ..self }
    }

    /// Declares that its answer has several formats.
    pub const fn with_formats(self) -> Self {
        Self { has_formats: true, ..self }
    }

    /// Declares failures with a status of their own.
    pub const fn or(self, failures: &'static [Failure]) -> Self {
        Self { failures, ..self }
    }

    /// Declares the fields that are required to insert a record; the operation that changes one has the same fields, all optional.
    pub const fn requiring(self, requires: &'static [&'static str]) -> Self {
        Self { requires, ..self }
    }

    /// Declares that its answer to a member has an entity tag.
    pub const fn tagged(self) -> Self {
        Self { effect: Effect::ReadsTagged, ..self }
    }

    /// Declares that its answer is a file.
    pub const fn file(self) -> Self {
        Self { is_file: true, ..self }
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        let first = || self.path.split('/').nth(1).unwrap_or_default();
        self.name.unwrap_or_else(first)
    }

    /// Returns whether it changes nothing.
    pub const fn only_reads(&self) -> bool {
        matches!(self.effect, Effect::Reads | Effect::ReadsTagged | Effect::Public | Effect::Document)
    }

    /// Returns the names of the fields in the path, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}
