use serde::de::DeserializeOwned;

use super::*;

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
struct Fields {
    title: Option<String>,
    activation: Option<i64>,
    tag: Option<Vec<String>>,
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn query<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    Given::of(query, None).read()
}

fn of<T: DeserializeOwned>(content_type: Option<&HeaderValue>, body: &[u8]) -> Result<T, Refusal> {
    let format = Format::of(content_type, body)?;
    Ok(Given::of("", Some((format, Bytes::copy_from_slice(body)))).read()?)
}

fn read(content_type: &str, body: impl AsRef<[u8]>) -> Result<Fields, String> {
    let content_type = HeaderValue::from_str(content_type).unwrap();
    of(Some(&content_type), body.as_ref()).map_err(|e| e.result().to_owned())
}

fn fields(title: &str, activation: i64, tag: &[&str]) -> Fields {
    let tag = tag.iter().map(ToString::to_string).collect();
    Fields { title: Some(title.into()), activation: Some(activation), tag: Some(tag) }
}

#[test]
fn a_form_and_json_give_the_same_fields() {
    let expected = fields("A & B: 대학", 0, &["x", "y z"]);
    let json = r#"{"title": "A & B: 대학", "activation": 0, "tag": ["x", "y z"], "more": {"a": [1]}}"#;
    assert_eq!(read(JSON, json).unwrap(), expected);
    let title = "title=A+%26+B%3A+%EB%8C%80%ED%95%99&activation=0&more[a]=1&flag";
    for tags in ["tag=x&tag=y+z", "tag=x%2C+y+z,", "tag=,x,y%20z"] {
        assert_eq!(read(FORM, format!("{title}&{tags}")).unwrap(), expected, "{tags}");
    }
    assert_eq!(read(FORM, format!("&{title}&&tag=x&tag=y z&")).unwrap(), expected);
}

#[test]
fn content_types_are_read_in_any_case_and_with_parameters() {
    let expected = fields("a", 1, &["x"]);
    let json = r#"{"title":"a","activation":1,"tag":["x"]}"#;
    let form = "title=a&activation=1&tag=x";
    for (content_type, body) in [
        ("Application/JSON", json),
        ("application/json; charset=utf-8", json),
        ("application/json ;x", json),
        ("application/x-www-form-urlencoded; charset=UTF-8", form),
        ("APPLICATION/X-WWW-FORM-URLENCODED;charset=utf-8", form),
    ] {
        assert_eq!(read(content_type, body).unwrap(), expected, "{content_type}");
    }
    assert_eq!(of::<Fields>(None, format!(" {json}").as_bytes()).unwrap(), expected);
    for other in ["text/plain", "multipart/form-data; boundary=x", "", "application/jsonx", "json", "*/*"] {
        assert_eq!(read(other, json).unwrap_err(), "unsupported media type", "{other}");
    }
    assert!(matches!(of::<Fields>(None, form.as_bytes()), Err(Refusal::UnsupportedMediaType)));
}

#[test]
fn an_empty_body_has_no_fields_and_null_is_missing() {
    for (content_type, body) in [(JSON, ""), (FORM, ""), ("text/plain", ""), (JSON, "{}"), (FORM, "&")] {
        assert_eq!(read(content_type, body).unwrap(), Fields::default(), "{content_type} {body}");
    }
    assert_eq!(read(JSON, r#"{"title":null,"activation":null,"tag":null}"#).unwrap(), Fields::default());
}

#[test]
fn a_malformed_body_is_refused() {
    assert_eq!(read(JSON, b"{\"title\":\"\xff\"}").unwrap_err(), "bad request");
    for number in ["", "one", "1.5", "0x1", " 0"] {
        assert_eq!(read(FORM, format!("activation={number}")).unwrap_err(), "bad request", "{number}");
    }
    for body in [&b"title=%ff"[..], b"%ff=1", b"title=\xff"] {
        assert_eq!(read(FORM, body).unwrap_err(), "bad request", "{}", body.escape_ascii());
    }
}

#[test]
fn a_percent_sign_without_an_escape_is_literal_and_the_last_value_of_a_field_counts() {
    assert_eq!(read(FORM, "title=100%&activation=1").unwrap().title.as_deref(), Some("100%"));
    assert_eq!(read(FORM, "title=a&title=a%00b=c").unwrap().title.as_deref(), Some("a\0b=c"));
    assert_eq!(read(JSON, r#"{"title":"a","title":"b"}"#).unwrap().title.as_deref(), Some("b"));
    assert_eq!(query::<Fields>("title=%F0%9F%A6%80").unwrap().title.as_deref(), Some("🦀"));
    assert_eq!(query::<Fields>("").unwrap(), Fields::default());
}

fn through_a_map(body: &str) -> Option<Fields> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(body).ok()?;
    serde_json::from_value(object.into()).ok()
}

#[test]
fn a_field_is_read_or_refused_as_through_a_map_of_values() {
    let deep = |depth: usize| format!(r#"{{"more":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let bodies = [
        r#"{"title":1,"title":"b"}"#,
        r#"{"title":"b","title":null}"#,
        r#"{"title":"\ud800","title":"b"}"#,
        r#"{"\u0074itle":"escaped","activation":-1}"#,
        r#"{"more":99999999999999999999,"activation":9223372036854775807}"#,
        r#"{"activation":9223372036854775808}"#,
        r#"{"activation":-0}"#,
        r#"{"more":{"\ud800":1}}"#,
        r#"{"\ud800":1}"#,
        r#"{"tag":["a",null]}"#,
        r#"{"tag":{"0":"a"}}"#,
        r#"{"title":"a",}"#,
    ];
    let deep = [1, 126, 127, 128, 129, 100_000].map(deep);
    for body in bodies.into_iter().chain(deep.iter().map(String::as_str)) {
        let expected = through_a_map(body).ok_or_else(|| "bad request".to_owned());
        assert_eq!(read(JSON, body), expected, "{body:.60}");
    }
}

proptest::proptest! {
    #[test]
    fn any_body_is_read_as_through_a_map_of_values(
        parts in proptest::collection::vec(
            proptest::sample::select(&[
                "{", "}", "[", "]", ",", ":", "\"title\"", "\"activation\"", "\"tag\"", "\"more\"", "1", "null",
                "\"x\"", "-1e5", "true", " ", "\"\\n\"", "{\"title\":", "\"tag\":[\"x\"]", "\"\\ud800\"", "1e999", "1.5",
            ]),
            0..12,
        )
    ) {
        let body = parts.concat();
        if !body.is_empty() {
            proptest::prop_assert_eq!(read(JSON, &body).ok(), through_a_map(&body));
        }
    }
}

#[test]
fn the_field_at_fault_is_named() {
    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only reading it matters")]
    struct Required {
        search: String,
        num: Option<i64>,
    }
    let fault = |content_type, body: &str| {
        let read = of::<Required>(Some(&HeaderValue::from_static(content_type)), body.as_bytes());
        let Err(crate::filter::reply::Refusal::Operation(error)) = read else { panic!("{body}") };
        let problem = error.problem();
        (problem.code.as_str(), problem.field.unwrap_or_default())
    };
    for (content_type, body, expected) in [
        (JSON, "{}", ("missing_value", "search")),
        (JSON, r#"{"search":null}"#, ("missing_value", "search")),
        (JSON, r#"{"search":7}"#, ("invalid_value", "search")),
        (JSON, r#"{"search":"a","num":"7"}"#, ("invalid_value", "num")),
        (JSON, r#"{"search":"a","num":1.5}"#, ("invalid_value", "num")),
        (JSON, "[]", ("malformed_body", "")),
        (JSON, r#"{"search":"a""#, ("malformed_body", "")),
        (FORM, "a=b", ("missing_value", "search")),
        (FORM, "search=a&num=b", ("invalid_value", "num")),
        (FORM, "search=%ff", ("malformed_body", "")),
    ] {
        assert_eq!(fault(content_type, body), expected, "{body}");
    }
}

#[test]
fn a_parameter_that_is_not_utf_8_is_refused_only_if_the_operation_reads_it() {
    #[derive(Debug, serde::Deserialize)]
    struct Parameters {
        limit: Option<i64>,
    }
    assert_eq!(query::<Parameters>("limit=7&source=%E9").unwrap().limit, Some(7));
    let refused = query::<Parameters>("limit=%E9").unwrap_err().problem();
    assert_eq!((refused.code.as_str(), refused.field), ("malformed_request", None));
}
