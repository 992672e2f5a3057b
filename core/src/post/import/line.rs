//! One line of an import: the JSON object of a post.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::id::ObjectId;
use crate::post::draft::{Change, Draft};
use crate::post::terms::Terms;

/// The most views and likes that a line may give: what every JSON reader keeps exactly.
const COUNT_MAX: i64 = 1 << 53;

const ID_RULE: &str = "_id is 24 hex digits; leave it out for a new one";
const VIEW_RULE: &str = "view is a whole number, at least 0";
const FAV_RULE: &str = "fav_cnt is a whole number, at least 0";
const URL_MISSING: &str = "url is missing: it tells which post this is";

/// A line that keeps the rules.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) url: String,
    pub(super) change: Change,
    /// The words of its title and text, when it gives both.
    pub(super) terms: Option<Terms>,
    /// What a new post takes over.
    pub(super) id: Option<String>,
    pub(super) view: i64,
    pub(super) fav: i64,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn parse(number: u64, json: &[u8]) -> Result<Self, String> {
        let json = json.trim_ascii();
        // An array of the values would do for the reader, too.
        let object = json.starts_with(b"{").then(|| serde_json::from_slice(json));
        let Some(Ok(fields)) = object else { return Err(explain(json)) };
        Self::check(number, fields).map_err(|error| error.detail().unwrap_or_else(|| error.to_string()))
    }

    fn check(number: u64, fields: Fields) -> Result<Self> {
        let count = |given: Option<i64>, rule| {
            let count = given.unwrap_or_default();
            (0..=COUNT_MAX).contains(&count).then_some(count).ok_or(Error::BadRequest(rule))
        };
        let (view, fav) = (count(fields.view, VIEW_RULE)?, count(fields.fav_cnt, FAV_RULE)?);
        let id = fields.id.map(|id| ObjectId::parse(&id).ok_or(Error::BadRequest(ID_RULE))).transpose()?;
        let change = Change::parse(&Draft {
            title: fields.title,
            post: fields.post,
            url: fields.url,
            img: fields.img,
            topic: fields.topic.map(|names| names.0),
            tag: fields.tag.map(|names| names.0),
            date: fields.date,
            end_date: fields.end_date,
        })?;
        let url = change.address.as_ref().ok_or(Error::BadRequest(URL_MISSING))?.url.clone();
        let terms = change.title.as_ref().zip(change.post.as_ref());
        let terms = terms.map(|(title, post)| Terms::of(title, post));
        Ok(Self { number, url, change, terms, id: id.map(|id| id.to_string()), view, fav })
    }
}

/// The fields of a line; others are no concern of ours.
#[derive(serde::Deserialize)]
struct Fields {
    #[serde(rename = "_id")]
    id: Option<String>,
    title: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    post: Option<String>,
    url: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    img: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    topic: Option<Names>,
    #[serde(default, deserialize_with = "or_empty")]
    tag: Option<Names>,
    date: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    end_date: Option<String>,
    view: Option<i64>,
    fav_cnt: Option<i64>,
}

/// A field that is given, where null is given too: it stands for none.
fn or_empty<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(|field| Some(field.unwrap_or_default()))
}

/// A list of names, or a text of names with commas between.
#[derive(Default)]
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Names, E> {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Ok(Names(names.map(str::to_owned).collect()))
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

/// Why a line could not be read, so that a person can mend it.
fn explain(json: &[u8]) -> String {
    const TEXT: &str = "a text in quotes";
    const LIST: &str = "a list of texts in quotes";
    const COUNT: &str = "a whole number";
    const FIELDS: [(&str, &str); 11] = [
        ("_id", TEXT),
        ("title", TEXT),
        ("post", TEXT),
        ("url", TEXT),
        ("img", TEXT),
        ("topic", LIST),
        ("tag", LIST),
        ("date", TEXT),
        ("end_date", TEXT),
        ("view", COUNT),
        ("fav_cnt", COUNT),
    ];
    if std::str::from_utf8(json).is_err() {
        return "it is not UTF-8: save the file in that encoding".to_owned();
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
        let reason = error.to_string();
        let (reason, column) = (reason.split(" at line ").next().unwrap_or_default(), error.column());
        return match error.line() {
            1 => format!("it is not JSON: {reason} at byte {column}"),
            line => format!("it is not JSON: {reason} in its line {line} at byte {column}"),
        };
    }
    if !json.starts_with(b"{") {
        return "it is not a JSON object: a post is written as {\"title\": …, \"url\": …}".to_owned();
    }
    let Ok(object) = serde_json::from_slice::<serde_json::Map<_, serde_json::Value>>(json) else {
        return "a field is nested too deeply: its value is a text or a list of texts".to_owned();
    };
    let fits = |kind: &str, value: &serde_json::Value| match kind {
        _ if value.is_null() => true,
        TEXT => value.is_string(),
        COUNT => value.is_i64(),
        _ => {
            value.is_string()
                || value.as_array().is_some_and(|list| list.iter().all(serde_json::Value::is_string))
        }
    };
    let wrong = FIELDS.iter().find(|(name, kind)| object.get(*name).is_some_and(|value| !fits(kind, value)));
    match wrong {
        Some((name, kind)) => format!("{name} is not {kind}"),
        None => "a field is given twice".to_owned(),
    }
}
