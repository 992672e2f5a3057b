//! OpenAPI schemas of texts and numbers: those of types, and named ones for fields whose Rust type says less.

use serde_json::json;
use utoipa::openapi::Schema;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use crate::record::id::ObjectId;

/// A name with a doc comment becomes an empty enum, for the `value_type` of a field.
macro_rules! schemas {
    ($($(#[doc = $doc:literal])* $vis:vis $name:ident = $schema:expr;)+) => {
        $($crate::record::schema::schemas!(@ $(#[doc = $doc])* $vis $name);
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $schema.into()
            }
        }
        impl utoipa::ToSchema for $name {})+
    };
    (@ $vis:vis $name:ident) => {};
    (@ $(#[doc = $doc:literal])+ $vis:vis $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        $vis enum $name {}
    };
}
pub(crate) use schemas;

schemas! {
    ObjectId = text().pattern(Some("^[0-9a-f]{24}$")).examples(["6560c1a2ffeeddccbbaa0001"]);
    /// Yes or no: 1 or 0.
    pub Switch = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .enum_values(Some([0, 1]))
        .examples([1]);
    /// A day, `YYYY-MM-DD`.
    pub Date = text().format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).examples(["2026-11-20"]);
    /// An hour of the day, from 0 on.
    pub Hour = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(23)).examples([14]);
    /// A word or the name of a topic.
    pub Word = text().min_length(Some(1)).max_length(Some(200)).examples(["eclipse"]);
    /// A line of the front page.
    pub InfoLine = text().max_length(Some(50)).examples(["Welcome back"]);
    /// A recovery code.
    pub RecoveryCode = text().pattern(Some("^[0-9a-z]{4}(-[0-9a-z]{4}){3}$")).examples(["8k2m-0qwz-7hn4-c9xe"]);
    /// The format of a feed.
    pub FeedFormat = one_of(["json", "atom", "json-feed"]);
    /// A device that an app reports, also with the name of its counter.
    pub ReportedDevice = one_of(["pc", "tablet", "mobile", "device_pc", "device_tablet", "device_mobile"]);
    /// A table of a report.
    pub ReportFile = one_of(["days.csv", "hours.csv", "terms.csv", "devices.csv", "topics.csv", "posts.csv"]);
    /// An act that an import takes.
    pub ImportType = one_of(["view", "like", "search", "newsfeed"]);
    /// An act that was imported.
    pub ActKind = one_of(["view", "like", "other"]);
    /// The kind of one who acted.
    pub ActorKind = one_of(["operator", "member", "key", "service"]);
    /// The origin of the weights of the feed.
    pub WeightsInUse = one_of(["learned", "settings"]);
    /// The method of a request.
    pub RequestMethod =
        one_of(["GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "other"]);
    /// The version of JSON Feed that the server writes.
    pub JsonFeedVersion = one_of(["https://jsonfeed.org/version/1.1"]);
    /// A search term and how often it was searched for.
    pub TermAndCount = of_json(json!({
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "prefixItems": [{ "type": "string", "maxLength": 1_000 }, { "type": "integer", "minimum": 1 }],
        "items": false,
        "examples": [["eclipse", 12]],
    }));
    /// A word with words that are similar to it, each with its similarity.
    pub WordAndSimilar = of_json(json!({
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
        "examples": [{ "eclipse": [{ "moon": 0.83 }, { "lunar": 0.79 }] }],
    }));
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// The first text is the example.
pub(crate) fn one_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    let texts: Vec<_> = texts.into_iter().collect();
    text().examples(texts.first().copied()).enum_values(Some(texts))
}

fn of_json(schema: serde_json::Value) -> Schema {
    serde_json::from_value(schema).expect("keywords of JSON Schema make a schema")
}
