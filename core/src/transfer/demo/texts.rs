use std::sync::LazyLock;

use serde::Deserialize;

pub(super) static TEXTS: LazyLock<Texts> =
    LazyLock::new(|| serde_json::from_str(include_str!("texts.json")).expect("the file has all texts"));

#[derive(Deserialize)]
pub(super) struct Texts {
    pub(super) subjects: Vec<Subject>,
    /// Sentences of posts about any subject in English.
    pub(super) common: Vec<String>,
    /// Title, text, and whether the notice is shown.
    pub(super) notices: Vec<(String, String, bool)>,
    pub(super) feedback: Vec<(String, String)>,
    /// Names in the Latin script and in Hangul.
    pub(super) given: Vec<(String, String)>,
    pub(super) family: Vec<(String, String)>,
    pub(super) majors: Vec<String>,
}

/// In titles and sentences, `{}` stands for one of the nouns.
#[derive(Deserialize)]
pub(super) struct Subject {
    pub(super) topic: String,
    pub(super) site: String,
    pub(super) tags: Vec<String>,
    /// Related nouns are neighbours.
    pub(super) nouns: Vec<String>,
    pub(super) titles: Vec<String>,
    pub(super) sentences: Vec<String>,
    pub(super) english: bool,
}
