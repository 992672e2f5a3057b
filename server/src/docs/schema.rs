//! Types that describe answers in the OpenAPI document. They are never constructed: the server sends the answers of
//! the core.

#![expect(dead_code, reason = "only the derive uses the field")]

use utoipa::ToSchema;

/// The answer of a successful operation that has only its result.
#[derive(ToSchema)]
pub(crate) struct Done {
    /// `success`.
    result: String,
}
