//! Describes `304 Not Modified`, which all public operations have in common.

use utoipa::openapi::{OpenApi, RefOr, ResponseBuilder};

use super::headers;
use crate::route::Route;

/// Writes 304 into the document, for the public operations among `routes`, and for the document itself.
pub(super) fn write(document: &mut OpenApi, routes: &[Route]) {
    let public = routes.iter().filter(|route| route.public.is_some()).map(|route| route.path);
    for path in public.chain(["/openapi.json"]) {
        let item = document.paths.paths.get_mut(path);
        let Some(operation) = item.and_then(|item| item.get.as_mut()) else { continue };
        let tag = headers::text(
            "The tag of the content. Only without a token.",
            r#"W/"4c3282b53cd7086b89a5f8d918591504""#,
        );
        if let Some(RefOr::T(done)) = operation.responses.responses.get_mut("200") {
            done.headers.insert("ETag".into(), tag.clone().into());
        }
        let unchanged = ResponseBuilder::new()
            .description(
                "The client has the content: it has sent the tag as `If-None-Match`. Only without a token.",
            )
            .header("ETag", tag);
        operation.responses.responses.insert("304".into(), unchanged.build().into());
    }
}
