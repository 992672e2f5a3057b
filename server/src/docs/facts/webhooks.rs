//! The fields of webhooks.

use serde_json::{Value, json};
use tidings_core::webhook::{Event, WEBHOOKS_MAX};

use super::{count, line, moment};

/// Returns what is known of a field of a request or an answer.
pub(super) fn of_field(schema: &str, field: &str) -> Option<Value> {
    Some(match (schema, field) {
        ("WebhookFields", "name") => json!({ "minLength": 1, "maxLength": 50, "examples": ["chat"] }),
        ("WebhookFields" | "Webhook", "url") => line(1_000, "https://chat.example.org/hooks/news"),
        ("WebhookFields", "events") => {
            json!({ "minItems": 1, "maxItems": 100, "items": event(), "examples": [["notice.published"]] })
        }
        ("Webhook", "events") => json!({ "items": event(), "examples": [["notice.published"]] }),
        ("Webhooks", "webhooks") => json!({ "maxItems": WEBHOOKS_MAX }),
        ("Webhook", "name") | ("Delivery", "webhook") => line(50, "chat"),
        ("Webhook", "pending" | "dead") | ("Delivery", "attempts") => count(2),
        ("WebhookSecret", "secret") => json!({
            "pattern": "^whsec_[A-Za-z0-9+/]{43}=$",
            "examples": ["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="],
        }),
        ("Deliveries", "deliveries") => json!({ "maxItems": 1_000 }),
        ("Delivery", "event") => line(50, "notice.published"),
        ("Delivery", "state") => json!({ "enum": ["pending", "dead"], "examples": ["pending"] }),
        ("Delivery", "next_attempt") => moment(),
        ("Delivery", "error") => line(1_000, "status 503"),
        _ => return None,
    })
}

/// The names of events.
fn event() -> Value {
    let names: Vec<_> = Event::ALL.iter().map(|event| event.name()).collect();
    json!({ "type": "string", "enum": names })
}
