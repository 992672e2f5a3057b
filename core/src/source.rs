//! Sources: feeds of other sites that a thread of the service fetches, as rarely as each allows and as often as it publishes. Their
//! new and changed entries become posts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::clock::{DAY_MS, SECOND_MS, Timestamp};
use crate::base::config::Bounds;
use crate::record::answer::LineError;
use crate::record::error::{Code, Problem};
use crate::record::id::ObjectId;
use crate::record::schema::{Word, one_of, schemas};

mod address;
mod arrive;
mod discover;
mod fetch;
mod identity;
mod operations;
mod opml;
mod queue;
mod run;
mod schedule;
mod seen;
pub(crate) mod sql;
#[cfg(test)]
mod tests;
pub mod websub;

pub use discover::{Discover, DiscoveredFeeds, FoundFeed};
pub use operations::{Add, Fetch, Get, List, Pause, Remove, Resume, Update};
pub use opml::{Export, Import, ImportedSources, OPML_MAX, Opml, opml_text};
pub(crate) use queue::start;
pub(crate) use run::Reader;

/// The length of a name in characters.
pub const NAME: Bounds = Bounds { min: 0, max: 100 };
/// The maximum number of sources.
pub const SOURCES_MAX: usize = 10_000;
/// The minutes between two fetches that an administrator may set.
pub const EVERY: Bounds = Bounds { min: 1, max: 10_080 };
const MINUTE_MS: i64 = 60 * SECOND_MS;
/// Administrators learn of a source that has failed for this long.
pub(crate) const FAILING_MS: i64 = 14 * DAY_MS;
const ARRIVED_MAX: usize = 100;

const URL_RULE: Problem = Problem::invalid(
    "url",
    "url is an address that begins with http:// or https://, of at most 1,000 characters, without a user",
);
const PRIVATE: Problem =
    Problem::invalid("url", "url is a private address: only the setting private-addresses allows that");
const NAME_RULE: Problem = Problem::invalid("name", "name is at most 100 visible characters on one line");
const EVERY_RULE: Problem = Problem::invalid(
    "every",
    "every is 1 to 10,080 minutes, which is a week; 0 for as often as suits the source",
);
const URL_TAKEN: Problem =
    Problem::new(Code::NameTaken, "there is a source with this address already").of("url");
const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 10,000 sources already: remove one before you add another");

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    /// It is fetched.
    Active,
    /// An administrator has paused it.
    Paused,
    /// Its server says for days that it is gone permanently (status 410).
    Ended,
}

schemas! {
    SourceState = one_of(["active", "paused", "ended"]);
}

impl SourceState {
    const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Ended];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// A source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// Its name: the given one, or else the title of the feed, or its host before the first fetch.
    #[schema(max_length = 300, examples("Campus news"))]
    pub name: String,
    /// The address of the feed.
    #[schema(max_length = 1_000, examples("https://news.example.org/feed.xml"))]
    pub url: String,
    /// The address of its page for people, if the feed names one.
    #[schema(max_length = 2_000, examples("https://news.example.org/"))]
    pub home: Option<String>,
    /// The topics that its posts get.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub topic: Vec<String>,
    /// The tags that its posts get beside those of the feed.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub tag: Vec<String>,
    /// The minutes between two fetches; null for as often as suits it.
    #[schema(minimum = 1, maximum = 10_080, examples(60))]
    pub every: Option<i64>,
    /// Whether it is fetched.
    pub state: SourceState,
    /// The date when it was added.
    pub date: Timestamp,
    /// The number of posts that it has brought.
    #[schema(minimum = 0, examples(120))]
    pub posts: i64,
    /// The date of the next fetch; null unless it is active.
    pub next_fetch: Option<Timestamp>,
    /// The date of the last fetch; null before the first one.
    pub last_fetch: Option<Timestamp>,
    /// The date of the last fetch that succeeded.
    pub last_success: Option<Timestamp>,
    /// The date when a fetch or a hub last brought a post.
    pub last_news: Option<Timestamp>,
    /// The number of fetches that have failed since the last success.
    #[schema(minimum = 0, examples(0))]
    pub failures: i64,
    /// The date since when it fails.
    pub failing_since: Option<Timestamp>,
    /// Why the last fetch failed; null if it succeeded.
    #[schema(max_length = 1_000, examples("status 503"))]
    pub error: Option<String>,
    /// The address of the hub that the feed names, which can send what is new at once.
    #[schema(max_length = 1_000, examples("https://hub.example.org/"))]
    pub hub: Option<String>,
    /// The end of the subscription at the hub, which is renewed before; null without one.
    pub subscribed_until: Option<Timestamp>,
}

/// The sources.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sources {
    /// The sources by name.
    #[schema(max_items = 10_000)]
    pub sources: Vec<Source>,
}

/// The answer to getting a source.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDetail {
    /// The source.
    pub source: Source,
}

/// The result of a fetch of a source.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fetched {
    /// The number of new posts.
    #[schema(minimum = 0, examples(3))]
    pub inserted: u64,
    /// The number of posts that have changed.
    #[schema(minimum = 0, examples(0))]
    pub updated: u64,
    /// The number of other entries: those that are already posts, or were, or may not become posts.
    #[schema(minimum = 0, examples(17))]
    pub skipped: u64,
    /// The first new posts, at most 100.
    #[schema(max_items = 100)]
    pub posts: Vec<ArrivedPost>,
    /// The first 100 entries that could not be read. If there are more, a last entry has their number.
    #[schema(max_items = 101)]
    pub errors: Vec<LineError>,
    /// The faults of the feed, of entries that were read anyway, and why entries did not become posts, human-readable. The first
    /// 100; if there are more, a last one has their number.
    #[schema(max_items = 101)]
    pub warnings: Vec<String>,
    /// Why the fetch failed; null if it succeeded.
    #[schema(max_length = 1_000, examples("status 503"))]
    pub error: Option<String>,
}

/// A post that a fetch has brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArrivedPost {
    /// The id of the post.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The title of the post.
    #[schema(max_length = 300, examples("An eclipse over the lake"))]
    pub title: String,
}
