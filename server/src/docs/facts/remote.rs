//! The fields of members, reports, the state of the service and the weights of the feed, as administrators see them.

use serde_json::{Value, json};

use super::{GIVEN_MAX, NAME_MAX, count, example, line, moment, number, switch};

/// Returns what is known of a field of a request or an answer.
pub(super) fn of_field(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("MemberEntry" | "Administrator", "nickname") => line(NAME_MAX, "Ann"),
        ("MemberEntry", "user_name") | ("RosterMember", "name") => line(128, "Ann Lee"),
        ("MemberEntry", "user_major") | ("RosterMember", "major") => line(128, "Physics"),
        ("MemberEntry", "admin" | "blacklisted") => switch(0),
        ("RosterMember", "id") => line(128, "s2026001"),
        ("Members" | "RosterPage", "next") => line(NAME_MAX, "ann"),
        ("MemberLineFields", "nickname") => example("Ann"),
        ("MemberLineFields", "name") => line(100, "Ann Lee"),
        ("MemberLineFields", "major") => line(100, "Physics"),
        ("MemberLineFields", "password_hash") => line(1_000, "scrypt:32768:8:1$aGVsbG8$00ff"),
        ("MemberLineFields" | "ActLineFields", "date") => line(100, "2026-11-20T08:36:00Z"),
        ("ActLineFields", "id") => line(1_000, "ann"),
        ("ActLineFields", "type") => {
            json!({ "enum": ["view", "like", "search", "newsfeed"], "examples": ["like"] })
        }
        ("ActLineFields", "url") => line(2_000, "https://news.example.org/eclipse"),
        ("ActLineFields", "search") => line(200, "eclipse"),
        ("ActLineFields", "newsfeed_name") => line(100, "science"),
        ("FeedbackPage", "next") => {
            json!({ "pattern": "^[0-9a-f]{24}$", "examples": ["6560c1a2ffeeddccbbaa0001"] })
        }
        ("FoundId", "title") => line(80, "Closed on Friday"),
        ("FoundIds", "ids") => json!({ "maxItems": 20 }),
        ("LogLine", "result") => line(200, "success"),
        ("LogLines", "next") | ("LogLine", "place") => place(),
        ("LogLines", "looked_to") | ("Status", "now") | ("Learned", "at") => moment(),
        ("DayFigures" | "DayVisitors", "date") => day(),
        ("DayFigures" | "DayVisitors" | "Sums" | "Changes", _)
        | ("Live", "member_visitor")
        | ("Status", "crawled" | "database_bytes" | "wal_bytes" | "writes_waiting")
        | ("Learned", "visits" | "members") => count(42),
        ("Live", "hour") => number(0, 23, 14),
        ("Live", "hours" | "hours_yesterday") | ("Period", "hours") => {
            json!({ "minItems": 24, "maxItems": 24, "items": { "type": "integer", "minimum": 0 } })
        }
        ("Status", "version") => line(50, "0.1.0"),
        ("Status", "zone") => line(100, "Asia/Seoul"),
        ("FeedWeights", "in_use") => {
            json!({ "enum": ["pinned", "learned", "settings"], "examples": ["settings"] })
        }
        ("SignalWeights", _) => json!({ "minimum": 0, "maximum": 1_000, "examples": [0.5] }),
        ("Learned", "ndcg10" | "ndcg10_of_settings" | "ndcg10_error") => {
            json!({ "minimum": 0, "maximum": 1, "examples": [0.25] })
        }
        ("Learned", "is_better") => json!({ "examples": [true] }),
        _ => return None,
    })
}

/// Returns what is known of a parameter of an operation.
pub(super) fn of_parameter(operation: &str, name: &str) -> Option<Value> {
    Some(match (operation, name) {
        ("get_log", "before") => place(),
        ("get_log", "member") => json!({ "maxLength": 1_000, "examples": ["ann"] }),
        ("get_log", "result") => line(GIVEN_MAX, "incorrect_pw"),
        ("get_log", "status") => json!({ "pattern": "^([1-5][0-9]{2}|[1-5](xx|XX))$", "examples": ["4xx"] }),
        ("get_log", "path") => line(GIVEN_MAX, "/sign_in"),
        ("get_log", "since" | "until") => json!({ "maxLength": 100, "examples": ["2026-11-20T00:00:00Z"] }),
        ("get_members", "only") => json!({ "enum": ["admins", "blacklisted"], "examples": ["admins"] }),
        ("get_members", "search") => line(GIVEN_MAX, "kim"),
        ("get_members" | "get_roster", "after") => line(GIVEN_MAX, "ann"),
        ("get_feedback", "after") => json!({ "maxLength": 100, "examples": ["6560c1a2ffeeddccbbaa0001"] }),
        ("get_feedback", "all") => switch(1),
        ("get_members" | "get_roster" | "get_feedback" | "get_posts" | "get_log", "limit") => {
            number(1, 1_000, 100)
        }
        ("get_posts", "next") => {
            json!({ "maxLength": 100, "examples": ["1795163760000.6b0039acd7c34f1e5b2e91a7"] })
        }
        ("get_analysis_of_days", "first" | "last") => day(),
        ("find_ids", "kind") => json!({ "enum": ["post", "notice", "feedback"], "examples": ["post"] }),
        ("find_ids", "prefix") => json!({ "pattern": "^[0-9a-fA-F]{4,24}$", "examples": ["6560c1"] }),
        _ => return None,
    })
}

/// A position in the access log.
fn place() -> Value {
    json!({ "pattern": "^[0-9]{1,15}-[0-9]{1,5}$", "examples": ["1795163760000-2"] })
}

fn day() -> Value {
    json!({ "format": "date", "examples": ["2026-11-20"] })
}
