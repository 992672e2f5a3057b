//! Schemas of fields and answers, completed with what follows from their types.

use serde_json::{Map, Value, json};
use utoipa::openapi::schema::Object;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

type Plain = (String, Map<String, Value>);

pub(super) type Named = (String, RefOr<Schema>);

/// The answer of a successful operation that has only its result.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it is never constructed: the server sends the answers of the core")]
pub(super) struct Done {
    /// `success`.
    result: String,
}

pub(super) fn of<T: ToSchema>() -> (Named, Vec<Named>) {
    let mut others = Vec::new();
    T::schemas(&mut others);
    let (plain, mut others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, schema)| is_plain(schema));
    let plain: Vec<Plain> = plain.iter().map(|(name, schema)| (name.clone(), json(schema))).collect();
    let mut own = <T as PartialSchema>::schema();
    complete(&mut own, &plain);
    for (_, schema) in &mut others {
        complete(schema, &plain);
    }
    ((T::name().into_owned(), own), others)
}

/// A plain schema is inlined where others refer to it: a text, a number or a list, without a description.
fn is_plain(schema: &RefOr<Schema>) -> bool {
    match schema {
        RefOr::T(Schema::Object(object)) => object.properties.is_empty() && object.description.is_none(),
        RefOr::T(Schema::Array(_)) => true,
        _ => false,
    }
}

fn is_record(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if !object.properties.is_empty())
}

fn json(schema: &RefOr<Schema>) -> Map<String, Value> {
    match serde_json::to_value(schema) {
        Ok(Value::Object(keywords)) => keywords,
        other => panic!("a schema is an object: {other:?}"),
    }
}

/// An integer without bounds is a count, another number a share of 1.
fn complete(schema: &mut RefOr<Schema>, plain: &[Plain]) {
    match schema {
        RefOr::T(Schema::Object(object)) if !object.properties.is_empty() => {
            object.properties.values_mut().for_each(|field| complete(field, plain));
        }
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(|part| complete(part, plain)),
        RefOr::T(Schema::OneOf(one)) if one.items.iter().all(is_record) => {
            one.items.iter_mut().for_each(|part| complete(part, plain));
        }
        schema => {
            let mut keywords = Value::Object(json(schema));
            complete_keywords(&mut keywords, plain);
            *schema = serde_json::from_value(keywords).expect("keywords of JSON Schema make a schema");
        }
    }
}

fn complete_keywords(schema: &mut Value, plain: &[Plain]) {
    let named = |reference: &Value| {
        let name = reference["$ref"].as_str()?.rsplit('/').next()?;
        plain.iter().find(|(other, _)| other == name).map(|(_, schema)| schema.clone())
    };
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(|part| complete_keywords(part, plain)),
        Value::Object(_) => {
            let found = named(schema).or_else(|| {
                let (other, null) = (&schema["oneOf"][0], &schema["oneOf"][1]);
                let mut found = named(other).filter(|_| null["type"] == "null")?;
                found.extend(other.get("description").map(|text| ("description".to_owned(), text.clone())));
                found["type"] = json!([found["type"], "null"]);
                if let Some(Value::Array(values)) = found.get_mut("enum") {
                    values.push(Value::Null);
                }
                Some(found)
            });
            let keywords = schema.as_object_mut().expect("it is one");
            if let Some(found) = found {
                keywords.remove("$ref");
                keywords.remove("oneOf");
                found.into_iter().for_each(|(keyword, value)| _ = keywords.entry(keyword).or_insert(value));
            }
            let is = |keywords: &Map<_, _>, name| {
                keywords.get("type").is_some_and(|kind: &Value| kind == name || kind[0] == name)
            };
            if is(keywords, "integer") && !keywords.contains_key("enum") {
                let minimum = keywords.entry("minimum").or_insert(0.into()).clone();
                if minimum == 0 && !keywords.contains_key("maximum") {
                    keywords.entry("examples").or_insert(json!([7]));
                }
            } else if is(keywords, "number") && !keywords.contains_key("examples") {
                keywords.extend([("minimum".into(), 0.into()), ("maximum".into(), 1.into())]);
                keywords.insert("examples".into(), json!([0.1]));
            }
            keywords.values_mut().for_each(|part| complete_keywords(part, plain));
        }
        _ => {}
    }
}

pub(super) fn objects(schema: &mut RefOr<Schema>) -> Vec<&mut Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => vec![object],
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().flat_map(objects).collect(),
        _ => Vec::new(),
    }
}
