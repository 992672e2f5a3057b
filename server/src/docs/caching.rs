//! Describes `304 Not Modified`, which all public operations have in common.

use tidings_core::operation::{Effect, Spec};
use utoipa::openapi::{OpenApi, RefOr, ResponseBuilder};

use super::declared::Declared;
use super::headers;

/// Writes 304 into the document, for the public operations.
pub(super) fn write(document: &mut OpenApi, declared: &[Declared]) {
    let is_public = |spec: &Spec| matches!(spec.effect, Effect::Public | Effect::Document);
    for path in declared.iter().filter(|one| is_public(&one.spec)).map(|one| one.spec.path) {
        let item = document.paths.paths.get_mut(path);
        let Some(operation) = item.and_then(|item| item.get.as_mut()) else { continue };
        let tag = headers::text(
            "The tag of the content. Only without a token.",
            r#"W/"4c3282b53cd7086b89a5f8d918591504""#,
        );
        let Some(RefOr::T(done)) = operation.responses.responses.get_mut("200") else { continue };
        done.headers.insert("ETag".into(), tag.clone().into());
        let unchanged = ResponseBuilder::new()
            .description(
                "The client has the content: it has sent the tag as `If-None-Match`. Only without a token.",
            )
            .header("ETag", tag);
        operation.responses.responses.insert("304".into(), unchanged.build().into());
    }
}
