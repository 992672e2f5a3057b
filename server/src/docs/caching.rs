//! Describes what the responses of all public operations have in common: the tag, and `304 Not Modified`.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{OpenApi, RefOr, ResponseBuilder};

use crate::route::Route;

/// Writes the tag and 304 into the document, for the public operations among `routes`.
pub(super) fn write(document: &mut OpenApi, routes: &[Route]) {
    for route in routes.iter().filter(|route| route.is_public) {
        let item = document.paths.paths.get_mut(route.path);
        let Some(operation) = item.and_then(|item| item.get.as_mut()) else { continue };
        let responses = &mut operation.responses.responses;
        let tag = |description| HeaderBuilder::new().description(Some(description)).build();
        if let Some(RefOr::T(done)) = responses.get_mut("200") {
            let tag = tag("Identifies the content; only if the caller has no token.");
            done.headers.insert("ETag".into(), tag);
        }
        let unchanged = ResponseBuilder::new()
            .description("The content is the one whose `ETag` the client has sent as `If-None-Match`.")
            .header("ETag", tag("The same as that of the content."));
        responses.insert("304".into(), unchanged.build().into());
    }
}
