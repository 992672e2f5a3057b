//! Describes `304 Not Modified`, which all public operations have in common.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{Object, OpenApi, ResponseBuilder, Type};

use crate::route::Route;

/// Writes 304 into the document, for the public operations among `routes`, and for the document itself.
pub(super) fn write(document: &mut OpenApi, routes: &[Route]) {
    let public = routes.iter().filter(|route| route.public.is_some()).map(|route| route.path);
    for path in public.chain(["/openapi.json"]) {
        let item = document.paths.paths.get_mut(path);
        let Some(operation) = item.and_then(|item| item.get.as_mut()) else { continue };
        let tag = HeaderBuilder::new()
            .description(Some("The tag of the content."))
            .schema(Some(Object::with_type(Type::String)))
            .build();
        let unchanged = ResponseBuilder::new()
            .description(
                "The client has the content: it has sent the tag as `If-None-Match`. Only without a token.",
            )
            .header("ETag", tag);
        operation.responses.responses.insert("304".into(), unchanged.build().into());
    }
}
