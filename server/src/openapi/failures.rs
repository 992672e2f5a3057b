//! The failures in the OpenAPI document: for each operation the texts that the interface documents, and the responses that
//! operations share.

use http::HeaderValue;
use serde_json::{Map, Value, json};
use tidings_core::answer::SUCCESS;
use tidings_core::error::{Code, Problem};
use tidings_core::import::Done;
use tidings_core::{Error, StoreError, answer};
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{Components, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};

use super::schema::objects;
use super::{CONST, JSON, answer_of, operations};
use crate::filter::reply::Refusal;

/// The statuses of failures that every operation can have, and the names of the responses.
pub(super) const COMMON: [(&str, &str); 7] = [
    ("400", "BadRequest"),
    ("405", "MethodNotAllowed"),
    ("414", URI_TOO_LONG),
    ("429", "TooManyRequests"),
    ("431", HEAD_TOO_LARGE),
    ("500", "InternalError"),
    ("503", "Overloaded"),
];

/// The responses that operations share: the name, an example, which has the `result` and a code, further codes, and the condition.
fn shared() -> [(&'static str, Refusal, &'static [Code], &'static str); 16] {
    let invalid = Problem::invalid("title", "title is one line of 1 to 200 characters");
    let failed = |result| Error::Failed { result, cause: StoreError::Full }.into();
    let done = Done { inserted: 512, updated: 0, skipped: 0 };
    [
        (
            "BadRequest",
            Error::BadRequest(invalid).into(),
            &[
                Code::MissingValue,
                Code::NothingGiven,
                Code::MalformedBody,
                Code::MalformedRequest,
                Code::NextExpired,
                Code::NotPossible,
                Code::NameTaken,
            ],
            "A field or a parameter is missing, of another type, or out of bounds; or the body cannot be read.",
        ),
        ("BadToken", Error::BadToken.into(), &[], "The token is missing, malformed, expired or revoked."),
        (
            "NotAdmin",
            Error::Forbidden.into(),
            &[Code::MissingScope, Code::SecondFactorNeeded],
            "The caller is a member, and the operation is for administrators or for another member; or an API key \
             or a role without the scope that the operation needs; or an administrator or a member with a role whose session \
             gave no code of a second factor, which the settings require.",
        ),
        ("NotFound", Error::NotFound.into(), &[Code::UnknownPath], "What the path names does not exist."),
        (
            "MethodNotAllowed",
            Refusal::MethodNotAllowed(HeaderValue::from_static("GET")),
            &[],
            "The path has other methods.",
        ),
        (
            "LastAdministrator",
            Error::LastAdministrator.into(),
            &[],
            "The service must have at least one administrator.",
        ),
        ("AlreadyUrl", Error::DuplicateUrl.into(), &[], "Another post has the url."),
        ("BodyTooLarge", Refusal::PayloadTooLarge, &[], "The body has more than {body}."),
        ("ImportTooLarge", Refusal::PayloadTooLarge, &[], "The body has more than {import}."),
        ("UnsupportedMediaType", Refusal::UnsupportedMediaType, &[], "The body has another content type."),
        (
            "TooManyRequests",
            Error::TooManyRequests { retry_after_s: 1 }.into(),
            &[],
            "The client has sent too many requests, or has failed to sign in too often.",
        ),
        (
            "InternalError",
            Error::Internal("a fault".into()).into(),
            &[],
            "The service failed; the cause is in its log.",
        ),
        ("SignUpFailed", failed("sign_up fail"), &[], "The service failed, and nobody was signed up."),
        ("FeedbackFailed", failed("fail"), &[], "The service failed, and the feedback was not stored."),
        (
            "ImportFailed",
            Error::Unfinished { cause: StoreError::Full, done }.into(),
            &[],
            "The service failed during the import. It may also say how many posts were inserted, updated and skipped before.",
        ),
        (
            "Overloaded",
            Error::Overloaded.into(),
            &[],
            "The service is busy or shutting down, and nothing was changed; or the message says that this is not known.",
        ),
    ]
}

/// Besides those of every response.
const HEADERS: [(&str, &str); 3] = [
    ("Allow", "The methods of this path."),
    ("Retry-After", "The seconds after which another attempt can succeed."),
    ("WWW-Authenticate", "The scheme of the token."),
];

pub(super) fn add_shared(components: &mut Components) {
    for (name, refusal, others, description) in shared() {
        let example = object(&refusal.body());
        let codes = example["code"].as_str().into_iter().chain(others.iter().map(|code| code.as_str()));
        let schema = failure(&[refusal.result()], codes.collect(), description, &example);
        components.schemas.insert(name.into(), schema.into());
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(name))).example(Some(example));
        let mut response = ResponseBuilder::new().description(description).content(JSON, content.build());
        if let Some((header, value)) = refusal.header()
            && let Some((header, description)) = HEADERS.iter().find(|(name, _)| header == *name)
        {
            let text = value.to_str().unwrap_or_default();
            let schema = match text.parse::<u64>() {
                Ok(number) => {
                    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).examples([number])
                }
                Err(_) => ObjectBuilder::new().schema_type(Type::String).examples([text]),
            };
            let schema = Some(schema.build());
            let header_object = HeaderBuilder::new().schema(schema).description(Some(*description)).build();
            response = response.header(*header, header_object);
        }
        components.responses.insert(name.into(), response.build().into());
    }
    for (name, condition) in [
        (URI_TOO_LONG, "The address has more than 65,534 bytes."),
        (
            HEAD_TOO_LARGE,
            "The address and the headers have more than 64 KiB, with HTTP/2 more than 16 KiB; or there are more than 100 headers.",
        ),
    ] {
        let description =
            format!("{condition} There is no body, because the request was not read to its end.");
        let response = ResponseBuilder::new().description(description).build();
        components.responses.insert(name.into(), response.into());
    }
}

/// Of requests of which hyper does not read the head to its end.
const URI_TOO_LONG: &str = "UriTooLong";
const HEAD_TOO_LARGE: &str = "HeadTooLarge";

fn object(answer: &[u8]) -> Value {
    serde_json::from_slice(answer).expect("an answer is JSON")
}

/// The texts and codes include those of the example.
fn failure(results: &[&str], codes: Vec<&str>, description: &str, example: &Value) -> Object {
    let text = |texts: Vec<&str>, description: &str| {
        let mut text = ObjectBuilder::new().schema_type(Type::String).description(Some(description)).build();
        match texts[..] {
            [only] => text.extensions = Some(Extensions::from_iter([(CONST, only)])),
            _ => text.enum_values = Some(texts.into_iter().map(Value::from).collect()),
        }
        text
    };
    let line = |description: &str, example: &Value| {
        let line = ObjectBuilder::new().schema_type(Type::String).description(Some(description));
        line.min_length(Some(1)).max_length(Some(1_000)).examples([example.clone()]).build()
    };
    let field = example.get("field").cloned().unwrap_or("title".into());
    ObjectBuilder::new()
        .description(Some(description))
        .property("result", text(results.to_vec(), "What went wrong, as clients compare it."))
        .property("code", text(codes, "The condition; it never changes."))
        .property("message", line("What was wrong, or what to do, for people.", &example["message"]))
        .property("field", line("The field or the parameter at fault, if there is one.", &field))
        .required("result")
        .required("code")
        .required("message")
        .build()
}

pub(super) fn narrow_successes(components: &mut Components) {
    let successes =
        components.schemas.iter_mut().filter(|(name, _)| *name == "Done" || name.starts_with("Success_"));
    for (_, schema) in successes {
        for part in objects(schema) {
            if let Some(RefOr::T(Schema::Object(result))) = part.properties.get_mut("result") {
                result.extensions = Some(Extensions::from_iter([(CONST, SUCCESS)]));
            }
        }
    }
}

/// Adds the failures with status 200 that an operation documents, each as an example.
pub(super) fn add_documented(operation: &mut Operation, components: &mut Components, failures: &[Error]) {
    let id = operation.operation_id.clone().unwrap_or_default();
    let Some(content) = answer_of(operation).filter(|_| !failures.is_empty()) else { return };
    let (mut results, mut codes) = (Vec::new(), Vec::new());
    for error in failures {
        let (result, problem) = (error.result(), error.problem());
        if !results.contains(&result) {
            results.push(result);
        }
        if !codes.contains(&problem.code.as_str()) {
            codes.push(problem.code.as_str());
        }
        let example = ExampleBuilder::new().value(Some(object(&answer::failure(error)))).build();
        content.examples.insert(problem.code.to_string(), example.into());
    }
    let name = format!("Failure_{id}");
    let description = format!("The failures of `{id}` that have status 200.");
    // One that names a field shows most.
    let shown = failures.iter().find(|failure| failure.problem().field.is_some()).unwrap_or(&failures[0]);
    let example = object(&answer::failure(shown));
    components.schemas.insert(name.clone(), failure(&results, codes, &description, &example).into());
    let success = content.schema.take().unwrap_or_default();
    let either = OneOfBuilder::new().item(success).item(Ref::from_schema_name(name)).build();
    content.schema = Some(Schema::OneOf(either).into());
}

const SUCCESS_EXAMPLE: &str = "Success";

/// Adds an example of the success to answers that have examples of failures, so that these are not taken for the answer. It is
/// composed of the examples of the fields.
pub(super) fn write_examples(document: &mut OpenApi) {
    let components = serde_json::to_value(&document.components).expect("the document is JSON");
    for operation in operations(document) {
        let Some(content) = answer_of(operation).filter(|content| !content.examples.is_empty()) else {
            continue;
        };
        let schema = serde_json::to_value(&content.schema).expect("the document is JSON");
        let example = ExampleBuilder::new().value(Some(example(&schema, &components))).build();
        content.examples.insert(SUCCESS_EXAMPLE.into(), example.into());
    }
}

fn example(schema: &Value, components: &Value) -> Value {
    let example = |schema| example(schema, components);
    let first = |name: &str| schema[name].get(0);
    if let Some(reference) = schema["$ref"].as_str() {
        let path = reference.strip_prefix("#/components").unwrap_or_default();
        return components.pointer(path).map_or(Value::Null, example);
    }
    if let Some(value) = schema.get(CONST).or(schema.get("default")).or(first("examples")).or(first("enum")) {
        return value.clone();
    }
    if let Some(branch) = first("oneOf").or(first("anyOf")) {
        return example(branch);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(example);
        let fields =
            parts.filter_map(|part| if let Value::Object(fields) = part { Some(fields) } else { None });
        return Value::Object(fields.flatten().collect());
    }
    if let Some(items) = schema.get("items") {
        return json!([example(items)]);
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    Value::Object(fields.map(|(name, schema)| (name.clone(), example(schema))).collect::<Map<_, _>>())
}
