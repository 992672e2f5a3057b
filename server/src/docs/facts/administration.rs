//! The fields of API keys, sessions, the second factor and the audit trail.

use serde_json::{Value, json};
use tidings_core::account::key::Scope;

use super::{NAME_MAX, count, line, moment, number, switch};

/// Returns what is known of a field of a request or an answer.
pub(super) fn of_field(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("SignInFields" | "EnableOtpFields" | "OtpFields", "otp") => line(1_000, "287082"),
        ("BeginOtpFields" | "EnrolmentCode", "enrolment_code") => line(1_000, "8k2m-0qwz-7hn4-c9xe"),
        ("KeyFields", "name") => json!({ "minLength": 1, "maxLength": 50, "examples": ["importer"] }),
        ("KeyFields", "scopes") => {
            json!({ "minItems": 1, "maxItems": 100, "items": scope(), "examples": [["posts:import"]] })
        }
        ("KeyFields", "expires") => line(100, "2036-11-20T00:00:00Z"),
        ("Session", "device") => line(100, "Firefox on Linux"),
        ("Session", "current") => switch(1),
        ("OtpStatus", "enabled") => switch(0),
        ("OtpStatus", "recovery_codes") => number(0, 10, 9),
        ("OtpSecret", "secret") => {
            json!({ "pattern": "^[A-Z2-7]{32}$", "examples": ["JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"] })
        }
        ("OtpSecret", "uri") => json!({
            "pattern": "^otpauth://totp/",
            "maxLength": 500,
            "examples": ["otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings"],
        }),
        ("BeginOtpFields" | "OtpFields", "pw") => line(1_000, "a long sentence"),
        ("RecoveryCodes", "recovery_codes") => json!({
            "maxItems": 10,
            "items": { "type": "string", "pattern": "^[0-9a-z]{4}(-[0-9a-z]{4}){3}$", "examples": ["8k2m-0qwz-7hn4-c9xe"] },
        }),
        ("NewKey", "key") => json!({
            "pattern": "^tidings_[0-9a-f]{48}$",
            "examples": ["tidings_0123456789abcdef0123456789abcdef0123456789abcdef"],
        }),
        ("Key", "name") => line(50, "importer"),
        ("Key", "scopes") => json!({ "items": scope(), "examples": [["posts:import"]] }),
        ("AuditRecord" | "Fault", "seq") | ("AuditPage", "next") => {
            json!({ "minimum": 1, "examples": [7] })
        }
        ("Verification", "seq" | "records") => count(7),
        ("AuditRecord", "actor_kind") => {
            json!({ "enum": ["operator", "member", "key", "service"], "examples": ["member"] })
        }
        ("AuditRecord", "actor" | "subject") => line(1_000, "ann"),
        ("AuditRecord", "surface") => {
            json!({ "enum": ["library", "http", "cli", "tui"], "examples": ["http"] })
        }
        ("AuditRecord", "action") => line(50, "member.blacklist"),
        ("AuditRecord", "before" | "after") => line(200, "everywhere"),
        ("AuditRecord" | "Verification", "hash") => {
            json!({ "pattern": "^[0-9a-f]{64}$", "examples": ["0".repeat(64)] })
        }
        ("Verification", "intact") => json!({ "examples": [true] }),
        ("Fault", "reason") => line(200, "the record is missing"),
        (schema, field) => return of_data(schema, field),
    })
}

/// Returns what is known of a field of a member's data.
fn of_data(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("AccountData", "_id") => line(NAME_MAX, "ann"),
        ("AccountData", "nickname") => line(NAME_MAX, "Ann"),
        ("AccountData", "name") => line(128, "Ann Lee"),
        ("AccountData", "major") => line(128, "Physics"),
        ("AccountData", "recovery_codes") => number(0, 10, 9),
        ("AccountData", "sign_in_places") => number(0, 32, 2),
        ("AccountData", "admin" | "blacklisted" | "measured_since" | "second_factor")
        | ("VisitDay", "seen") => moment(),
        ("PostAct" | "ImportedAct", "_id") => {
            json!({ "pattern": "^([0-9a-f]{24})?$", "examples": ["6560c1a2ffeeddccbbaa0001"] })
        }
        ("PostAct", "title") => line(300, "Closed on Friday"),
        ("PostAct", "url") => line(2_000, "https://news.example.org/1"),
        ("ImportedAct", "act") => json!({ "enum": ["view", "like", "other"], "examples": ["like"] }),
        ("VisitDay", "day") => json!({ "format": "date", "examples": ["2026-11-20"] }),
        ("VisitDay", "visits") => count(2),
        ("VisitDay", "hours") => {
            let hour = json!({ "type": "integer", "minimum": 0, "maximum": 23 });
            json!({ "maxItems": 24, "items": hour, "examples": [[9, 17]] })
        }
        ("TrendSearch", "search") => line(200, "library"),
        _ => return None,
    })
}

/// The names of scopes.
fn scope() -> Value {
    let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.name()).collect();
    json!({ "type": "string", "enum": names })
}
