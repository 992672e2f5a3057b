//! The settings of the service, each with its default.
//!
//! `table` has the name, the help and the bounds of each. What only the HTTP server needs is set there.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

pub mod setting;
mod table;
#[cfg(test)]
mod tests;
mod verifier;

pub use crate::zone::{UnknownZone, Zone};
pub use setting::Invalid;
use setting::{FieldType, Value, parse};
pub use table::SETTINGS;
pub(crate) use verifier::is_plain_http;
pub use verifier::{HttpVerifier, IdPattern, Verifier};

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Characters of an id.
    pub id_length: Bounds,
    /// Characters of a password.
    pub password_length: Bounds,
    /// Characters of a nickname.
    pub nickname_length: Bounds,
    /// Days that an access token lasts.
    pub token_days: u32,
    /// The key that signs tokens, at least [`Secret::BYTES_MIN`] bytes; `None`: the one in `token_key_file`.
    pub token_key: Option<Secret>,
    /// The file with that key; `None`: the one beside the database.
    pub token_key_file: Option<PathBuf>,
    /// A second key, whose tokens are good but which signs none: the one that was signed with before, or the one to
    /// come. `None`: the one in `token_key_previous_file`.
    pub token_key_previous: Option<Secret>,
    /// The file with that key; `None`: the one whose name is that of the file with the key and `.previous`, if any.
    pub token_key_previous_file: Option<PathBuf>,
    /// Whether the most common passwords are refused for every member who sets one; for administrators they always
    /// are.
    pub refuse_common_passwords: bool,
    /// Callers that may wait for a password hash beside those that one core each works for.
    pub hash_queue: usize,
    /// How long a search, or another query that may take long, is worked on; then it is `overloaded`.
    pub query_timeout: Duration,
    /// Whether failed sign-ins make the next ones wait.
    pub sign_in_slowing: bool,
    /// What decides which ids belong to university members.
    pub verifier: Verifier,
    /// The address that [`Verifier::Http`] asks.
    pub http_verifier: HttpVerifier,
    /// How the feeds are ranked.
    pub feed: Feed,
    /// What is counted and shown of what happens.
    pub analysis: Analysis,
    /// How words are learned, and which are similar.
    pub words: WordModel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            id_length: Bounds { min: 3, max: 30 },
            password_length: Bounds { min: 8, max: 128 },
            nickname_length: Bounds { min: 1, max: 30 },
            token_days: 30,
            token_key: None,
            token_key_file: None,
            token_key_previous: None,
            token_key_previous_file: None,
            refuse_common_passwords: false,
            hash_queue: 64,
            query_timeout: Duration::from_secs(2),
            sign_in_slowing: true,
            verifier: Verifier::Roster,
            http_verifier: HttpVerifier::default(),
            feed: Feed::default(),
            analysis: Analysis::default(),
            words: WordModel::default(),
        }
    }
}

impl Config {
    /// Checks that every setting is within its bounds and that the settings agree with each other.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn check(&self) -> Result<(), Invalid> {
        setting::check(SETTINGS, self)?;
        for (bounds, names) in [
            (self.id_length, ["id-min", "id-max"]),
            (self.password_length, ["pw-min", "pw-max"]),
            (self.nickname_length, ["nickname-min", "nickname-max"]),
        ] {
            if bounds.min > bounds.max {
                return Err(Invalid::new(
                    &names,
                    format!("must be at most {}, which is {}", names[1], bounds.max),
                ));
            }
        }
        if self.verifier == Verifier::Http { self.http_verifier.check() } else { Ok(()) }
    }
}

/// The least and the most characters of a text, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: usize,
    /// The most.
    pub max: usize,
}

impl Bounds {
    /// Whether `text` has a length within the bounds, in Unicode characters.
    pub fn hold(self, text: &str) -> bool {
        (self.min..=self.max).contains(&text.chars().count())
    }
}

/// Bytes that are never shown, and wiped after use.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Zeroizing<Vec<u8>>);

impl Secret {
    /// The fewest bytes of a key that signs tokens: as many as the hash of HS256 has.
    ///
    /// Source: RFC 7518 section 3.2.
    pub const BYTES_MIN: usize = 32;

    /// Checks that tokens can be signed with the secret.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self) -> Result<(), String> {
        let enough = self.0.len() >= Self::BYTES_MIN;
        enough.then_some(()).ok_or_else(|| format!("the key has fewer than {} bytes", Self::BYTES_MIN))
    }
}

impl FieldType for Secret {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Secret(self.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Secret(secret) = value { Ok(secret.clone()) } else { setting::another_form() }
    }
}

impl FieldType for Zone {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_owned()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        parse(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// What is counted and shown of what happens.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The zone whose days and hours are counted; `None`: the database's own, UTC in a new one. A database in
    /// which days are counted in another zone is refused.
    pub timezone: Option<Zone>,
    /// Days that the lines of the access log are kept.
    pub log_days: u32,
    /// How many lines of the access log a client may add in a second, over time, beside a burst of 24,576; `None`: as
    /// many as it likes. What it asks for beyond that is counted, but has no line. A client is an address, of IPv6
    /// its first 64 bits.
    pub log_lines_per_client: Option<NonZeroU32>,
    /// Whether everybody may read the access log.
    pub public_logs: bool,
    /// How many characters of a student number all but administrators see; `None`: all.
    pub student_num_chars: Option<usize>,
    /// Terms that are left out of what is searched most.
    pub trend_blocklist: Vec<String>,
    /// How many visitors must have searched a term before it is shown there. The guests of one network (IPv4 /24, IPv6
    /// /48) count as three at most on a day; the last 24 hours touch two days, so from 7 on no single client makes a
    /// trend.
    pub trend_min_visitors: usize,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            timezone: None,
            log_days: 180,
            log_lines_per_client: NonZeroU32::new(2_000),
            public_logs: false,
            student_num_chars: None,
            trend_blocklist: Vec::new(),
            trend_min_visitors: 1,
        }
    }
}

/// How the feeds are ranked. `newsfeed::ranking` has the formulas.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The newest posts that feeds are made of. The memory they take is bounded by this.
    pub posts: usize,
    /// Days in which the weight of an act halves for the popular feed.
    pub popular_half_life_days: f64,
    /// How many views a like weighs there.
    pub like_weight: f64,
    /// How interest is measured.
    pub interest: Interest,
    /// Share of measured interest in the score of a post recommended to a member …
    pub interest_weight: f64,
    /// … of how new it is to them …
    pub novel_weight: f64,
    /// … of how recent it is among the posts of its topics …
    pub recent_weight: f64,
    /// … and of its popularity. For guests this and `fresh_weight` are all there is.
    pub popular_weight: f64,
    /// Share of freshness in the score of a post recommended to a guest.
    pub fresh_weight: f64,
    /// Acts of a member since a post came at which it is half as new to them.
    pub novel_half_life_acts: f64,
    /// Later posts of its topics at which a post is half as recent.
    pub recent_half_life_posts: f64,
    /// Days before the store's newest post at which freshness has halved.
    pub fresh_half_life_days: f64,
    /// How many of ten recommended posts in a row may share a topic or a site, 1 to 10, as long as there are
    /// others. To a member for whom more of their acts were about it, more: up to 9.
    pub diverse_max: usize,
    /// Random noise in the score of a recommended post, 0 (none) to 1: how far the feed explores. It is
    /// another one each day.
    pub exploration: f64,
}

/// How a member's interest is measured from what they did.
#[derive(Clone, Debug)]
pub struct Interest {
    /// Acts that a member's own recommendations need; below that they see what guests see.
    pub min_acts: usize,
    /// Days in which the weight of an act halves.
    pub half_life_days: f64,
    /// Weight of a like …
    pub like_weight: f64,
    /// … of a view …
    pub view_weight: f64,
    /// … of a search …
    pub search_weight: f64,
    /// … and of an opened topic feed.
    pub open_weight: f64,
    /// Share of the topics in how alike two posts are …
    pub topic_share: f64,
    /// … of the tags …
    pub tag_share: f64,
    /// … of the words …
    pub word_share: f64,
    /// … and of what the words mean, by the word model.
    pub meaning_share: f64,
}

pub use tidings_words::NEIGHBOURS_MAX as SIMILAR_MAX;

/// How words are learned, and which are similar. `words` tells how it is done.
#[derive(Clone, Debug)]
pub struct WordModel {
    /// The most similar words of a token that are answered, up to [`SIMILAR_MAX`].
    pub similar: usize,
    /// How alike a word must be to be answered, 0 to 1.
    pub similarity: f64,
    /// The share of posts that must have changed for the words to be learned again; 0: never of its own accord.
    pub retrain_after: f64,
    /// Dimensions of the vectors; fewer where there are few words.
    pub dimensions: usize,
    /// How many words on each side of one are its company.
    pub window: usize,
    /// In how many posts a word must stand to be learned; fewer where there are few posts.
    pub min_posts: u32,
    /// The most words that are learned, the most frequent.
    pub vocabulary: usize,
    /// The most words of text that are read, those of the newest posts. The memory of learning is bounded by this and
    /// by `vocabulary`.
    pub corpus: usize,
    /// The same posts and the same seed give the same vectors.
    pub seed: u64,
}

impl Default for WordModel {
    fn default() -> Self {
        Self {
            similar: 10,
            similarity: 0.5,
            retrain_after: 0.1,
            dimensions: 200,
            window: 10,
            min_posts: 5,
            vocabulary: 100_000,
            corpus: 10_000_000,
            seed: 1,
        }
    }
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            posts: 50_000,
            popular_half_life_days: 3.0,
            like_weight: 3.0,
            interest: Interest::default(),
            interest_weight: 1.0,
            novel_weight: 0.5,
            recent_weight: 0.15,
            popular_weight: 0.06,
            fresh_weight: 0.1,
            novel_half_life_acts: 3.0,
            recent_half_life_posts: 120.0,
            fresh_half_life_days: 60.0,
            diverse_max: 5,
            exploration: 0.0,
        }
    }
}

impl Default for Interest {
    fn default() -> Self {
        Self {
            min_acts: 3,
            half_life_days: 60.0,
            like_weight: 3.0,
            view_weight: 1.0,
            search_weight: 2.0,
            open_weight: 1.0,
            topic_share: 0.4,
            tag_share: 0.2,
            word_share: 0.2,
            meaning_share: 0.2,
        }
    }
}
