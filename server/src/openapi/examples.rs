//! Examples of successes, composed of the examples of their fields.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa::openapi::example::ExampleBuilder;

use super::{CONST, answer_of, operations};

/// Sorted before the codes of failures.
const SUCCESS: &str = "Success";

/// For answers that have examples of failures, so that these are not taken for the answer.
pub(super) fn write_successes(document: &mut OpenApi) {
    let components = serde_json::to_value(&document.components).expect("the document is JSON");
    for operation in operations(document) {
        let Some(content) = answer_of(operation).filter(|content| !content.examples.is_empty()) else {
            continue;
        };
        let schema = serde_json::to_value(&content.schema).expect("the document is JSON");
        let example = ExampleBuilder::new().value(Some(example(&schema, &components))).build();
        content.examples.insert(SUCCESS.into(), example.into());
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
