//! Compares every response of a test with the OpenAPI document of the binary, so that the document cannot be wrong.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};
use ureq::http::HeaderMap;

use crate::binary::{command, run};

/// The document, with a validator for each response.
struct Contract {
    /// The segments of each path, the method, and its responses.
    operations: Vec<(Vec<String>, String, HashMap<u16, Described>)>,
}

/// A response of an operation.
struct Described {
    /// The schema of its JSON body; `None` if it has none.
    body: Option<Validator>,
    /// The headers that it must have.
    headers: Vec<String>,
}

/// Asserts that a response is one that the document has for the operation.
///
/// Requests to paths that the server does not have are left out, as are those with a base path, and bodies that the client has
/// asked to compress.
///
/// # Panics
/// When the document has no such response.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, status: u16, headers: &HeaderMap, body: &Value) {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    let contract = CONTRACT.get_or_init(Contract::read);
    let path = path.split('?').next().unwrap_or_default();
    if body["code"] == "unknown_path" {
        return;
    }
    let Some(responses) = contract.responses(method, path) else { return };
    // The server answers a request that breaks HTTP before it is an operation's.
    let Some(described) = responses.get(&status) else {
        panic!("the document has no response {status} of {method} {path}: {body}")
    };
    for name in &described.headers {
        assert!(headers.contains_key(name), "{method} {path} answered {status} without {name}: {headers:?}");
    }
    // The page at `/` is HTML unless the client prefers JSON.
    let is_html = headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if let Some(validator) = &described.body
        && !(is_html && path == "/")
        && !headers.contains_key("content-encoding")
        && headers.get("content-type").is_some_and(|given| given.as_bytes().starts_with(b"application/json"))
    {
        let faults: Vec<String> =
            validator.iter_errors(body).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(
            faults.is_empty(),
            "{method} {path} answered {status} {body}, but the document says: {faults:?}"
        );
    }
}

impl Contract {
    fn read() -> Self {
        let mut openapi = command();
        openapi.arg("openapi");
        let document: Value = serde_json::from_str(&run(openapi, "").stdout).unwrap();
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
        Self { operations }
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
        // The schema refers to the components, which are beside it.
        let body = response["content"]["application/json"]["schema"].as_object().map(|schema| {
            let schema = json!({ "allOf": [schema], "components": document["components"] });
            jsonschema::draft202012::new(&schema).unwrap()
        });
        let headers = response["headers"].as_object().into_iter().flatten();
        Self { body, headers: headers.map(|(name, _)| name.to_lowercase()).collect() }
    }
}
