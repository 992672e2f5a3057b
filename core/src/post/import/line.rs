use std::fmt;
use std::sync::Arc;

use csv::StringRecord;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use crate::import::{self, FieldKind, LineFields as _};
use crate::post::draft::{Change, Draft};
use crate::post::token_fields::TokenFields;
use crate::record::error::{Error, Problem, Result};
use crate::record::id::ObjectId;

/// Every JSON reader represents numbers up to this one exactly.
const COUNT_MAX: i64 = 1 << 53;

const ID_RULE: Problem = Problem::invalid("_id", "_id is 24 hex digits; leave it out for a new one");
pub(super) const VIEW_RULE: Problem =
    Problem::invalid("view", "view is a whole number, 0 to 9007199254740992");
pub(super) const FAV_RULE: Problem =
    Problem::invalid("fav_cnt", "fav_cnt is a whole number, 0 to 9007199254740992");
pub(super) const COLUMNS: import::csv::Columns = import::csv::Columns {
    is_known: |name| Fields::kind(name).is_some(),
    needed: &["url"],
    missing: "the first line names the fields, and url is not among them: title,url,post,img,topic,tag,date,end_date",
};
const URL_MISSING: Problem = Problem::missing("url", "url is missing: it identifies the post");

import::fields! {
pub(super) struct Fields {
    "_id" id: String = Text,
    "title" title: String = Text,
    #[serde(default, deserialize_with = "or_empty")]
    "post" post: String = LongText,
    "url" url: String = Text,
    #[serde(default, deserialize_with = "or_empty")]
    "img" img: String = Text,
    #[serde(default, deserialize_with = "or_empty")]
    "topic" topic: Names = List,
    #[serde(default, deserialize_with = "or_empty")]
    "tag" tag: Names = List,
    "date" date: String = Text,
    #[serde(default, deserialize_with = "or_empty")]
    "end_date" end_date: String = Text,
    "view" view: i64 = Count,
    "fav_cnt" fav_cnt: i64 = Count,
}}

impl Fields {
    /// Leaves out the fields that only an import has.
    pub(super) fn draft(self) -> Draft {
        Draft {
            title: self.title,
            post: self.post,
            url: self.url,
            img: self.img,
            topic: self.topic.map(|names| names.0),
            tag: self.tag.map(|names| names.0),
            date: self.date,
            end_date: self.end_date,
        }
    }
}

pub(super) struct Line {
    pub(super) number: u64,
    pub(super) url: String,
    pub(super) change: Change,
    /// Only if the line has both title and text.
    pub(super) tokens: Option<Arc<TokenFields>>,
    /// For a new post. An existing post keeps its id, views and likes.
    pub(super) id: Option<String>,
    pub(super) view: i64,
    pub(super) fav: i64,
}

impl Line {
    pub(super) fn parse(number: u64, json: &[u8]) -> Result<Self, String> {
        let fields = import::parse_fields(json, "a post is written as {\"title\": …, \"url\": …}")?;
        Self::new(number, fields)
    }

    /// An empty value is read like `null` in JSON.
    pub(super) fn of_csv(number: u64, names: &[String], values: &StringRecord) -> Result<Self, String> {
        let mut fields = serde_json::Map::new();
        for (name, written) in names.iter().zip(values) {
            let Some(kind) = Fields::kind(name) else { continue };
            let value = match (kind, written.trim()) {
                (FieldKind::LongText, _) => Value::from(written.strip_suffix('\r').unwrap_or(written)),
                (_, "") => Value::Null,
                (FieldKind::Text, value) => Value::from(value),
                (FieldKind::List, value) => Value::from(Names::split(value, &[',', ';']).0),
                (FieldKind::Count, value) => {
                    let count = value.parse::<i64>();
                    Value::from(
                        count.map_err(|_| format!("{name} is a whole number, 0 to 9007199254740992"))?,
                    )
                }
            };
            fields.insert(name.clone(), value);
        }
        Self::new(number, Fields::deserialize(Value::Object(fields)).map_err(|error| error.to_string())?)
    }

    pub(super) fn new(number: u64, fields: Fields) -> Result<Self, String> {
        Self::check(number, fields).map_err(|error| error.detail().unwrap_or_else(|| error.to_string()))
    }

    fn check(number: u64, fields: Fields) -> Result<Self> {
        let count = |given: Option<i64>, rule| {
            let count = given.unwrap_or_default();
            (0..=COUNT_MAX).contains(&count).then_some(count).ok_or(Error::BadRequest(rule))
        };
        let (view, fav) = (count(fields.view, VIEW_RULE)?, count(fields.fav_cnt, FAV_RULE)?);
        let id = fields
            .id
            .as_deref()
            .map(|id| ObjectId::parse(id).ok_or(Error::BadRequest(ID_RULE)))
            .transpose()?;
        let change = Change::parse(&fields.draft())?;
        let url = change.address.as_ref().ok_or(Error::BadRequest(URL_MISSING))?.url.clone();
        let tokens = change.title.as_ref().zip(change.post.as_ref());
        let tokens = tokens.map(|(title, post)| Arc::new(TokenFields::of(title, post)));
        Ok(Self { number, url, change, tokens, id: id.map(|id| id.to_string()), view, fav })
    }
}

/// `null` means an empty value.
fn or_empty<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(|field| Some(field.unwrap_or_default()))
}

/// In JSON also a text with commas between the names.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    pub(super) fn split(text: &str, separators: &[char]) -> Self {
        let names = text.split(separators).map(str::trim).filter(|name| !name.is_empty());
        Self(names.map(str::to_owned).collect())
    }
}

impl From<Vec<String>> for Names {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Names, E> {
                Ok(Names::split(text, &[',']))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(Lists)
    }
}
