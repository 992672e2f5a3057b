//! The settings: a flag, else its `TIDINGS_…` variable, else the TOML file, else the default.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tidings_core::config::Config;

use crate::failure::Failure;

mod core;
mod defaults;
mod layers;
mod limit;
mod server;

pub(crate) use defaults::{LISTEN, LOG_FORMAT};
use layers::FromFile;
pub(crate) use layers::{found, wrong_variable};
use limit::Limit;

/// The variable that holds the key itself that tokens are signed with: a secret has no flag, and no line in a file.
pub(crate) const TOKEN_KEY: &str = "TIDINGS_TOKEN_KEY";

/// The variable that holds the second key whose tokens are good.
pub(crate) const TOKEN_KEY_PREVIOUS: &str = "TIDINGS_TOKEN_KEY_PREVIOUS";

/// Every setting as it may be given; what is not stays `None` and has its default where it is used.
///
/// The names are the flags', the TOML keys' and, in upper case behind `TIDINGS_`, the variables'.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The address to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "TIDINGS_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Serve everything under this prefix, such as /api
    #[arg(long, env = "TIDINGS_BASE_PATH", value_name = "PATH")]
    base_path: Option<String>,
    /// Allow browsers of this origin only; may be repeated [default: any]
    #[arg(long, env = "TIDINGS_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    cors_origin: Option<Vec<String>>,
    /// Believe the X-Forwarded-For of this proxy, an address or a network; may be repeated
    #[arg(long, env = "TIDINGS_TRUST_PROXY", value_name = "NET", value_delimiter = ',')]
    trust_proxy: Option<Vec<String>>,
    /// Requests a second that one client may make [default: any number]
    #[arg(long, env = "TIDINGS_RATE_LIMIT", value_name = "N")]
    rate_limit: Option<NonZeroU32>,
    /// Sign-ups a minute that one client may make beyond the burst, or off [default: 60]
    #[arg(long, env = "TIDINGS_SIGN_UP_LIMIT", value_name = "N")]
    sign_up_limit: Option<Limit>,
    /// Sign-ups that one client may make at once [default: 500]
    #[arg(long, env = "TIDINGS_SIGN_UP_BURST", value_name = "N")]
    sign_up_burst: Option<NonZeroU32>,
    /// Searches a minute that one client may make, or off [default: 12000]
    #[arg(long, env = "TIDINGS_SEARCH_LIMIT", value_name = "N")]
    search_limit: Option<Limit>,
    /// Views, search records and devices a minute that one client may write without being signed in, or off
    /// [default: 12000]
    #[arg(long, env = "TIDINGS_GUEST_WRITE_LIMIT", value_name = "N")]
    guest_write_limit: Option<Limit>,
    /// Seconds that a search or another long query may take; longer ones are refused with 503 [default: 2]
    #[arg(long, env = "TIDINGS_QUERY_TIMEOUT", value_name = "N")]
    query_timeout: Option<u64>,
    /// Connections at a time; the longest idle one is closed for the next [default: 10000]
    #[arg(long, env = "TIDINGS_MAX_CONNECTIONS", value_name = "N")]
    max_connections: Option<NonZeroUsize>,
    /// Connections at a time from one address, except trusted proxies [default: three quarters of all]
    #[arg(long, env = "TIDINGS_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    max_connections_per_address: Option<NonZeroUsize>,
    /// Serve metrics for Prometheus on this address, at /metrics [default: nowhere]
    #[arg(long, env = "TIDINGS_METRICS_LISTEN", value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// Close /docs and /openapi.json
    #[arg(long, env = "TIDINGS_NO_DOCS", num_args = 0..=1, default_missing_value = "true")]
    no_docs: Option<bool>,
    /// The form of the log on standard error [default: text]
    #[arg(long, env = "TIDINGS_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Log failed sign-ins with the address they come from
    #[arg(long, env = "TIDINGS_LOG_AUTH_FAILURES", num_args = 0..=1, default_missing_value = "true")]
    log_auth_failures: Option<bool>,
    /// Make those wait who guess passwords [default: on]
    #[arg(long, env = "TIDINGS_SIGN_IN_SLOWING", help_heading = "Accounts")]
    sign_in_slowing: Option<Switch>,
    /// Days that an access token lasts [default: 30]
    #[arg(long, env = "TIDINGS_TOKEN_DAYS", value_name = "N", help_heading = "Accounts")]
    token_days: Option<NonZeroU32>,
    /// A file with the key that tokens are signed with, 32 bytes or more [default: the database's name and .key,
    /// made at the first start]; `TIDINGS_TOKEN_KEY` holds the key itself
    #[arg(long, env = "TIDINGS_TOKEN_KEY_FILE", value_name = "FILE", help_heading = "Accounts")]
    token_key_file: Option<PathBuf>,
    /// A file with a second key, whose tokens are good as well: the one that was signed with before, while a key is
    /// replaced [default: the key file's name and .previous, if it is there]; `TIDINGS_TOKEN_KEY_PREVIOUS` holds the
    /// key itself
    #[arg(long, env = "TIDINGS_TOKEN_KEY_PREVIOUS_FILE", value_name = "FILE", help_heading = "Accounts")]
    token_key_previous_file: Option<PathBuf>,
    /// Refuse the 10,000 most common passwords for every member who sets one; for administrators they always are
    #[arg(
        long, env = "TIDINGS_REFUSE_COMMON_PASSWORDS", num_args = 0..=1, default_missing_value = "true",
        help_heading = "Accounts"
    )]
    refuse_common_passwords: Option<bool>,
    /// The least characters of an id [default: 3]
    #[arg(long, env = "TIDINGS_ID_MIN", value_name = "N", help_heading = "Accounts")]
    id_min: Option<usize>,
    /// The most characters of an id [default: 30]
    #[arg(long, env = "TIDINGS_ID_MAX", value_name = "N", help_heading = "Accounts")]
    id_max: Option<usize>,
    /// The least characters of a password [default: 8]
    #[arg(long, env = "TIDINGS_PW_MIN", value_name = "N", help_heading = "Accounts")]
    pw_min: Option<usize>,
    /// The most characters of a password [default: 128]
    #[arg(long, env = "TIDINGS_PW_MAX", value_name = "N", help_heading = "Accounts")]
    pw_max: Option<usize>,
    /// The least characters of a nickname [default: 1]
    #[arg(long, env = "TIDINGS_NICKNAME_MIN", value_name = "N", help_heading = "Accounts")]
    nickname_min: Option<usize>,
    /// The most characters of a nickname [default: 30]
    #[arg(long, env = "TIDINGS_NICKNAME_MAX", value_name = "N", help_heading = "Accounts")]
    nickname_max: Option<usize>,
    /// Passwords that may wait to be hashed; more are refused with 503 [default: 64]
    #[arg(long, env = "TIDINGS_HASH_QUEUE", value_name = "N", help_heading = "Accounts")]
    hash_queue: Option<usize>,
    /// Who says which ids are university members [default: roster]
    #[arg(long, env = "TIDINGS_VERIFIER", help_heading = "Accounts")]
    verifier: Option<VerifierKind>,
    /// The address that the http verifier asks
    #[arg(long, env = "TIDINGS_VERIFIER_URL", value_name = "URL", help_heading = "Accounts")]
    verifier_url: Option<String>,
    /// Send passwords to the http verifier unencrypted, where its address begins with http:// and is not of this
    /// machine
    #[arg(
        long, env = "TIDINGS_VERIFIER_ALLOW_PLAIN_HTTP", num_args = 0..=1, default_missing_value = "true",
        help_heading = "Accounts"
    )]
    verifier_allow_plain_http: Option<bool>,
    /// Seconds that the http verifier may take [default: 5]
    #[arg(long, env = "TIDINGS_VERIFIER_TIMEOUT", value_name = "N", help_heading = "Accounts")]
    verifier_timeout: Option<u64>,
    /// The ids that only the http verifier's members may have [default: none]
    #[arg(long, env = "TIDINGS_SCHOOL_IDS", value_name = "REGEX", help_heading = "Accounts")]
    school_ids: Option<String>,
    /// The newest posts that feeds are made of [default: 50000]
    #[arg(long, env = "TIDINGS_FEED_POSTS", value_name = "N", help_heading = "Feeds")]
    feed_posts: Option<usize>,
    /// Days in which an act weighs half as much for the popular feed [default: 3]
    #[arg(long, env = "TIDINGS_POPULAR_HALF_LIFE", value_name = "DAYS", help_heading = "Feeds")]
    popular_half_life: Option<f64>,
    /// Views that a like weighs for the popular feed [default: 3]
    #[arg(long, env = "TIDINGS_POPULAR_LIKE_WEIGHT", value_name = "X", help_heading = "Feeds")]
    popular_like_weight: Option<f64>,
    /// Share of interest in the score of a post recommended to a member [default: 1]
    #[arg(long, env = "TIDINGS_INTEREST_WEIGHT", value_name = "X", help_heading = "Feeds")]
    interest_weight: Option<f64>,
    /// Share of how new it is to the member in the score of a recommended post [default: 0.5]
    #[arg(long, env = "TIDINGS_NOVEL_WEIGHT", value_name = "X", help_heading = "Feeds")]
    novel_weight: Option<f64>,
    /// Acts of the member since a post came at which it is half as new to them [default: 3]
    #[arg(long, env = "TIDINGS_NOVEL_HALF_LIFE", value_name = "ACTS", help_heading = "Feeds")]
    novel_half_life: Option<f64>,
    /// Share of how recent it is in its topics in the score of a recommended post [default: 0.15]
    #[arg(long, env = "TIDINGS_RECENT_WEIGHT", value_name = "X", help_heading = "Feeds")]
    recent_weight: Option<f64>,
    /// Later posts of its topics at which a post is half as recent [default: 120]
    #[arg(long, env = "TIDINGS_RECENT_HALF_LIFE", value_name = "POSTS", help_heading = "Feeds")]
    recent_half_life: Option<f64>,
    /// Share of freshness in the score of a post recommended to guests [default: 0.1]
    #[arg(long, env = "TIDINGS_FRESH_WEIGHT", value_name = "X", help_heading = "Feeds")]
    fresh_weight: Option<f64>,
    /// Share of popularity in the score of a recommended post [default: 0.06]
    #[arg(long, env = "TIDINGS_POPULAR_WEIGHT", value_name = "X", help_heading = "Feeds")]
    popular_weight: Option<f64>,
    /// Days before the newest post at which freshness has halved [default: 60]
    #[arg(long, env = "TIDINGS_FRESH_HALF_LIFE", value_name = "DAYS", help_heading = "Feeds")]
    fresh_half_life: Option<f64>,
    /// Of ten recommended posts in a row, how many may share a topic or a site [default: 5]
    #[arg(long, env = "TIDINGS_DIVERSE_MAX", value_name = "N", help_heading = "Feeds")]
    diverse_max: Option<usize>,
    /// Random noise in the score of a recommended post, 0 to 1 [default: 0]
    #[arg(long, env = "TIDINGS_EXPLORATION", value_name = "X", help_heading = "Feeds")]
    exploration: Option<f64>,
    /// Acts that a member's own recommendations need [default: 3]
    #[arg(long, env = "TIDINGS_INTEREST_MIN_ACTS", value_name = "N", help_heading = "Feeds")]
    interest_min_acts: Option<usize>,
    /// Days in which an act weighs half as much for interest [default: 60]
    #[arg(long, env = "TIDINGS_INTEREST_HALF_LIFE", value_name = "DAYS", help_heading = "Feeds")]
    interest_half_life: Option<f64>,
    /// Weight of a like for interest [default: 3]
    #[arg(long, env = "TIDINGS_INTEREST_LIKE_WEIGHT", value_name = "X", help_heading = "Feeds")]
    interest_like_weight: Option<f64>,
    /// Weight of a view for interest [default: 1]
    #[arg(long, env = "TIDINGS_INTEREST_VIEW_WEIGHT", value_name = "X", help_heading = "Feeds")]
    interest_view_weight: Option<f64>,
    /// Weight of a search for interest [default: 2]
    #[arg(long, env = "TIDINGS_INTEREST_SEARCH_WEIGHT", value_name = "X", help_heading = "Feeds")]
    interest_search_weight: Option<f64>,
    /// Weight of an opened topic feed for interest [default: 1]
    #[arg(long, env = "TIDINGS_INTEREST_OPEN_WEIGHT", value_name = "X", help_heading = "Feeds")]
    interest_open_weight: Option<f64>,
    /// Share of topics in how alike posts are [default: 0.4]
    #[arg(long, env = "TIDINGS_INTEREST_TOPIC_SHARE", value_name = "X", help_heading = "Feeds")]
    interest_topic_share: Option<f64>,
    /// Share of tags in how alike posts are [default: 0.2]
    #[arg(long, env = "TIDINGS_INTEREST_TAG_SHARE", value_name = "X", help_heading = "Feeds")]
    interest_tag_share: Option<f64>,
    /// Share of words in how alike posts are [default: 0.2]
    #[arg(long, env = "TIDINGS_INTEREST_WORD_SHARE", value_name = "X", help_heading = "Feeds")]
    interest_word_share: Option<f64>,
    /// Share of what the words mean, by the word model, in how alike posts are [default: 0.2]
    #[arg(long, env = "TIDINGS_INTEREST_MEANING_SHARE", value_name = "X", help_heading = "Feeds")]
    interest_meaning_share: Option<f64>,
    /// The time zone whose days and hours are counted, such as Asia/Seoul; it stays with the database once a day
    /// is counted [default: the database's, UTC in a new one]
    #[arg(long, env = "TIDINGS_TIMEZONE", value_name = "ZONE", help_heading = "Analytics")]
    timezone: Option<String>,
    /// Write answered requests to the access log and count their visitors [default: on]
    #[arg(long, env = "TIDINGS_ANALYTICS", help_heading = "Analytics")]
    analytics: Option<Switch>,
    /// Days that lines of the access log are kept [default: 180]
    #[arg(long, env = "TIDINGS_LOG_DAYS", value_name = "N", help_heading = "Analytics")]
    log_days: Option<NonZeroU32>,
    /// Lines of the access log that one client may add in a second, beside a burst of 24,576; what it asks for beyond
    /// that is counted without a line; 0 for any number [default: 2000]
    #[arg(long, env = "TIDINGS_LOG_LINES_PER_CLIENT", value_name = "N", help_heading = "Analytics")]
    log_lines_per_client: Option<u32>,
    /// Let everybody read the access log
    #[arg(
        long, env = "TIDINGS_PUBLIC_LOGS", num_args = 0..=1, default_missing_value = "true",
        help_heading = "Analytics"
    )]
    public_logs: Option<bool>,
    /// Show all but administrators only the first characters of student numbers [default: all]
    #[arg(long, env = "TIDINGS_STUDENT_NUM_CHARS", value_name = "N", help_heading = "Analytics")]
    student_num_chars: Option<usize>,
    /// A file of terms, one a line, that are left out of what is searched most
    #[arg(long, env = "TIDINGS_TREND_BLOCKLIST", value_name = "FILE", help_heading = "Analytics")]
    trend_blocklist: Option<PathBuf>,
    /// Visitors who must have searched a term before it is shown as searched most; the guests of one network count as 3
    /// at most on a day [default: 1]
    #[arg(long, env = "TIDINGS_TREND_MIN_VISITORS", value_name = "N", help_heading = "Analytics")]
    trend_min_visitors: Option<usize>,
    /// The most similar words of a token, up to 30 [default: 10]
    #[arg(long, env = "TIDINGS_SIMILAR_WORDS", value_name = "N", help_heading = "Words")]
    similar_words: Option<usize>,
    /// How alike a similar word is at least, 0 to 1 [default: 0.5]
    #[arg(long, env = "TIDINGS_SIMILAR_WORDS_MIN", value_name = "X", help_heading = "Words")]
    similar_words_min: Option<f64>,
    /// Share of posts that have changed when words are learned again; 0 for never [default: 0.1]
    #[arg(long, env = "TIDINGS_WORDS_RETRAIN_AFTER", value_name = "X", help_heading = "Words")]
    words_retrain_after: Option<f64>,
    /// Dimensions of the words' vectors; fewer are used for few words [default: 200]
    #[arg(long, env = "TIDINGS_WORDS_DIMENSIONS", value_name = "N", help_heading = "Words")]
    words_dimensions: Option<usize>,
    /// How many words on each side of one are its company [default: 10]
    #[arg(long, env = "TIDINGS_WORDS_WINDOW", value_name = "N", help_heading = "Words")]
    words_window: Option<usize>,
    /// In how many posts a word stands that is learned; fewer among few posts [default: 5]
    #[arg(long, env = "TIDINGS_WORDS_MIN_POSTS", value_name = "N", help_heading = "Words")]
    words_min_posts: Option<u32>,
    /// The most words that are learned [default: 100000]
    #[arg(long, env = "TIDINGS_WORDS_MAX", value_name = "N", help_heading = "Words")]
    words_max: Option<usize>,
    /// The most words of text that are read to learn from, of the newest posts [default: 10000000]
    #[arg(long, env = "TIDINGS_WORDS_CORPUS", value_name = "N", help_heading = "Words")]
    words_corpus: Option<usize>,
    /// The seed that learning starts from: the same gives the same words [default: 1]
    #[arg(long, env = "TIDINGS_WORDS_SEED", value_name = "N", help_heading = "Words")]
    words_seed: Option<u64>,
    /// The database file, for the TOML file alone: the flag stands before every command
    #[arg(skip)]
    db: Option<PathBuf>,
    /// What of it the TOML file gave.
    #[arg(skip)]
    #[serde(skip)]
    file: FromFile,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Something that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum VerifierKind {
    None,
    Roster,
    Http,
}

impl Settings {
    /// What the core is set to.
    ///
    /// # Errors
    /// When a setting makes no sense, with its line where the TOML file gave it.
    pub(crate) fn core(&self) -> Result<Config, Failure> {
        self.read(Self::core_of)
    }

    /// What the server is set to.
    ///
    /// # Errors
    /// As [`Settings::core`].
    pub(crate) fn server(&self) -> Result<tidings_server::Config, Failure> {
        self.read(Self::server_of)
    }

    /// The database that the TOML file names.
    pub(crate) fn db(&self) -> Option<&Path> {
        self.db.as_deref()
    }

    /// The file with the key that tokens are signed with, where it is not beside the database.
    pub(crate) fn token_key_file(&self) -> Option<&Path> {
        self.token_key_file.as_deref()
    }

    /// How many views a like weighs in popularity, where that is set.
    pub(crate) fn popular_like_weight(&self) -> Option<f64> {
        self.popular_like_weight
    }
}
