//! Compares every response of a test with the OpenAPI document of the binary, so that the document cannot be wrong.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};
use ureq::http::HeaderMap;

use crate::binary::{command, run};

struct Contract {
    /// The segments of the path, the method and the responses.
    operations: Vec<(Vec<String>, String, HashMap<u16, Described>)>,
    events: HashMap<String, Schema>,
    /// What schemas refer to.
    components: Value,
}

struct Described {
    /// `None` if it has no JSON body.
    body: Option<Schema>,
    headers: Vec<String>,
}

/// Compiled when it is needed first: all of them take half a minute and gigabytes.
struct Schema(Value, OnceLock<Validator>);

/// Asserts that a response is one that the document has for the operation.
///
/// Requests to paths that the server does not have are left out, as are those with a base path, and bodies that the client has
/// asked to compress.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, status: u16, headers: &HeaderMap, body: &Value) {
    let contract = Contract::shared();
    let path = path.split('?').next().unwrap_or_default();
    if body["code"] == "unknown_path" {
        return;
    }
    let Some(responses) = contract.responses(method, path) else { return };
    // The server answers a request that breaks HTTP before it is an operation's.
    let Some(described) = responses.get(&status) else {
        panic!("the document has no response {status} of {method} {path}: {body}")
    };
    // A response that no cache may store has no tag.
    let is_kept = headers.get("cache-control").is_some_and(|value| value.as_bytes() != b"no-store");
    for name in described.headers.iter().filter(|name| is_kept || **name != "etag") {
        assert!(headers.contains_key(name), "{method} {path} answered {status} without {name}: {headers:?}");
    }
    // The page at `/` is HTML unless the client prefers JSON.
    let is_html = headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if let Some(schema) = &described.body
        && !(is_html && path == "/")
        && !headers.contains_key("content-encoding")
        && headers.get("content-type").is_some_and(|given| given.as_bytes().starts_with(b"application/json"))
    {
        let faults = contract.faults(schema, body);
        assert!(
            faults.is_empty(),
            "{method} {path} answered {status} {body}, but the document says: {faults:?}"
        );
    }
}

#[track_caller]
pub(crate) fn check_event(name: &str, data: &Value) {
    let contract = Contract::shared();
    let Some(schema) = contract.events.get(name) else { panic!("the document has no event {name}: {data}") };
    assert_eq!(contract.faults(schema, data), [""; 0], "event {name}: {data}");
}

impl Schema {
    fn new(schema: &Value) -> Self {
        Self(schema.clone(), OnceLock::new())
    }
}

impl Contract {
    fn shared() -> &'static Self {
        static CONTRACT: OnceLock<Contract> = OnceLock::new();
        CONTRACT.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut openapi = command();
        openapi.arg("openapi");
        let mut document: Value = serde_json::from_str(&run(openapi, "").stdout).unwrap();
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap().iter();
                let responses = responses.map(|(status, response)| {
                    (status.parse().unwrap(), Described::read(&document, response))
                });
                let segments = path.split('/').map(str::to_owned).collect();
                operations.push((segments, method.to_uppercase(), responses.collect()));
            }
        }
        let events = document["components"]["schemas"]["LiveEvents"]["properties"].as_object().unwrap();
        let events = events.iter().map(|(name, schema)| (name.clone(), Schema::new(schema))).collect();
        Self { operations, events, components: document["components"].take() }
    }

    fn faults(&self, Schema(schema, compiled): &Schema, value: &Value) -> Vec<String> {
        let compile = || {
            let schema = json!({ "allOf": [schema], "components": self.components });
            jsonschema::draft202012::new(&schema).unwrap()
        };
        let faults = compiled.get_or_init(compile).iter_errors(value);
        faults.map(|e| format!("{} at {}", e, e.instance_path())).collect()
    }

    fn responses(&self, method: &str, path: &str) -> Option<&HashMap<u16, Described>> {
        let asked: Vec<&str> = path.split('/').collect();
        let matches = |segments: &[String]| {
            let mut pairs = segments.iter().zip(&asked);
            segments.len() == asked.len()
                && pairs.all(|(own, asked)| own == asked || own.starts_with('{') && !asked.is_empty())
        };
        let mut operations = self.operations.iter();
        operations
            .find(|(segments, own, _)| own == method && matches(segments))
            .map(|(.., responses)| responses)
    }
}

impl Described {
    fn read(document: &Value, response: &Value) -> Self {
        let response = match response["$ref"].as_str() {
            Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
            None => response,
        };
        let schema = &response["content"]["application/json"]["schema"];
        let body = schema.is_object().then(|| Schema::new(schema));
        let headers = response["headers"].as_object().into_iter().flatten();
        Self { body, headers: headers.map(|(name, _)| name.to_lowercase()).collect() }
    }
}
