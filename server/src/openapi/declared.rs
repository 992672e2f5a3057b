//! Describes the declared operations: their parameters and bodies come from the schemas of their fields.

use std::any::TypeId;
use std::collections::BTreeMap;

use serde::Serialize;
use tidings_core::Error;
use tidings_core::config::Config;
use tidings_core::error::Code;
use tidings_core::operation::{
    Access, Effect, Failure, Fields, Form, JSON, Media, Method, Operation, QUERY, REST, Spec, Stream,
};
use tidings_core::operations::{self, Visitor};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{
    HttpMethod, Operation as Described, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{
    AllOfBuilder, ArrayBuilder, Components, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{self, Done, Named};
use super::{FORM, failures};
use crate::connection::HEAD_MAX;
use crate::syndication::JsonFeed;

const SUCCESS: &str = "The answer of a successful operation.";

/// The name of the schema of fields that insert a record, and those that an insertion requires.
type Insertion = (String, &'static [&'static str]);

pub(super) struct Writer<'a> {
    document: &'a mut OpenApi,
    settings: &'a Config,
    insertions: Vec<Insertion>,
}

type Content = Vec<(&'static str, RefOr<Schema>)>;

impl Visitor for Writer<'_> {
    fn visit<O: Operation>(&mut self) {
        let mut gives = vec![(JSON, self.answer::<O::Answer>())];
        if O::SPEC.has_formats {
            gives.push(("application/atom+xml", String::schema()));
            gives.push(("application/feed+json", self.add::<JsonFeed<'_>>()));
        }
        let mut refusals = O::SPEC.refusals();
        refusals.extend(O::documented_refusals(self.settings));
        self.write::<O>(O::SPEC, Vec::new(), gives, &refusals, O::describe);
    }

    fn stream<S: Stream>(&mut self) {
        let takes = S::TAKES.iter().map(|Media { name, form }| match form {
            Form::Lines => (*name, self.add::<S::Line>()),
            Form::Array => (*name, ArrayBuilder::new().items(self.add::<S::Line>()).build().into()),
            Form::Text => (*name, String::schema()),
        });
        let takes = takes.collect();
        let gives = S::GIVES.iter().map(|name| match *name {
            JSON => (JSON, self.answer::<S::Answer>()),
            name => (name, String::schema()),
        });
        let gives = gives.collect();
        self.write::<S>(S::SPEC, takes, gives, &[], S::describe);
    }
}

impl<'a> Writer<'a> {
    pub(super) fn write_all(document: &'a mut OpenApi, settings: &'a Config) -> Vec<Insertion> {
        let mut writer = Self { document, settings, insertions: Vec::new() };
        operations::each(&mut writer);
        writer.insertions
    }

    fn schemas(&mut self) -> &mut BTreeMap<String, RefOr<Schema>> {
        &mut self.document.components.get_or_insert_default().schemas
    }

    fn add<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let ((name, schema), others) = schema::of::<T>();
        let reference = Ref::from_schema_name(&name);
        self.schemas().extend(others.into_iter().chain([(name, schema)]));
        reference.into()
    }

    fn answer<T: ToSchema + 'static>(&mut self) -> RefOr<Schema> {
        if TypeId::of::<T>() == TypeId::of::<()>() {
            return self.add::<Done>();
        }
        self.add::<T>();
        let ((name, fields), _) = schema::of::<T>();
        let mut result = Done::schema();
        if let RefOr::T(Schema::Object(result)) = &mut result {
            result.description = None;
        }
        let answer = AllOfBuilder::new().item(fields).item(result).description(Some(SUCCESS)).build();
        let name = format!("Success_{name}");
        let reference = Ref::from_schema_name(&name);
        self.schemas().insert(name, Schema::AllOf(answer).into());
        reference.into()
    }

    /// `takes` is the content of the body if that is not the fields.
    fn write<T: Fields>(
        &mut self,
        spec: Spec,
        takes: Content,
        gives: Content,
        refusals: &[Error],
        describe: fn(&mut Described),
    ) {
        let ((name, fields), of_fields) = schema::of::<T>();
        let RefOr::T(Schema::Object(fields)) = fields else { panic!("the fields of {name} are a struct") };
        let is_insertion = !spec.requires.is_empty();
        if is_insertion {
            self.insertions.push((name.clone(), spec.requires));
        }
        let components = self.document.components.get_or_insert_default();
        let about = fields.description.clone().unwrap_or_default();
        let (summary, about) = about.split_once("\n\n").unwrap_or((&about, ""));
        let separator = if about.is_empty() { "" } else { "\n\n" };
        let mut operation = OperationBuilder::new()
            .tag(spec.group)
            .summary(Some(summary.trim_end_matches('.')))
            .description(Some(format!("{about}{separator}{}", callers(spec.access))))
            .operation_id(Some(spec.name()))
            .deprecated(fields.deprecated.clone())
            .securities(security(spec.access));
        let (parameters, body) = split(&spec, fields, &of_fields);
        for parameter in parameters {
            operation = operation.parameter(parameter);
        }
        let mut failures = failures(&spec, refusals);
        let used = |other: &Named| refers_to(&body, &other.0);
        components.schemas.extend(of_fields.into_iter().filter(used));
        if spec.method == Method::Post {
            failures.push(("413", if takes.is_empty() { "BodyTooLarge" } else { "ImportTooLarge" }));
            failures.push(("415", "UnsupportedMediaType"));
            let mut request = RequestBodyBuilder::new().required(Some(Required::True));
            let mut content = takes;
            if content.is_empty() {
                content = media(&if is_insertion { format!("New{name}") } else { name.clone() }, &body);
                components.schemas.insert(name, body.into());
            }
            for (media, schema) in content {
                request = request.content(media, ContentBuilder::new().schema(Some(schema)).build());
            }
            operation = operation.request_body(Some(request.build()));
        }
        let mut done = ResponseBuilder::new().description("The answer of the operation.");
        for (media, schema) in gives {
            done = done.content(media, ContentBuilder::new().schema(Some(schema)).build());
        }
        let mut operation = operation.response("200", done).build();
        describe(&mut operation);
        write_headers(&mut operation, &spec);
        for (status, response) in failures.into_iter().chain(failures::COMMON) {
            let response = Ref::from_response_name(response);
            operation.responses.responses.entry(status.into()).or_insert(response.into());
        }
        failures::add_documented(&mut operation, components, refusals);
        let method = match spec.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
        };
        let item = PathItem::new(method, operation);
        match self.document.paths.paths.get_mut(spec.path) {
            Some(other) => other.merge_operations(item),
            None => {
                self.document.paths.paths.insert(spec.path.to_owned(), item);
            }
        }
    }
}

/// A form has the same fields as a JSON object, but no objects in it.
fn media(schema: &str, body: &Object) -> Vec<(&'static str, RefOr<Schema>)> {
    let types = if contains(body, REFERENCE) { &[JSON][..] } else { &[JSON, FORM] };
    types.iter().map(|name| (*name, Ref::from_schema_name(schema).into())).collect()
}

/// They have the fields of operations that change a record, but require some of them; a change requires at least one.
pub(super) fn write_insertions(components: &mut Components, insertions: &[Insertion]) {
    for (name, required) in insertions {
        let Some(RefOr::T(Schema::Object(change))) = components.schemas.get_mut(name) else { continue };
        let mut insertion = change.clone();
        change.min_properties = Some(1);
        for field in *required {
            insertion.required.push((*field).to_owned());
            if let Some(RefOr::T(Schema::Object(field))) = insertion.properties.get_mut(*field) {
                field.schema_type = SchemaType::Type(Type::String);
            }
        }
        components.schemas.insert(format!("New{name}"), insertion.into());
    }
}

fn callers(access: Access) -> &'static str {
    match access {
        Access::Open => "No token needed.",
        Access::Anyone => "No token needed; an invalid token is ignored.",
        Access::Members => "For members.",
        Access::Own(_) => "For administrators, and for members about themselves.",
        Access::Admins(_) | Access::Persons => "For administrators.",
    }
}

fn split(spec: &Spec, fields: Object, named: &[Named]) -> (Vec<Parameter>, Object) {
    let (mut in_path, mut in_query, mut body) = (Vec::new(), Vec::new(), Object::new());
    for (name, schema) in fields.properties {
        let has_no_body = spec.method == Method::Get || name == QUERY;
        let fields = match &*name {
            QUERY | REST => resolved(&schema, named).properties,
            _ => [(name, schema)].into(),
        };
        for (name, schema) in fields {
            if spec.parameters().any(|parameter| parameter == name) {
                in_path.push(parameter(name, ParameterIn::Path, schema));
            } else if has_no_body {
                in_query.push(parameter(name, ParameterIn::Query, schema));
            } else {
                body.properties.insert(name, schema);
            }
        }
    }
    let required = body.properties.iter().filter(|(_, schema)| !is_nullable(schema));
    body.required = required.map(|(name, _)| name.clone()).collect();
    in_path.append(&mut in_query);
    (in_path, body)
}

fn resolved(reference: &RefOr<Schema>, named: &[Named]) -> Object {
    match named.iter().find(|(name, _)| refers_to(reference, name)) {
        Some((_, RefOr::T(Schema::Object(group)))) => group.clone(),
        _ => panic!("a group of fields is a struct"),
    }
}

fn refers_to(schema: &impl Serialize, name: &str) -> bool {
    contains(schema, &format!("{REFERENCE}{name}\""))
}

const REFERENCE: &str = "#/components/schemas/";

fn contains(schema: &impl Serialize, text: &str) -> bool {
    serde_json::to_string(schema).expect("a schema is JSON").contains(text)
}

fn is_nullable(schema: &RefOr<Schema>) -> bool {
    match schema {
        RefOr::T(Schema::Object(Object { schema_type: SchemaType::Array(types), .. })) => {
            types.contains(&Type::Null)
        }
        RefOr::T(Schema::Array(array)) => {
            matches!(&array.schema_type, SchemaType::Array(types) if types.contains(&Type::Null))
        }
        RefOr::T(Schema::OneOf(_)) => true,
        _ => false,
    }
}

fn parameter(name: String, place: ParameterIn, mut schema: RefOr<Schema>) -> Parameter {
    let is_optional = is_nullable(&schema);
    let mut description = None;
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        description = object.description.take();
        if let SchemaType::Array(types) = &mut object.schema_type {
            types.retain(|kind| *kind != Type::Null);
            object.enum_values.iter_mut().for_each(|values| values.retain(|value| !value.is_null()));
            if let [only] = &types[..] {
                object.schema_type = SchemaType::Type(only.clone());
            }
        }
        // A request has nothing longer than a head.
        let is_free = object.pattern.is_none() && object.format.is_none() && object.enum_values.is_none();
        if object.schema_type == SchemaType::Type(Type::String) && is_free {
            object.max_length.get_or_insert(HEAD_MAX);
        }
    }
    let required = if is_optional { Required::False } else { Required::True };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .description(description)
        .required(required)
        .schema(Some(schema))
        .build()
}

fn security(access: Access) -> Option<Vec<SecurityRequirement>> {
    let token = || SecurityRequirement::new("token", [] as [&str; 0]);
    match access {
        Access::Open => None,
        Access::Anyone => Some(vec![SecurityRequirement::default(), token()]),
        Access::Members | Access::Own(_) | Access::Admins(_) | Access::Persons => Some(vec![token()]),
    }
}

/// The failures with a status of their own: the statuses and the names of the responses.
fn failures(spec: &Spec, refusals: &[Error]) -> Vec<(&'static str, &'static str)> {
    let refuses = |code| refusals.iter().any(|refusal| refusal.problem().code == code);
    let mut failures = Vec::new();
    let has_token = !matches!(spec.access, Access::Open | Access::Anyone);
    if has_token && !refuses(Code::BadToken) {
        failures.push(("401", "BadToken"));
        if spec.access != Access::Members {
            failures.push(("403", "NotAdmin"));
        }
    }
    failures.extend(spec.failures.iter().map(|failure| match failure {
        Failure::Missing => ("404", "NotFound"),
        Failure::LastAdministrator => ("409", "LastAdministrator"),
        Failure::DuplicateUrl => ("409", "AlreadyUrl"),
        Failure::SignUp => ("500", "SignUpFailed"),
        Failure::Feedback => ("500", "FeedbackFailed"),
        Failure::Import => ("500", "ImportFailed"),
    }));
    failures
}

/// The longest text in a header: a link repeats a name of the request, each byte of which may take three.
const TEXT_MAX: usize = 3 * HEAD_MAX + 100;

/// Also adds the answer to a client that has the content already.
fn write_headers(operation: &mut Described, spec: &Spec) {
    let responses = &mut operation.responses.responses;
    let Some(RefOr::T(done)) = responses.get_mut("200") else { return };
    let mut add = |name: &str, header: Header| done.headers.insert(name.to_owned(), header.into());
    // There is one deprecated operation.
    if operation.deprecated.is_some() {
        let since = "When the operation became deprecated, in seconds since 1970 (RFC 9745).";
        add("Deprecation", header(since, "@1795132800"));
        let link = "</get_newsfeed_of_topic/science>; rel=\"successor-version\"";
        add("Link", header("The operation that replaces this one.", link));
    }
    if spec.is_file {
        add("Content-Disposition", header("The name of the file.", "attachment; filename=\"ann.json\""));
    }
    if matches!(spec.effect, Effect::ReadsTagged | Effect::Public | Effect::Document) {
        let to_whom = if spec.effect == Effect::ReadsTagged { "" } else { " Only without a token." };
        let tag = format!("The tag of the content.{to_whom}");
        let tag = header(&tag, r#"W/"4c3282b53cd7086b89a5f8d918591504""#);
        add("ETag", tag.clone());
        let unchanged =
            format!("The client has the content: it has sent the tag as `If-None-Match`.{to_whom}");
        let unchanged = ResponseBuilder::new().description(unchanged).header("ETag", tag);
        responses.insert("304".into(), unchanged.build().into());
    }
}

fn header(description: &str, example: &str) -> Header {
    let schema =
        ObjectBuilder::new().schema_type(Type::String).max_length(Some(TEXT_MAX)).examples([example]);
    HeaderBuilder::new().schema(Some(schema.build())).description(Some(description)).build()
}
