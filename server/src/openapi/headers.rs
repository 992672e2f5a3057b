//! Describes the headers of responses.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ObjectBuilder, RefOr, ResponseBuilder, Type};

use tidings_core::operation::{Effect, Spec};

/// The longest text in a header: a link repeats a name of the request, each byte of which may take three.
const TEXT_MAX: usize = 3 * crate::connection::HEAD_MAX + 100;

/// Also adds the answer to a client that has the content already.
pub(super) fn write(operation: &mut Operation, spec: &Spec) {
    let responses = &mut operation.responses.responses;
    let Some(RefOr::T(done)) = responses.get_mut("200") else { return };
    let mut add = |name: &str, header: Header| done.headers.insert(name.to_owned(), header.into());
    // There is one deprecated operation.
    if operation.deprecated.is_some() {
        let since = "When the operation became deprecated, in seconds since 1970 (RFC 9745).";
        add("Deprecation", text(since, "@1795132800"));
        let link = "</get_newsfeed_of_topic/science>; rel=\"successor-version\"";
        add("Link", text("The operation that replaces this one.", link));
    }
    if spec.is_file {
        add("Content-Disposition", text("The name of the file.", "attachment; filename=\"ann.json\""));
    }
    if matches!(spec.effect, Effect::ReadsTagged | Effect::Public | Effect::Document) {
        let to_whom = if spec.effect == Effect::ReadsTagged { "" } else { " Only without a token." };
        let tag = format!("The tag of the content.{to_whom}");
        let tag = text(&tag, r#"W/"4c3282b53cd7086b89a5f8d918591504""#);
        add("ETag", tag.clone());
        let unchanged =
            format!("The client has the content: it has sent the tag as `If-None-Match`.{to_whom}");
        let unchanged = ResponseBuilder::new().description(unchanged).header("ETag", tag);
        responses.insert("304".into(), unchanged.build().into());
    }
}

fn text(description: &str, example: &str) -> Header {
    let schema =
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(TEXT_MAX)).examples([example]);
    HeaderBuilder::new().schema(Some(schema.build())).description(Some(description)).build()
}
