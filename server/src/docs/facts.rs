//! Bounds, formats and examples of fields and parameters in the OpenAPI document, by their names: a name means the same in
//! all answers and paths.
//!
//! Limits that are settings come from descriptions: see [`super::limits`].

use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::schema::{Components, Object};
use utoipa::openapi::{RefOr, Schema};

mod administration;
mod remote;
mod report;
mod webhooks;

/// The greatest value of the settings `id-max`, `pw-max` and `nickname-max`. Answers may have longer names than the settings now
/// allow.
const NAME_MAX: usize = 1_000_000;
/// A text in a path or a query is shorter than a head, beyond which no request is read.
const GIVEN_MAX: usize = crate::connection::bounds::HEAD_MAX;
/// The longest address of a post or an image.
const ADDRESS_MAX: usize = tidings_core::post::URL_MAX;

/// Returns what is known of a field of a schema: keywords of JSON Schema.
fn fact(schema: &str, field: &str) -> Option<Value> {
    let of_field = [administration::of_field, remote::of_field, report::of_field, webhooks::of_field];
    if let Some(fact) = of_field.into_iter().find_map(|of_field| of_field(schema, field)) {
        return Some(fact);
    }
    if schema.ends_with("Fields") {
        return of_request(schema, field);
    }
    of_notice(schema, field).or_else(|| of_json_feed(schema, field)).or_else(|| of_answer(schema, field))
}

/// Returns what is known of a field of a request, besides the bounds in its description.
fn of_request(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("PostFields", "date") | (_, "visible_from") => line(100, "2026-11-20T08:36:00Z"),
        ("PostFields", "end_date") | (_, "visible_until") => line(100, "2026-12-24T00:00:00Z"),
        ("PostFields", "img") => line(ADDRESS_MAX, "https://news.example.org/lake.jpg"),
        ("PostLineFields", "_id") => {
            json!({ "pattern": "^[0-9a-fA-F]{24}$", "examples": ["6b0039acd7c34f1e5b2e91a7"] })
        }
        ("PostLineFields", "view" | "fav_cnt") => number(0, 1 << 53, 7),
        ("SignInFields", "id") => line(NAME_MAX, "ann"),
        ("SignInFields" | "NewPasswordFields", "pw") => line(NAME_MAX, "a long sentence"),
        ("NoticeFields" | "NoticeDraftFields", "title") => example("Closed on Monday"),
        ("NoticeFields" | "NoticeDraftFields", "post") => example("The library opens again on Tuesday."),
        ("NoticeFields" | "NoticeDraftFields", "topic") => line(100, "science"),
        ("NoticeDraftFields", "draft" | "notice") => id("6560c1a2ffeeddccbbaa0001"),
        ("FeedbackFields", "feedback" | "post") => line(5_000, "The search is fast."),
        (_, "pw_check" | "new_pw_check") => line(NAME_MAX, "another long sentence"),
        (_, "pw" | "new_pw") => example("another long sentence"),
        (_, "id") => example("ann"),
        (_, "new_nickname" | "nickname") => example("Ann"),
        (_, "new_info_1") => example("Welcome back"),
        (_, "new_info_2") => example("The library is open until 22:00"),
        (_, "type") => example("general"),
        (_, "topic") => example(json!(["science"])),
        (_, "tag") => example(json!(["nature", "weather"])),
        (_, "url") => example("https://news.example.org/eclipse"),
        (_, "title") => example("An eclipse over the lake"),
        (_, "post") => example("On Friday evening the moon covers the sun."),
        (_, "search") => example("eclipse"),
        (_, "activation" | "pinned" | "members_only") => json!({ "enum": [0, 1, null], "examples": [1] }),
        _ => return None,
    })
}

/// Returns what is known of a field of a notice or of a draft.
fn of_notice(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("Draft", "activation" | "pinned" | "members_only") => {
            json!({ "enum": [0, 1, null], "examples": [1] })
        }
        ("Draft", "visible_from" | "visible_until") => line(100, "2026-11-20T08:36:00Z"),
        ("DraftList", "drafts") => json!({ "maxItems": tidings_core::notice::DRAFTS_MAX }),
        ("Notice" | "Draft", "title") => line(200, "Closed on Monday"),
        ("Notice" | "Draft", "post") => line(20_000, "The library opens again on Tuesday."),
        ("Notice", "html") => line(1_000_000, "<p>The library opens again on <em>Tuesday</em>.</p>\n"),
        ("Placement", "pinned" | "members_only") => switch(1),
        ("Placement", "visible_from" | "visible_until") => moment(),
        ("Placement" | "Draft", "topic") => line(100, "science"),
        ("SavedDraft", "notice") => id("6560c1a2ffeeddccbbaa0001"),
        _ => return None,
    })
}

/// Returns what is known of a field of a JSON Feed.
fn of_json_feed(schema: &str, field: &str) -> Option<Value> {
    let address = |example| json!({ "format": "uri", "maxLength": 100_000, "examples": [example] });
    Some(match (schema, field) {
        ("JsonFeed", "version") => json!({ "enum": ["https://jsonfeed.org/version/1.1"] }),
        ("JsonFeed", "title") => line(3_000, "Popular posts"),
        ("JsonFeed", "feed_url" | "next_url") => {
            address("https://campus.example/get_popularity_newsfeed?format=json-feed")
        }
        ("JsonFeed", "authors") => json!({ "minItems": 1, "maxItems": 1 }),
        ("JsonFeed", "items") => json!({ "maxItems": 10_000 }),
        ("JsonFeedAuthor", "name") => line(1_000, "campus.example"),
        ("JsonFeedItem", "id") => line(100, "urn:uuid:6b0039ac-d7c3-4f1e-8b2e-91a700000000"),
        ("JsonFeedItem", "content_text") => line(100_000, "The library opens again on Tuesday."),
        ("JsonFeedItem", "summary") => line(100_000, "On Friday evening the moon covers the sun."),
        ("JsonFeedItem", "image") => line(ADDRESS_MAX, "https://news.example.org/lake.jpg"),
        ("JsonFeedItem", "date_published") => moment(),
        ("JsonFeedItem", "tags") => list(400, "nature"),
        _ => return None,
    })
}

/// Returns what is known of a field of an answer.
#[expect(clippy::match_same_arms, reason = "one line for each meaning")]
fn of_answer(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        // The post is a record.
        ("NewPost", "post") => return None,
        ("Day" | "TodayCounts" | "DayReads", "date") => {
            json!({ "format": "date", "examples": ["2026-11-20"] })
        }
        (_, "date" | "post_date" | "end_date" | "last_seen" | "last_used" | "expires") => moment(),
        ("Inserted" | "Post" | "PostDetail" | "PostHit" | "PostRecord", "_id") => {
            id("6b0039acd7c34f1e5b2e91a7")
        }
        (_, "_id") => id("6560c1a2ffeeddccbbaa0001"),
        (_, "access_token") => json!({
            "pattern": "^[\\w-]+\\.[\\w-]+\\.[\\w-]+$",
            "maxLength": 4_096,
            "examples": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.Zm9yIHRoZSBkb2N1bWVudA"],
        }),
        ("LogEntry", "path") => line(1_000, "/get_popularity_newsfeed"),
        ("LogEntry", "status") => number(100, 599, 200),
        ("Home", "name") => line(20, "tidings"),
        ("Home", "version") => line(50, "0.1.0"),
        ("Home", "docs") => line(20, "docs/"),
        ("Home", "openapi") => line(20, "openapi.json"),
        ("LineError", "line") => json!({ "minimum": 1, "examples": [7] }),
        ("LineError", "reason") => line(10_000, "url is missing"),
        ("PostRecord", "img") => switch(1),
        ("HourVisitors", "time") => number(0, 23, 14),
        ("HourVisitors", "visitor") => count(12),
        ("Feedback", "notice") => json!({ "pattern": "^([0-9a-f]{24})?$", "examples": [""] }),
        ("Feedback", "type") => line(50, "general"),
        ("Feedback" | "LogEntry" | "Blacklisted", "author" | "user_id") => line(NAME_MAX, "ann"),
        ("StudentVisits", "student_num") => line(128, "2026"),
        ("StudentVisits", "count") => count(3),
        ("UserInfo", "nickname" | "user_nickname") => line(NAME_MAX, "Ann"),
        ("UserInfo", "user_name") => line(NAME_MAX, "Ann Miller"),
        ("UserInfo", "user_major") => line(128, "Physics"),
        ("UserInfo", "admin") => switch(0),
        ("Domain", "title") => line(300, "news.example.org"),
        ("Domain", "post") => line(100_000, "7 posts, the best: An eclipse over the lake"),
        ("SearchRecord", "original") => line(200, "Big eclipse"),
        ("SearchRecord", "search_split") => list(200, "Big"),
        // 200 characters, one of which may stand for 18 (NFKC of U+FDFA).
        ("SearchRecord", "tokenizer_split") => list(200 * 18, "eclipse"),
        ("SearchRecord", "similarity_split") => list(1_000, "moon"),
        ("PostRecord", "token") => list(100_000, "eclipse"),
        ("Bursts", "search_bursts") => json!({ "maxItems": 10 }),
        ("SearchBurst", "term") => line(1_000, "eclipse"),
        ("SearchBurst", "count") => json!({ "minimum": 3, "examples": [20] }),
        ("SearchBurst", "usual") => json!({ "minimum": 0, "examples": [1.82] }),
        ("SearchBurst", "score") => json!({ "minimum": 2, "examples": [10.83] }),
        ("SnippetPart", "hit") => json!({ "examples": [true] }),
        ("SnippetPart", "text") => json!({ "minLength": 1, "maxLength": 202, "examples": ["eclipse"] }),
        ("Why", "text") => line(100, "because you liked “An eclipse over the lake”"),
        ("SignalShares", _) => json!({ "minimum": 0, "maximum": 1, "examples": [0.1] }),
        (_, "similarity") => json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1, "examples": [0.83] }),
        ("Category", "posts") => count(42),
        (_, "topic") => list(50, "science"),
        (_, "tag") => list(300, "nature"),
        (_, "newsfeed_name" | "category_name") => line(2_000, "science"),
        (_, "url") => {
            json!({ "format": "uri", "maxLength": ADDRESS_MAX, "examples": ["https://news.example.org/eclipse"] })
        }
        ("Post" | "PostDetail" | "PostHit", "img") => line(ADDRESS_MAX, "https://news.example.org/lake.jpg"),
        ("Feedback", "post") => line(5_000, "The search is fast."),
        (_, "title") => line(300, "An eclipse over the lake"),
        (_, "post") => line(100_000, "On Friday evening the moon covers the sun."),
        (_, "activation" | "auto_login" | "liked") => switch(1),
        (_, "next") => line(1_000, "AAAAAAAAAAEAAAAAAAAAlg"),
        (_, "user_id") => line(NAME_MAX, "ann"),
        // What remains are counts and lists of records.
        (
            _,
            "view"
            | "fav_cnt"
            | "inserted"
            | "updated"
            | "skipped"
            | "pc"
            | "tablet"
            | "mobile"
            | "communication_avg"
            | "day_avg_visitor"
            | "highest_day_visitor"
            | "posts_count"
            | "search_count"
            | "today_visitor"
            | "total_fav"
            | "total_view"
            | "total_visitor"
            | "today_fav"
            | "today_view"
            | "reads",
        ) => count(42),
        _ => return of_structure(schema, field),
    })
}

/// Returns the structure of a field of an answer whose type does not tell it.
fn of_structure(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("LogEntry", "method") => json!({
            "enum": ["GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "other"],
            "examples": ["GET"],
        }),
        ("MainInfo", "main_info") => json!({
            "minItems": 2,
            "maxItems": 2,
            "items": { "type": "string", "maxLength": 50 },
            "examples": [["Welcome back", "The library is open until 22:00"]],
        }),
        ("Realtime", "search_realtime") => json!({
            "maxItems": 10,
            "items": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": [{ "type": "string", "maxLength": 1_000 }, { "type": "integer", "minimum": 1 }],
                "items": false,
            },
            "examples": [[["eclipse", 12], ["library", 7]]],
        }),
        ("SimilarityWords", "similarity_word") => json!({
            "items": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "minProperties": 1,
                        "maxProperties": 1,
                        "additionalProperties": { "type": "number", "minimum": 0, "maximum": 1 },
                    },
                },
            },
            "examples": [[{ "eclipse": [{ "moon": 0.83 }, { "lunar": 0.79 }] }]],
        }),
        _ => return None,
    })
}

/// Returns what is known of a parameter.
fn of_parameter(name: &str) -> Option<Value> {
    Some(match name {
        "user_id" => json!({ "minLength": 1, "maxLength": 1_000, "examples": ["ann"] }),
        "notice_obi" | "feedback_obi" | "session_obi" | "draft_obi" | "delivery_obi" => {
            id("6560c1a2ffeeddccbbaa0001")
        }
        "key_obi" => json!({ "minLength": 1, "maxLength": 1_000, "examples": ["importer"] }),
        "webhook_obi" => json!({ "minLength": 1, "maxLength": 1_000, "examples": ["chat"] }),
        "before" => json!({ "minimum": 0, "examples": [7] }),
        "action" => json!({ "maxLength": 50, "examples": ["notice.insert"] }),
        "actor" | "subject" => line(GIVEN_MAX, "ann"),
        "head" => json!({
            "pattern": "^[0-9]{1,18}:[0-9a-fA-F]{64}$",
            "examples": [format!("0:{}", "0".repeat(64))],
        }),
        "post_obi" => id("6b0039acd7c34f1e5b2e91a7"),
        "device" => json!({
            "enum": ["pc", "tablet", "mobile", "device_pc", "device_tablet", "device_mobile"],
            "examples": ["mobile"],
        }),
        "category_name" | "newsfeed_name" => {
            json!({ "minLength": 1, "maxLength": GIVEN_MAX, "examples": ["science"] })
        }
        "auto_login" | "activation" | "liked" | "paged" | "snippets" | "why" | "html" => switch(1),
        "topic" => line(GIVEN_MAX, "science"),
        "type_num" => number(0, 4, 1),
        "year" => number(1, 9_999, 2026),
        "month" => number(1, 12, 11),
        "day" => number(1, 31, 20),
        "months" | "hours" => count(0),
        "days" => count(7),
        "limit" => json!({ "minimum": 0, "examples": [100] }),
        "num" => example(20),
        "next" => json!({ "minLength": 1, "maxLength": 1_000, "examples": ["AAAAAAAAAAEAAAAAAAAAlg"] }),
        "format" => json!({ "enum": ["json", "atom", "json-feed"] }),
        "events" => json!({
            "pattern": "^(notice|post|counts|changes)(,(notice|post|counts|changes))*$",
            "examples": ["notice,post"],
        }),
        "last_event_id" | "Last-Event-ID" => json!({ "maxLength": 100, "examples": ["118-42"] }),
        _ => return None,
    })
}

fn count(example: i64) -> Value {
    json!({ "minimum": 0, "examples": [example] })
}

fn line(max: usize, example: &str) -> Value {
    json!({ "maxLength": max, "examples": [example] })
}

fn list(max: usize, item: &str) -> Value {
    let item = json!({ "type": "string", "minLength": 1, "maxLength": 200, "examples": [item] });
    json!({ "maxItems": max, "items": item })
}

fn switch(example: i64) -> Value {
    json!({ "enum": [0, 1], "examples": [example] })
}

fn number(min: i64, max: i64, example: i64) -> Value {
    json!({ "minimum": min, "maximum": max, "examples": [example] })
}

fn moment() -> Value {
    json!({
        "format": "date-time",
        "pattern": "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
        "examples": ["2026-11-20T08:36:00.000Z"],
    })
}

fn example(example: impl Into<Value>) -> Value {
    json!({ "examples": [example.into()] })
}

fn id(example: &str) -> Value {
    json!({ "pattern": "^[0-9a-f]{24}$", "examples": [example] })
}

/// Writes what is known into the schemas.
pub(super) fn write_components(components: &mut Components) {
    for (name, schema) in &mut components.schemas {
        let name = name.strip_prefix("Success_").unwrap_or(name);
        for object in objects(schema) {
            for (field, schema) in &mut object.properties {
                if let Some(fact) = fact(name, field) {
                    merge(schema, fact);
                }
            }
        }
    }
}

/// Returns the objects that a schema consists of.
pub(super) fn objects(schema: &mut RefOr<Schema>) -> Vec<&mut Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => vec![object],
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().flat_map(objects).collect(),
        _ => Vec::new(),
    }
}

/// Writes what is known into the parameters of an operation.
pub(super) fn write_parameters(operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(Parameter { name, schema: Some(schema), .. }) = parameter else { continue };
        if let Some(fact) = remote::of_parameter(id, name)
            .or_else(|| report::of_parameter(id, name))
            .or_else(|| of_parameter(name))
        {
            merge(schema, fact);
        }
    }
}

/// Adds keywords to a schema; those that it has stay.
fn merge(schema: &mut RefOr<Schema>, fact: Value) {
    let mut merged = serde_json::to_value(&*schema).expect("a schema is JSON");
    let (Some(keywords), Value::Object(fact)) = (merged.as_object_mut(), fact) else { return };
    for (keyword, value) in fact {
        // The general schema of elements is replaced.
        if keyword == "items" || !keywords.contains_key(&keyword) {
            keywords.insert(keyword, value);
        }
    }
    *schema = serde_json::from_value(merged).expect("keywords of JSON Schema make a schema");
}
