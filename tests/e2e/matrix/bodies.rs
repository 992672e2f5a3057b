//! Calls every operation that takes a body with all kinds of bad bodies.

use serde_json::{Value, json};
use tidings_tests::{Caller, OPERATIONS, Operation};

use super::{Fixture, Table, invalidates_the_token, outcome, with_field};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
/// One byte more than the limit of a body.
const BODY_TOO_LARGE: usize = 1024 * 1024 + 1;
/// One byte more than the limit of an import.
const IMPORT_TOO_LARGE: usize = 64 * 1024 * 1024 + 1;

struct Body {
    case: String,
    content_type: &'static str,
    bytes: Vec<u8>,
    chunked: bool,
}

impl Body {
    fn new(case: &str, content_type: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { case: case.into(), content_type, bytes: bytes.into(), chunked: false }
    }

    fn json(case: impl Into<String>, body: &Value) -> Self {
        Self { case: case.into(), content_type: JSON, bytes: body.to_string().into(), chunked: false }
    }
}

fn broken_bodies(operation: &Operation, good: impl Fn() -> Value) -> Vec<Body> {
    let text = good().to_string();
    let deep = format!("{{\"deep\": {}{}, {}", "[".repeat(100_000), "]".repeat(100_000), &text[1..]);
    let invalid = text.replacen("\": \"", "\": \"\u{1}", 1).replacen("\":\"", "\":\"\u{1}", 1);
    let invalid: Vec<u8> = invalid.bytes().map(|b| if b == 1 { 0xff } else { b }).collect();
    let form = form(&good());
    let too_large = if operation.is_import() { IMPORT_TOO_LARGE } else { BODY_TOO_LARGE };
    let mut large = text.clone().into_bytes();
    large.resize(too_large, b' ');
    let mut bodies = vec![
        Body::new("no fields", JSON, "{}"),
        Body::new("broken JSON", JSON, &text.as_bytes()[..text.len() / 2]),
        Body::new("no object", JSON, "[1]"),
        Body::new("no object", JSON, "\"text\""),
        Body::new("no object", JSON, "null"),
        Body::new("broken JSON", JSON, format!("{text}x")),
        Body::new("invalid UTF-8", JSON, invalid),
        Body::new("invalid UTF-8", JSON, text.replacen(":\"", ":\"\\ud800", 1)),
        Body::new("deep JSON", JSON, deep),
        Body::new("invalid UTF-8", FORM, form.replacen('=', "=%ff", 1)),
        Body::new("no fields", FORM, "&=&"),
        Body::new("another type", "application/xml", "<title>x</title>"),
        Body::new("another type", "multipart/form-data; boundary=x", "--x--"),
        Body::new("too large", JSON, large.clone()),
        Body { chunked: true, ..Body::new("too large", JSON, large) },
        Body { chunked: true, ..Body::new("no body", JSON, "") },
    ];
    // Without a text, there is nothing to replace.
    bodies.retain(|body| body.case != "invalid UTF-8" || body.bytes != text.as_bytes());
    bodies.push(Body::json(
        "unknown fields",
        &with_field(&good(), "more", json!({ "deep": [{ "title": 7 }], "한글": null })),
    ));
    bodies
}

fn bodies_with_one_invalid_field(good: impl Fn() -> Value) -> Vec<Body> {
    let mut bodies = Vec::new();
    for (name, value) in good().as_object().unwrap() {
        let mut add = |case: &str, value: Value| {
            bodies.push(Body::json(format!("{name} {case}"), &with_field(&good(), name, value)));
        };
        let types =
            [json!(true), json!(7), json!("7"), json!(["x"]), json!({ "x": 1 }), json!([7]), json!([["x"]])];
        for wrong in types.into_iter().filter(|wrong| !is_of_its_type(value, wrong)) {
            add("of another type", wrong);
        }
        add("null", json!(null));
        match value {
            Value::String(text) => {
                add("empty", json!(""));
                add("with control characters", json!(format!("{text}\0")));
                add("with control characters", json!(format!("{text}\u{1b}[1m")));
                add("beyond ASCII", json!(format!("{text}대학")));
                add("beyond ASCII", json!(format!("{text}🦀")));
                add("overlong", json!(format!("{text}{}", "a".repeat(200_000))));
            }
            Value::Array(_) => {
                add("with control characters", json!(["a\0"]));
                add("beyond ASCII", json!(["대학 🦀"]));
                add("overlong", json!(vec!["a".repeat(200_000)]));
                add("overlong", json!((0..60).map(|n| n.to_string()).collect::<Vec<_>>()));
            }
            Value::Number(_) => {
                for wrong in [json!(-1), json!(2), json!(0.5), json!(i64::MIN), json!(u64::MAX), json!(1e300)]
                {
                    add("out of range", wrong);
                }
            }
            Value::Object(_) => {
                add("empty", json!({}));
                for wrong in [json!({ "other": 1 }), json!({ "topic": "1" }), json!({ "topic": -1 })] {
                    add("with an invalid entry", wrong);
                }
            }
            _ => unreachable!("the table has only texts, numbers, lists and objects"),
        }
    }
    bodies
}

fn is_of_its_type(good: &Value, other: &Value) -> bool {
    match (good, other) {
        (Value::Array(_), Value::Array(list)) => list.iter().all(Value::is_string),
        _ => std::mem::discriminant(good) == std::mem::discriminant(other),
    }
}

fn form(good: &Value) -> String {
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    good.as_object().unwrap().iter().map(pair).collect::<Vec<_>>().join("&")
}

#[test]
fn every_body_gets_its_documented_answer_and_nothing_breaks() {
    let fixture = Fixture::new();
    let mut caller = fixture.administrator();
    let mut table = Table::default();
    for operation in OPERATIONS.iter().filter(|operation| !operation.body.is_empty()) {
        let mut answers = Vec::new();
        let mut ask = |caller: &mut Caller, body: Option<Body>| {
            let path = operation.path_with(|name| fixture.value(name));
            let mut request = caller.request(operation.method, &path);
            let mut case = "no body".to_owned();
            if let Some(body) = body {
                request = request.body(body.content_type, body.bytes);
                request = if body.chunked { request.chunked() } else { request };
                case = body.case;
            }
            let answer = request.send();
            answers.push((case.clone(), outcome(operation, &case, &answer)));
            if invalidates_the_token(operation) && answer.result() == "success" {
                *caller = fixture.administrator();
            }
        };
        // Each body is different, so that inserted posts have different urls.
        let good = || operation.body_with(fixture.number()).unwrap();
        ask(&mut caller, None);
        for body in broken_bodies(operation, good).into_iter().chain(bodies_with_one_invalid_field(good)) {
            ask(&mut caller, Some(body));
        }
        table.add(&operation.name(), answers);
    }
    table.compare("bodies");
    fixture.check();
}
