//! The fields of the report of a period.

use serde_json::{Value, json};

use super::{count, id, line};

/// Returns what is known of a field of an answer.
pub(super) fn of_field(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("PeriodReport", "from" | "to") | ("PostFigures", "date") => day(),
        ("PeriodReport", "zone") => line(100, "Asia/Seoul"),
        ("PeriodReport", "is_final") => json!({ "examples": [true] }),
        ("PeriodReport", "days") => json!({ "minItems": 1, "maxItems": 366 }),
        ("PeriodReport", "weekdays") => json!({ "minItems": 7, "maxItems": 7 }),
        ("PeriodReport", "terms" | "topics" | "posts") => json!({ "maxItems": 10 }),
        ("WeekdayHours", "weekday") => json!({
            "enum": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
            "examples": ["Monday"],
        }),
        ("WeekdayHours", "hours") => {
            json!({ "minItems": 24, "maxItems": 24, "items": { "type": "integer", "minimum": 0 } })
        }
        ("TermCount", "term") => line(200, "eclipse"),
        ("TopicFigures", "topic") => line(2_000, "science"),
        ("PostFigures", "_id") => id("6b0039acd7c34f1e5b2e91a7"),
        ("PostFigures", "title") => line(300, "An eclipse over the lake"),
        ("PostFigures", "url") => line(super::ADDRESS_MAX, "https://news.example.org/eclipse"),
        ("PeriodReport", "post_count")
        | ("WeekdayHours" | "TermCount" | "TopicFigures" | "PostFigures", _) => count(42),
        ("Home", "reports") => line(20, "reports"),
        _ => return None,
    })
}

/// Returns what is known of a parameter of an operation.
pub(super) fn of_parameter(operation: &str, name: &str) -> Option<Value> {
    Some(match (operation, name) {
        ("get_report" | "reports" | "reports_file", "from" | "to") => {
            json!({ "maxLength": 100, "examples": ["2026-11-20"] })
        }
        ("reports_file", "file") => {
            let files = tidings_report::Table::ALL.map(tidings_report::Table::file_name);
            json!({ "enum": files, "examples": ["days.csv"] })
        }
        _ => return None,
    })
}

fn day() -> Value {
    json!({ "format": "date", "examples": ["2026-11-20"] })
}
