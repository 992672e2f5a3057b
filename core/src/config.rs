//! The settings of the service, each with its default.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ureq::http::Uri;
use zeroize::Zeroizing;

use crate::account::token::KEY_BYTES;
pub use crate::zone::{UnknownZone, Zone};

#[cfg(test)]
mod tests;

/// The settings of the service. What the HTTP server alone needs is set there.
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
    /// The key that tokens are signed with, at least 32 bytes; `None`: the one in `token_key_file`.
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
    /// Who says which ids are university members.
    pub verifier: Verifier,
    /// How the feeds are ranked.
    pub feed: Feed,
    /// What is counted and shown of what happens.
    pub analysis: Analysis,
    /// How words are learned, and which are similar.
    pub words: Words,
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
            feed: Feed::default(),
            analysis: Analysis::default(),
            words: Words::default(),
        }
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
    /// Refuses a secret that tokens cannot be signed with.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.0.len() < KEY_BYTES { Err("the key has fewer than 32 bytes") } else { Ok(()) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Who says which ids are university members.
#[derive(Clone, Debug)]
pub enum Verifier {
    /// Nobody: `sign_in_up` is always `api error`.
    None,
    /// The roster in the database. Its ids cannot be had by `sign_up`.
    Roster,
    /// An address that is asked with `POST {id, pw}`.
    Http {
        /// The address, http or https.
        url: String,
        /// Whether it may be one of another machine that passwords reach unencrypted, by http.
        allow_plain_http: bool,
        /// How long it may take.
        timeout: Duration,
        /// The ids that it answers for and `sign_up` refuses; `None`: no id is.
        school_ids: Option<regex::Regex>,
    },
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
pub struct Words {
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

impl Words {
    /// Refuses settings that no words can be learned with.
    ///
    /// # Errors
    /// What is wrong, naming the setting.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(1..=SIMILAR_MAX).contains(&self.similar) {
            return Err("similar-words is from 1 to 30");
        }
        if !(0.0..=1.0).contains(&self.similarity) {
            return Err("similar-words-min is from 0 to 1");
        }
        if !(0.0..=1_000.0).contains(&self.retrain_after) {
            return Err("words-retrain-after is from 0 to 1000");
        }
        if !(1..=1_000).contains(&self.dimensions) {
            return Err("words-dimensions is from 1 to 1000");
        }
        if !(1..=100).contains(&self.window) {
            return Err("words-window is from 1 to 100");
        }
        if !(1..=1_000_000).contains(&self.vocabulary) {
            return Err("words-max is from 1 to 1000000");
        }
        if !(1..=1_000_000_000).contains(&self.corpus) {
            return Err("words-corpus is from 1 to 1000000000");
        }
        Ok(())
    }
}

impl Default for Words {
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

impl Feed {
    /// Refuses settings that no feed can be ranked with.
    ///
    /// # Errors
    /// What is wrong, naming the setting.
    pub fn check(&self) -> Result<(), &'static str> {
        let interest = &self.interest;
        let half_lives = [self.popular_half_life_days, self.fresh_half_life_days, interest.half_life_days];
        let counts = [self.novel_half_life_acts, self.recent_half_life_posts];
        let weights = [
            self.like_weight,
            self.interest_weight,
            self.novel_weight,
            self.recent_weight,
            self.popular_weight,
            self.fresh_weight,
            interest.like_weight,
            interest.view_weight,
            interest.search_weight,
            interest.open_weight,
            interest.topic_share,
            interest.tag_share,
            interest.word_share,
            interest.meaning_share,
        ];
        if !half_lives.iter().all(|days| (0.001..=100_000.0).contains(days)) {
            return Err("a half-life is from 0.001 to 100000 days");
        }
        if !counts.iter().all(|count| (0.001..=1e9).contains(count)) {
            return Err("novel-half-life and recent-half-life are from 0.001 to 1000000000");
        }
        if !weights.iter().all(|weight| (0.0..=1_000.0).contains(weight)) {
            return Err("weights and shares are from 0 to 1000");
        }
        if !(0.0..=1.0).contains(&self.exploration) {
            return Err("exploration is from 0 to 1");
        }
        if !(1..=10).contains(&self.diverse_max) {
            return Err("diverse-max is from 1 to 10");
        }
        if !(1..=10_000_000).contains(&self.posts) {
            return Err("feed-posts is from 1 to 10000000");
        }
        Ok(())
    }
}

/// Whether what is sent to an address goes unencrypted.
pub(crate) fn is_plain_http(url: &Uri) -> bool {
    url.scheme_str() == Some("http")
}

/// Whether an address is of the machine that asks.
pub(crate) fn is_of_this_machine(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_loopback)
}

impl Verifier {
    /// Refuses a verifier that cannot be asked.
    ///
    /// # Errors
    /// What is wrong, naming the setting.
    pub fn check(&self) -> Result<(), &'static str> {
        let Self::Http { url, allow_plain_http, timeout, .. } = self else { return Ok(()) };
        // As the client reads it.
        let can_be_asked = url.parse().ok().filter(|url: &Uri| {
            matches!(url.scheme_str(), Some("http" | "https"))
                && url.host().is_some_and(|host| !host.is_empty())
        });
        let Some(url) = can_be_asked else {
            return Err("verifier-url is an address that begins with http:// or https://");
        };
        if is_plain_http(&url) && !is_of_this_machine(&url) && !allow_plain_http {
            return Err(
                "verifier-url begins with http://, and passwords would be sent there unencrypted: name an \
                        https:// address, or set verifier-allow-plain-http",
            );
        }
        if !(1..=3_600).contains(&timeout.as_secs()) {
            return Err("verifier-timeout is from 1 to 3600");
        }
        Ok(())
    }

    /// The ids that only university members may have, as a pattern that matches the whole of an id.
    ///
    /// # Errors
    /// When the pattern is none, or too large.
    pub fn school_ids(pattern: &str) -> Result<regex::Regex, regex::Error> {
        regex::RegexBuilder::new(&format!("^(?:{pattern})$")).case_insensitive(true).build()
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
