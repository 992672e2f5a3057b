//! Tests of the OpenAPI document and of the API page.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidings_core::account::oidc;
use tidings_core::operation::{Access, Method};
use tidings_core::source::websub;
use tidings_core::{notice, post, webhook};

use super::page::{PAGE, PAGE_FILES};
use super::*;
use crate::api::account_page;
use crate::testing::{header, request, service};

fn document() -> Value {
    serde_json::from_str(&openapi(&config::Config::default(), &Config::default())).unwrap()
}

#[test]
fn bounds_in_attributes_are_those_of_the_code() {
    let document = document();
    let field =
        |schema: &str, field: &str| document["components"]["schemas"][schema]["properties"][field].clone();
    assert_eq!(field("DraftList", "drafts")["maxItems"], notice::DRAFTS_MAX);
    assert_eq!(field("Webhooks", "webhooks")["maxItems"], webhook::WEBHOOKS_MAX);
    for (schema, name) in [("Post", "url"), ("Post", "img"), ("JsonFeedItem", "image")] {
        assert_eq!(field(schema, name)["maxLength"], post::URL_MAX, "{schema}.{name}");
    }
    for (schema, name) in [("NewPost", "tag"), ("NewPost", "topic"), ("PostRecord", "tag")] {
        assert_eq!(field(schema, name)["maxItems"], post::NAMES_MAX, "{schema}.{name}");
    }
    let file = &document["paths"]["/reports/{file}"]["get"]["parameters"][0]["schema"];
    assert_eq!(file["enum"], json!(tidings_report::Table::ALL.map(tidings_report::Table::file_name)));
}

#[test]
fn the_document_has_every_operation_with_its_path_and_no_other() {
    let document = document();
    let routes = crate::routes::all(&config::Config::default(), &Config::default());
    // None of the others is for those who call the API.
    let others = [PAGE, PAGE_FILES, account_page::FILES, websub::PATH, oidc::RETURN_PATH];
    let mut in_table = BTreeSet::new();
    for Route { spec, .. } in &routes {
        if others.contains(&spec.path) || (spec.path, spec.method) == (oidc::PATH, Method::Get) {
            continue;
        }
        let method = spec.method.name().to_lowercase();
        let operation = &document["paths"][spec.path][&method];
        assert!(operation["security"].is_array() || spec.access == Access::Open, "{}", spec.path);
        let parameters = operation["parameters"].as_array();
        let in_path = parameters.into_iter().flatten().filter(|parameter| parameter["in"] == "path");
        let names: Vec<_> = in_path.map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(names, spec.parameters().collect::<Vec<_>>(), "{}", spec.path);
        in_table.insert((spec.path.to_owned(), method));
    }
    let paths = document["paths"].as_object().unwrap().iter();
    let methods = |item: &Value| item.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let in_document =
        paths.flat_map(|(path, item)| methods(item).into_iter().map(|method| (path.clone(), method)));
    assert_eq!(in_document.collect::<BTreeSet<_>>(), in_table);
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn every_field_and_parameter_has_a_description_an_example_and_bounds() {
    let document = document();
    let mut missing = Vec::new();
    let mut check = |name: String, schema: &Value, description: &Value| {
        let is = |kind: &str| schema["type"] == kind || schema["type"][0] == kind;
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
        // A record, a list of records, or a record that may be null.
        let is_record =
            [schema, &schema["items"], &schema["oneOf"][0]].iter().any(|of| of.get("$ref").is_some());
        let is_bounded = if is("string") {
            has(&["maxLength", "pattern", "format", "enum", "const"])
        } else if is("integer") || is("number") {
            has(&["minimum", "exclusiveMinimum", "enum"])
        } else {
            is("array") || is("boolean") || is_record
        };
        let has_example = is_record || has(&["example", "examples", "const", "enum"]) || is("array");
        if !is_bounded || !has_example || description.as_str().is_none_or(str::is_empty) {
            missing.push(format!("{name}: {schema}"));
        }
    };
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        for (field, property) in parts.filter_map(|part| part["properties"].as_object()).flatten() {
            let of_branch = &property["oneOf"][0]["description"];
            check(format!("{name}.{field}"), property, property.get("description").unwrap_or(of_branch));
        }
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = format!("{path} {}", parameter["name"]);
                check(name, &parameter["schema"], &parameter["description"]);
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_failure_never_matches_the_schema_of_a_success() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let result = |schema: &Value| {
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        let mut results = parts.map(|part| part["properties"]["result"].clone());
        results.find(|result| !result.is_null())
    };
    for (name, schema) in schemas {
        let Some(result) = result(schema) else { continue };
        // A line of the access log has the result of another answer.
        if name == "LogLine" {
            continue;
        }
        let is_success = name == "Done" || name.starts_with("Success_");
        let texts = result["enum"].as_array().cloned().unwrap_or_else(|| vec![result["const"].clone()]);
        assert!(
            texts.iter().all(|text| text.is_string() && (text == "success") == is_success),
            "{name}: {result}"
        );
    }
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = document();
    let mut values = vec![&document];
    while let Some(value) = values.pop() {
        if let Some(reference) = value.get("$ref").and_then(|reference| reference.as_str()) {
            let target = document.pointer(reference.strip_prefix('#').unwrap());
            assert!(target.is_some(), "{reference}");
        }
        let description = value.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        assert!(!description.contains("[`"), "a link of the library's documentation: {description}");
        values.extend(value.as_object().into_iter().flat_map(|object| object.values()));
        values.extend(value.as_array().into_iter().flatten());
    }
}

#[tokio::test]
async fn the_page_and_its_files_are_part_of_the_binary() {
    let service = service();
    let way = service.get("/docs").await;
    assert_eq!((way.status().as_u16(), header(&way, "location")), (308, "docs/"));
    for (file, media_type) in [("", "html"), ("start.js", "javascript"), ("scalar.js", "javascript")] {
        let answer = service.get(&format!("/docs/{file}")).await;
        assert_eq!(header(&answer, "content-type"), format!("text/{media_type}; charset=utf-8"), "{file}");
    }
    for path in ["/docs/nothing.js", "/docs/..%2FCargo.toml", "/docs/%2Fetc%2Fpasswd", "/docs/%00"] {
        assert_eq!(service.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn the_page_lists_every_operation_without_a_blocking_script() {
    let page = service().get("/docs/").await;
    let html = str::from_utf8(page.body()).unwrap();
    let document = document();
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let summary = operation["summary"].as_str().unwrap();
            let line = format!("<li><code>{} {path}</code> {summary}</li>", method.to_uppercase());
            assert_eq!(html.matches(&line).count(), 1, "{line}");
            operations += 1;
        }
    }
    assert_eq!(html.matches("<li>").count(), operations);
    let scripts: Vec<_> = html.split("<script ").skip(1).collect();
    assert!(scripts.len() == 1 && scripts[0].starts_with("src=\"start.js\" defer>"), "{scripts:?}");
    for part in ["<html lang=\"en\">", "<title>", "<meta name=\"description\"", "<main>", "<noscript>"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.len() < 40_000, "{}", html.len());
}

#[tokio::test]
async fn the_document_and_the_page_can_be_disabled() {
    let (service, config) = (service(), Config { no_docs: true, ..Config::default() });
    for (path, status) in
        [("/openapi.json", 404), ("/docs", 404), ("/docs/", 404), ("/docs/index.html", 404), ("/readyz", 200)]
    {
        assert_eq!(service.answer(&config, request("GET", path)).await.status(), status, "{path}");
    }
}

#[test]
fn every_example_of_a_response_matches_its_schema() {
    let document = document();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    let own = operations.flat_map(|operation| operation["responses"].as_object().unwrap().values());
    let shared = document["components"]["responses"].as_object().unwrap().values();
    let mut examples = 0;
    for response in own.chain(shared) {
        for content in response["content"].as_object().into_iter().flat_map(|content| content.values()) {
            let schema = json!({ "allOf": [content["schema"]], "components": document["components"] });
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            let named = content["examples"].as_object().into_iter().flat_map(|all| all.values());
            for example in named.map(|example| &example["value"]).chain(content.get("example")) {
                let faults: Vec<String> = validator.iter_errors(example).map(|e| e.to_string()).collect();
                assert!(faults.is_empty(), "{example}: {faults:?}");
                examples += 1;
            }
        }
    }
    assert!(examples > 40, "{examples}");
}

#[test]
fn insertions_require_fields_and_changes_at_least_one() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (path, new, changed, required) in [
        ("/insert_notice", "NewNoticeFields", "NoticeFields", ["title", "post"]),
        ("/insert_post", "NewPostFields", "PostFields", ["title", "url"]),
    ] {
        let body = &document["paths"][path]["post"]["requestBody"]["content"];
        for content in body.as_object().unwrap().values() {
            assert_eq!(content["schema"]["$ref"], format!("#/components/schemas/{new}"));
        }
        assert_eq!(schemas[new]["required"], json!(required));
        assert!(required.iter().all(|name| schemas[new]["properties"][name]["type"] == "string"), "{new}");
        let changed = &schemas[changed];
        assert_eq!((&changed["required"], &changed["minProperties"]), (&Value::Null, &json!(1)));
    }
}

#[test]
fn the_document_says_who_may_call_an_operation() {
    let document = document();
    for (method, path, callers, is_optional) in [
        ("get", "/check_admin", "For administrators.", false),
        ("post", "/insert_notice", "For administrators.", false),
        ("get", "/get_userinfo", "For members.", false),
        (
            "get",
            "/get_log_user/{user_id}/{limit}",
            "administrators, and for members about themselves.",
            false,
        ),
        ("get", "/get_categories", "No token needed.", false),
        ("get", "/get_popularity_newsfeed", "No token needed; an invalid token is ignored.", true),
    ] {
        let operation = &document["paths"][path][method];
        assert!(operation["description"].as_str().unwrap().ends_with(callers), "{path}");
        let has_none = operation["security"].as_array().is_some_and(|either| either.contains(&json!({})));
        assert_eq!(has_none, is_optional, "{path}");
    }
}
