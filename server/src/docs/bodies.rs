//! The bodies of operations that insert a record and of those that change one, which have the same fields: an insertion needs
//! some of them, and a change at least one.

use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr, Schema};

/// An operation that inserts a record, the schema of its fields, the schema that its body has instead, and what that requires.
type Insertion = (&'static str, &'static str, &'static str, [&'static str; 2]);

const INSERTIONS: [Insertion; 2] = [
    ("/insert_notice", "NoticeFields", "NewNoticeFields", ["title", "post"]),
    ("/insert_post", "PostFields", "NewPostFields", ["title", "url"]),
];

/// Writes what the bodies require.
pub(super) fn write(document: &mut OpenApi) {
    for (path, fields, new, required) in INSERTIONS {
        let item = document.paths.paths.get_mut(path);
        let body = item.and_then(|item| item.post.as_mut()?.request_body.as_mut());
        let schemas = document.components.as_mut().map(|components| &mut components.schemas);
        let (Some(RefOr::T(body)), Some(schemas)) = (body, schemas) else { continue };
        let Some(RefOr::T(Schema::Object(change))) = schemas.get_mut(fields) else { continue };
        let mut insertion = change.clone();
        change.min_properties = Some(1);
        for name in required {
            insertion.required.push(name.to_owned());
            if let Some(RefOr::T(Schema::Object(field))) = insertion.properties.get_mut(name) {
                field.schema_type = SchemaType::Type(Type::String);
            }
        }
        schemas.insert(new.to_owned(), insertion.into());
        for content in body.content.values_mut() {
            if let RefOr::T(content) = content {
                content.schema = Some(Ref::from_schema_name(new).into());
            }
        }
    }
}
