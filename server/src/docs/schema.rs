//! Types that describe answers in the OpenAPI document. They are never constructed: the server sends the answers of
//! the core.

#![expect(dead_code, reason = "only the derives use the fields")]

use utoipa::{IntoResponses, ToSchema};

/// An answer that has only its result.
#[derive(ToSchema)]
pub(crate) struct Done {
    /// `success`, or the failure.
    #[schema(example = "success")]
    result: String,
}

/// The answer of a successful operation.
#[derive(ToSchema)]
pub(crate) struct Success<T> {
    /// `success`.
    #[schema(example = "success")]
    result: String,
    #[serde(flatten)]
    body: T,
}

/// The answer of an operation that lists its failures. A failure has only a result.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Outcome<T> {
    Success(Success<T>),
    Failure(Done),
}

/// The failures of an operation for members.
#[derive(IntoResponses)]
pub(crate) enum Members {
    /// `bad token`: missing, malformed, expired or revoked.
    #[response(status = 401)]
    BadToken(Done),
}

/// The failures of an operation for administrators.
#[derive(IntoResponses)]
pub(crate) enum Administrators {
    /// `bad token`: missing, malformed, expired or revoked.
    #[response(status = 401)]
    BadToken(Done),
    /// `Not admin`: the caller is another member.
    #[response(status = 403)]
    NotAdmin(Done),
}

/// The failure of an operation on an object that may not exist.
#[derive(IntoResponses)]
pub(crate) enum Missing {
    /// `Not found`.
    #[response(status = 404)]
    NotFound(Done),
}

/// The failure of an operation that would leave the service without an administrator.
#[derive(IntoResponses)]
pub(crate) enum LastAdministrator {
    /// `last administrator`: the service must have at least one administrator.
    #[response(status = 409)]
    LastAdministrator(Done),
}

/// The failure of an operation that sets the url of a post.
#[derive(IntoResponses)]
pub(crate) enum DuplicateUrl {
    /// `already url`: another post has the url.
    #[response(status = 409)]
    AlreadyUrl(Done),
}
