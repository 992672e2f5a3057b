//! Describes the declared operations: their parameters and bodies come from the schemas of their fields.

use std::any::TypeId;

use tidings_core::Error;
use tidings_core::config::Config;
use tidings_core::error::Code;
use tidings_core::operation::{
    Access, Failure, Fields, Form, JSON, Media, Method, Operation, QUERY, REST, Spec, Stream,
};
use tidings_core::operations::{self, Visitor};
use utoipa::openapi::path::{
    HttpMethod, Operation as Described, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AllOfBuilder, ArrayBuilder, Components, Object, Schema, SchemaType, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{self, Done, Named};
use super::{FORM, failures, headers};
use crate::connection::HEAD_MAX;
use crate::syndication::JsonFeed;

const SUCCESS: &str = "The answer of a successful operation.";

/// The name of the schema of fields that insert a record, and those that an insertion requires.
type Insertion = (String, &'static [&'static str]);

pub(super) struct Declared {
    pub(super) spec: Spec,
    pub(super) refusals: fn(&Config) -> Vec<Error>,
    describe: fn(&mut Described),
    /// With the name of the schema.
    fields: Named,
    /// The content of its body if that is not its fields.
    takes: Vec<(&'static str, RefOr<Schema>)>,
    gives: Vec<(&'static str, RefOr<Schema>)>,
    /// The schemas to which the fields refer.
    of_fields: Vec<Named>,
    /// The schemas to which the others refer.
    named: Vec<Named>,
}

pub(super) fn all() -> Vec<Declared> {
    let mut all = All(Vec::new());
    operations::each(&mut all);
    all.0
}

struct All(Vec<Declared>);

fn refusals<O: Operation>(settings: &Config) -> Vec<Error> {
    let mut refusals = O::SPEC.refusals();
    refusals.extend(O::documented_refusals(settings));
    refusals
}

impl Visitor for All {
    fn visit<O: Operation>(&mut self) {
        let mut named = Vec::new();
        let mut gives = vec![(JSON, answer::<O::Answer>(&mut named))];
        if O::SPEC.has_formats {
            gives.push(("application/atom+xml", String::schema()));
            gives.push(("application/feed+json", add::<JsonFeed<'_>>(&mut named)));
        }
        self.add::<O>(O::SPEC, Vec::new(), gives, named, refusals::<O>, O::describe);
    }

    fn stream<S: Stream>(&mut self) {
        let mut named = Vec::new();
        let takes = S::TAKES.iter().map(|Media { name, form }| match form {
            Form::Lines => (*name, add::<S::Line>(&mut named)),
            Form::Array => (*name, ArrayBuilder::new().items(add::<S::Line>(&mut named)).build().into()),
            Form::Text => (*name, String::schema()),
        });
        let takes = takes.collect();
        let gives = S::GIVES.iter().map(|name| match *name {
            JSON => (JSON, answer::<S::Answer>(&mut named)),
            name => (name, String::schema()),
        });
        let gives = gives.collect();
        self.add::<S>(S::SPEC, takes, gives, named, |_| Vec::new(), S::describe);
    }
}

impl All {
    fn add<T: Fields>(
        &mut self,
        spec: Spec,
        takes: Vec<(&'static str, RefOr<Schema>)>,
        gives: Vec<(&'static str, RefOr<Schema>)>,
        named: Vec<Named>,
        refusals: fn(&Config) -> Vec<Error>,
        describe: fn(&mut Described),
    ) {
        let mut of_fields = Vec::new();
        let fields = schema::of::<T>(&mut of_fields);
        self.0.push(Declared { spec, refusals, describe, fields, takes, gives, of_fields, named });
    }
}

/// Adds the schema with those to which it refers, and returns a reference.
fn add<T: ToSchema>(named: &mut Vec<Named>) -> RefOr<Schema> {
    let added = schema::of::<T>(named);
    let reference = Ref::from_schema_name(&added.0);
    named.push(added);
    reference.into()
}

/// Like [`add`], for an answer that succeeded.
fn answer<T: ToSchema + 'static>(named: &mut Vec<Named>) -> RefOr<Schema> {
    if TypeId::of::<T>() == TypeId::of::<()>() {
        return add::<Done>(named);
    }
    let success = success::<T>(named);
    let reference = Ref::from_schema_name(&success.0);
    named.push(success);
    reference.into()
}

/// Like [`schema::of`], for an answer that succeeded.
fn success<T: ToSchema>(named: &mut Vec<Named>) -> Named {
    let (name, fields) = schema::of::<T>(named);
    let mut result = Done::schema();
    if let RefOr::T(Schema::Object(result)) = &mut result {
        result.description = None;
    }
    named.push((name.clone(), fields.clone()));
    let answer = AllOfBuilder::new().item(fields).item(result).description(Some(SUCCESS)).build();
    (format!("Success_{name}"), Schema::AllOf(answer).into())
}

impl Declared {
    pub(super) fn insertion(&self) -> Option<Insertion> {
        (!self.spec.requires.is_empty()).then(|| (self.fields.0.clone(), self.spec.requires))
    }

    pub(super) fn write(self, document: &mut OpenApi, settings: &Config) {
        let Self { spec, refusals, describe, fields: (name, fields), takes, gives, of_fields, named } = self;
        let RefOr::T(Schema::Object(fields)) = fields else { panic!("the fields of {name} are a struct") };
        let refusals = refusals(settings);
        let components = document.components.get_or_insert_default();
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
        let mut failures = failures(&spec, &refusals);
        let used = |other: &Named| refers_to(&body, &other.0);
        components.schemas.extend(of_fields.into_iter().filter(used));
        if spec.method == Method::Post {
            failures.push(("413", if takes.is_empty() { "BodyTooLarge" } else { "ImportTooLarge" }));
            failures.push(("415", "UnsupportedMediaType"));
            let mut request = RequestBodyBuilder::new().required(Some(Required::True));
            let mut content = takes;
            if content.is_empty() {
                let is_insertion = !spec.requires.is_empty();
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
        components.schemas.extend(named);
        let mut operation = operation.response("200", done).build();
        describe(&mut operation);
        headers::write(&mut operation, &spec);
        for (status, response) in failures.into_iter().chain(failures::COMMON) {
            let response = Ref::from_response_name(response);
            operation.responses.responses.entry(status.into()).or_insert(response.into());
        }
        failures::add_documented(&mut operation, components, &refusals);
        let method = match spec.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
        };
        let item = PathItem::new(method, operation);
        match document.paths.paths.get_mut(spec.path) {
            Some(other) => other.merge_operations(item),
            None => {
                document.paths.paths.insert(spec.path.to_owned(), item);
            }
        }
    }
}

/// A form has the same fields as a JSON object, but no objects in it.
fn media(schema: &str, body: &Object) -> Vec<(&'static str, RefOr<Schema>)> {
    let types = if contains(body, "#/components/schemas/") { &[JSON][..] } else { &[JSON, FORM] };
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

/// The object is the schema of the body.
fn split(spec: &Spec, fields: Object, named: &[Named]) -> (Vec<Parameter>, Object) {
    let (mut parameters, mut body) = (Vec::new(), Object::new());
    let in_path: Vec<_> = spec.parameters().collect();
    let mut add_query = |name: String, schema| parameters.push(parameter(name, ParameterIn::Query, schema));
    let mut of_path = Vec::new();
    for (name, schema) in fields.properties {
        if in_path.contains(&&*name) {
            of_path.push(parameter(name, ParameterIn::Path, schema));
        } else if name == QUERY {
            let group = resolved(&schema, named);
            group.properties.into_iter().for_each(|(name, schema)| add_query(name, schema));
        } else if name == REST {
            let group = resolved(&schema, named);
            match spec.method {
                Method::Get => {
                    group.properties.into_iter().for_each(|(name, schema)| add_query(name, schema));
                }
                Method::Post => body.properties.extend(group.properties),
            }
        } else if spec.method == Method::Get {
            add_query(name, schema);
        } else {
            body.properties.insert(name, schema);
        }
    }
    body.required = body
        .properties
        .iter()
        .filter(|(_, schema)| !is_nullable(schema))
        .map(|(name, _)| name.clone())
        .collect();
    of_path.append(&mut parameters);
    (of_path, body)
}

fn resolved(reference: &RefOr<Schema>, named: &[Named]) -> Object {
    let is_named = |name: &str| {
        match reference {
        RefOr::Ref(reference) => reference.ref_location.ends_with(&format!("/{name}")),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter().any(|part| {
            matches!(part, RefOr::Ref(reference) if reference.ref_location.ends_with(&format!("/{name}")))
        }),
        RefOr::T(_) => false,
    }
    };
    match named.iter().find(|(name, _)| is_named(name)) {
        Some((_, RefOr::T(Schema::Object(group)))) => group.clone(),
        _ => panic!("a group of fields is a struct"),
    }
}

fn refers_to(body: &Object, name: &str) -> bool {
    contains(body, &format!("#/components/schemas/{name}\""))
}

fn contains(body: &Object, text: &str) -> bool {
    serde_json::to_string(body).expect("a schema is JSON").contains(text)
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
