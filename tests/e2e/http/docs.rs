//! Liveness, readiness, the OpenAPI document and the page that shows it.

use serde_json::Value;
use tidings_tests::{Access, OPERATIONS, Server};

#[test]
fn the_server_reports_liveness_and_readiness() {
    let server = Server::start();
    for path in ["/healthz", "/readyz"] {
        let answer = server.anyone().get(path);
        assert_eq!(answer.outcome(), "200 success");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[test]
fn the_document_is_openapi_3_1_and_names_every_operation_with_its_fields() {
    let server = Server::start();
    let answer = server.anyone().get("/openapi.json");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("application/json"), "{answer:?}");
    let document = answer.body;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    for operation in OPERATIONS.iter() {
        let method = operation.method.to_ascii_lowercase();
        let documented = &document["paths"][operation.path][&method];
        let name = operation.name();
        assert!(documented.is_object(), "{name}");
        let parameters = documented["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
        let names: Vec<_> = in_path.map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(names, operation.parameters(), "{name}");
        if let Some(body) = operation.body_with(0).filter(|_| operation.takes_a_form()) {
            let content = &documented["requestBody"]["content"];
            assert!(content["application/x-www-form-urlencoded"].is_object(), "{name}: {content}");
            let schema = resolved(&document, &content["application/json"]["schema"]);
            for field in body.as_object().unwrap().keys() {
                assert!(schema["properties"][field].is_object(), "{name}, {field}: {schema}");
            }
        }
        if operation.access != Access::Anyone {
            assert!(documented["security"].is_array(), "{name}");
        }
    }
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => schema,
    }
}

/// Returns the URLs that an HTML page loads: the values of `src` and `href`.
fn loaded_urls(page: &str) -> Vec<&str> {
    let attributes = ["src=\"", "href=\""];
    let values = attributes.iter().flat_map(|attribute| page.split(attribute).skip(1));
    values.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn the_api_page_and_its_files_come_from_the_server() {
    for base in ["", "/api"] {
        let server = Server::with(move |serve| {
            serve.args(["--base-path", base]);
        });
        let anyone = server.anyone();
        let mut at = format!("{base}/docs");
        let mut page = anyone.get(&at);
        if matches!(page.status, 301..=308) {
            let location = page.header("location").to_owned();
            at = if location.starts_with('/') { location } else { format!("{base}/{location}") };
            page = anyone.get(&at);
        }
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
        let html = String::from_utf8(page.bytes).unwrap();
        let files = loaded_urls(&html);
        assert!(!files.is_empty(), "{html}");
        for file in files.into_iter().filter(|file| !file.starts_with("data:")) {
            assert!(!file.contains("//"), "{file} is not from this server");
            let directory = &at[..=at.rfind('/').unwrap()];
            let path = if file.starts_with('/') {
                file.to_owned()
            } else if let Some(above) = file.strip_prefix("../") {
                directory[..=directory.trim_end_matches('/').rfind('/').unwrap()].to_owned() + above
            } else {
                directory.to_owned() + file.trim_start_matches("./")
            };
            let answer = anyone.get(&path);
            assert_eq!(answer.status, 200, "{path}");
            assert!(!answer.bytes.is_empty(), "{path}");
        }
    }
}

#[test]
fn the_api_document_and_page_can_be_disabled_alone() {
    let server = Server::with(|serve| {
        serve.arg("--no-docs");
    });
    for path in ["/openapi.json", "/docs", "/docs/", "/docs/index.html"] {
        assert_eq!(server.anyone().get(path).outcome(), "404 Not found", "{path}");
    }
    for path in ["/healthz", "/readyz", "/get_all_notice"] {
        assert_eq!(server.anyone().get(path).outcome(), "200 success", "{path}");
    }
}

#[test]
fn an_unknown_file_of_the_api_page_is_not_found() {
    let server = Server::start();
    for path in ["/docs/nothing.js", "/docs/..%2F..%2Fetc%2Fpasswd", "/docs/%2Fetc%2Fpasswd", "/docs/%00"] {
        assert_eq!(server.anyone().get(path).status, 404, "{path}");
    }
}
