use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::base::clock::Timestamp;
use crate::record::id::ObjectId;
use crate::record::schema::{Switch, Word};

/// A post that a member liked or viewed: an element of `fav_list` and `view_list`.
#[derive(Debug, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct PostRecord {
    /// The post's id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// Its topics.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub topic: JsonList,
    /// Its tags.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub tag: JsonList,
    /// The tokens of its title and text.
    #[schema(value_type = Vec<Word>, max_items = 100_000)]
    pub token: TokenList,
    /// The date of the like or the last view.
    pub date: Timestamp,
    /// The date of the post.
    pub post_date: Timestamp,
    /// Its title.
    #[schema(max_length = 300, examples("An eclipse over the lake"))]
    pub title: String,
    /// Its address.
    #[schema(format = "uri", max_length = 2_000, examples("https://news.example.org/eclipse"))]
    pub url: String,
    /// 1 when it has an image, else 0.
    #[schema(value_type = Switch)]
    pub img: i64,
}

/// A search of a member: an element of `search_list`.
#[derive(Debug, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct SearchRecord {
    /// The search as the member wrote it.
    #[schema(max_length = 200, examples("Big eclipse"))]
    pub original: String,
    /// The search, split at white space.
    #[schema(value_type = Vec<Word>, max_items = 200)]
    pub search_split: Vec<String>,
    /// The search's tokens.
    #[schema(value_type = Vec<Word>, max_items = 3_600)]
    pub tokenizer_split: TokenList,
    /// The similar words that were added to the search.
    #[schema(value_type = Vec<Word>, max_items = 1_000)]
    pub similarity_split: TokenList,
    /// The time of the search.
    pub date: Timestamp,
}

/// A topic feed that a member opened: an element of `newsfeed_list`.
#[derive(Debug, serde::Serialize, serde::Deserialize, ToSchema)]
pub struct NewsfeedAccess {
    /// The feed's name.
    #[schema(max_length = 2_000, examples("science"))]
    pub newsfeed_name: String,
    /// The most common tags of the posts on its first page.
    #[schema(value_type = Vec<Word>, max_items = 300)]
    pub tag: JsonList,
    /// The time when the member opened the feed.
    pub date: Timestamp,
}

/// A list of texts, stored as a JSON array. It is encoded as it is stored; [`JsonList::texts`] decodes it.
#[derive(Debug)]
pub struct JsonList(pub(crate) String);

impl JsonList {
    /// Returns the texts.
    pub fn texts(&self) -> Vec<String> {
        // The text is valid JSON because `json_list` wrote it.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for JsonList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        serde_json::to_string(&texts).map(Self).map_err(D::Error::custom)
    }
}

/// A list of tokens, stored as a text with blanks between them. It is encoded as a list of texts.
#[derive(Debug)]
pub struct TokenList(pub(crate) String);

impl TokenList {
    /// Returns the tokens.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    pub(super) fn truncate(&mut self, max: usize) {
        let end = self.0.match_indices(' ').nth(max.saturating_sub(1)).map(|(at, _)| at);
        self.0.truncate(end.unwrap_or(self.0.len()));
    }
}

impl Serialize for TokenList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for TokenList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Vec::<String>::deserialize(deserializer)?.join(" ")))
    }
}
