//! Types that describe answers in the OpenAPI document. They are never constructed: the core has the real answers.

#![expect(dead_code, reason = "only the derives use the fields")]

use utoipa::{IntoResponses, ToSchema};

/// An answer with nothing but its result.
#[derive(ToSchema)]
pub(crate) struct Done {
    /// `success`, or what went wrong.
    #[schema(example = "success")]
    result: String,
}

/// The answer of an operation that was done.
#[derive(ToSchema)]
pub(crate) struct Success<T> {
    /// `success`.
    #[schema(example = "success")]
    result: String,
    #[serde(flatten)]
    body: T,
}

/// The answer of an operation that names failures: these have a result and nothing else.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Outcome<T> {
    Success(Success<T>),
    Failure(Done),
}

/// For members.
#[derive(IntoResponses)]
pub(crate) enum Members {
    /// `bad token`: missing, malformed, expired or revoked.
    #[response(status = 401)]
    BadToken(Done),
}

/// For administrators.
#[derive(IntoResponses)]
pub(crate) enum Administrators {
    /// `bad token`: missing, malformed, expired or revoked.
    #[response(status = 401)]
    BadToken(Done),
    /// `Not admin`: the caller is another member.
    #[response(status = 403)]
    NotAdmin(Done),
}

/// Of something that may not exist.
#[derive(IntoResponses)]
pub(crate) enum Missing {
    /// `Not found`.
    #[response(status = 404)]
    NotFound(Done),
}

/// Of an administrator who may be the last one.
#[derive(IntoResponses)]
pub(crate) enum LastAdministrator {
    /// `last administrator`: nobody would be left to administer.
    #[response(status = 409)]
    LastAdministrator(Done),
}

/// Of a post whose url another may have.
#[derive(IntoResponses)]
pub(crate) enum DuplicateUrl {
    /// `already url`: another post has the url.
    #[response(status = 409)]
    AlreadyUrl(Done),
}
