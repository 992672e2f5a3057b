//! Describes the headers of single operations.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ObjectBuilder, RefOr, Type};

/// The longest text in a header: a link repeats a name of the request, each byte of which may take three.
const TEXT_MAX: usize = 3 * crate::connection::bounds::HEAD_MAX + 100;

/// The name of a header, its description and an example.
type About = (&'static str, &'static str, &'static str);

const DEPRECATION: About =
    ("Deprecation", "When the operation became deprecated, in seconds since 1970 (RFC 9745).", "@1795132800");
const LINK: About = (
    "Link",
    "The operation that replaces this one.",
    "</get_newsfeed_of_topic/science>; rel=\"successor-version\"",
);
const LOCATION: About = ("Location", "The page.", "docs/");
const DISPOSITION: About =
    ("Content-Disposition", "The name of the file.", "attachment; filename=\"ann.json\"");

/// The headers of a response of an operation.
fn headers(operation: &str) -> (&'static str, &'static [About]) {
    match operation {
        "get_topic_newsfeed" => ("200", &[DEPRECATION, LINK]),
        "get_my_data" | "get_member_data" | "export_posts" | "export_audit" | "reports_file" => {
            ("200", &[DISPOSITION])
        }
        "docs" => ("308", &[LOCATION]),
        _ => ("200", &[]),
    }
}

/// Writes the headers of an operation into its response.
pub(super) fn write(operation: &mut Operation) {
    let (status, headers) = headers(operation.operation_id.as_deref().unwrap_or_default());
    let Some(RefOr::T(response)) = operation.responses.responses.get_mut(status) else { return };
    for (name, description, example) in headers {
        response.headers.insert((*name).to_owned(), text(description, example).into());
    }
}

/// Returns a header that is a text.
pub(super) fn text(description: &str, example: &str) -> Header {
    let schema =
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(TEXT_MAX)).examples([example]);
    HeaderBuilder::new().schema(Some(schema.build())).description(Some(description)).build()
}
