//! The table of the service's settings.

use std::num::NonZeroU32;

use super::setting::{EXPERIMENTAL, Field, FieldType as _, Form, Group, Setting};
use super::{Config, SIMILAR_MAX};
use crate::base::config::setting::field;
use crate::base::text_file;

mod feeds;
mod mail;
mod oidc;
mod passkey;

/// The maximum of a setting without a specific upper bound.
const ANY: u64 = u32::MAX as u64;
/// The form of a length in characters.
const CHARACTERS: Form = Form::Whole(1, 1_000_000);
/// The form of a time limit in seconds.
const TIMEOUT: Form = Form::Whole(1, 3_600);

/// The form of minutes up to a week.
const MINUTES: Form = Form::Whole(1, 10_080);

/// The settings of the service.
pub static SETTINGS: &[Group<Config>] = &[
    Group { heading: "", settings: GENERAL },
    Group { heading: "Accounts", settings: ACCOUNTS },
    Group { heading: "Mail", settings: mail::SETTINGS },
    Group { heading: "Single sign-on", settings: oidc::SETTINGS },
    Group { heading: "Passkeys", settings: passkey::SETTINGS },
    Group { heading: "Feeds", settings: feeds::SETTINGS },
    Group { heading: "Analytics", settings: ANALYTICS },
    Group { heading: "Words", settings: WORDS },
    Group { heading: EXPERIMENTAL, settings: feeds::EXPERIMENTAL },
];

const GENERAL: &[Setting<Config>] = &[
    Setting::new(
        "query-timeout",
        TIMEOUT,
        field!(Config, query_timeout),
        "Seconds that a search or another long query may take; longer ones are refused with 503",
    ),
    Setting::new(
        "postgres-read-connections",
        // Half of them are for long reads.
        Form::Whole(2, 1_000),
        field!(Config, postgres_read_connections),
        "Connections to a PostgreSQL server for reads; reads beyond them wait, and are refused with 503 after 5 seconds",
    ),
    Setting::new(
        "webhook-private",
        Form::Flag,
        field!(Config, webhook_private),
        "Send webhooks to private addresses too, also without encryption, to addresses that begin with http://",
    ),
    Setting::new(
        "webhook-ca",
        Form::Text,
        field!(Config, webhook_ca),
        "A PEM file with certificates of authorities, or of receivers themselves, that webhooks trust too",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "public-url",
        Form::Text,
        field!(Config, public_url),
        "The address by which others reach the server, such as https://campus.example: for the links in mail, the way back from single \
         sign-on, and hubs of sources",
    )
    .takes("URL")
    .unset("none"),
    Setting::new(
        "source-interval-min",
        MINUTES,
        field!(Config, source.interval_min),
        "Minutes between two fetches of a source at least, unless the source has a time of its own",
    ),
    Setting::new(
        "source-interval-max",
        MINUTES,
        field!(Config, source.interval_max),
        "Minutes between two fetches of a source at most, unless it fails or asks for more time",
    ),
    Setting::new(
        "source-private",
        Form::Flag,
        field!(Config, source.private),
        "Fetch sources from private addresses too",
    ),
    Setting::new(
        "source-ca",
        Form::Text,
        field!(Config, source.ca),
        "A PEM file with certificates of authorities, or of servers themselves, that fetches of sources trust too",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "feedback-limit",
        Form::Whole(0, ANY),
        field!(Config, feedback.hourly),
        "Feedback that one member may send in an hour; 0 for any number",
    ),
    Setting::new(
        "feedback-open-max",
        Form::Whole(0, ANY),
        field!(Config, feedback.open),
        "Feedback that may be open, a fiftieth of it by one member; 0 for any number",
    ),
    Setting::new(
        "feedback-days",
        Form::Whole(1, ANY),
        field!(Config, feedback.days),
        "Days that feedback is kept after it was marked as done",
    ),
];

const ACCOUNTS: &[Setting<Config>] = &[
    Setting::new(
        "token-key",
        Form::Secret,
        field!(Config, token_key),
        "The key that signs access tokens, at least 32 bytes",
    )
    .unset("the key in the key file"),
    Setting::new(
        "token-key-previous",
        Form::Secret,
        field!(Config, token_key_previous),
        "A second key, whose tokens are accepted too, while the signing key is replaced",
    )
    .unset("the key in its file"),
    Setting::new(
        "sign-in-slowing",
        Form::Switch,
        field!(Config, sign_in_slowing),
        "Slow down clients that guess passwords",
    ),
    Setting::new(
        "token-days",
        Form::Whole(1, ANY),
        field!(Config, token_days),
        "Days until an access token expires",
    ),
    Setting::new(
        "token-key-file",
        Form::Text,
        field!(Config, token_key_file),
        "A file with the key that signs access tokens, at least 32 bytes; `TIDINGS_TOKEN_KEY` \
         holds the key itself",
    )
    .takes("FILE")
    .unset("the database's name and .key, made at the first start"),
    Setting::new(
        "token-key-previous-file",
        Form::Text,
        field!(Config, token_key_previous_file),
        "A file with a second key, whose tokens are accepted too, while the signing key is \
         replaced; `TIDINGS_TOKEN_KEY_PREVIOUS` holds the key itself",
    )
    .takes("FILE")
    .unset("the key file's name and .previous, if it exists"),
    Setting::new(
        "refuse-common-passwords",
        Form::Flag,
        field!(Config, refuse_common_passwords),
        "Refuse the 10,000 most common passwords for every member; for administrators they are \
         always refused",
    ),
    Setting::new(
        "require-otp",
        Form::Flag,
        field!(Config, require_otp),
        "Administrators and members with a role need a second factor to administer over HTTP, and an enrolment code to set one up",
    ),
    Setting::new("id-min", CHARACTERS, field!(Config, id_length.min), "The fewest characters of an id"),
    Setting::new("id-max", CHARACTERS, field!(Config, id_length.max), "The most characters of an id"),
    Setting::new(
        "pw-min",
        CHARACTERS,
        field!(Config, password_length.min),
        "The fewest characters of a password",
    ),
    Setting::new(
        "pw-max",
        CHARACTERS,
        field!(Config, password_length.max),
        "The most characters of a password",
    ),
    Setting::new(
        "nickname-min",
        CHARACTERS,
        field!(Config, nickname_length.min),
        "The fewest characters of a nickname",
    ),
    Setting::new(
        "nickname-max",
        CHARACTERS,
        field!(Config, nickname_length.max),
        "The most characters of a nickname",
    ),
    Setting::new(
        "hash-queue",
        Form::Whole(0, 1_000_000),
        field!(Config, hash_queue),
        "Passwords that may wait to be hashed; more are refused with 503",
    ),
    Setting::new(
        "sign-up",
        Form::Choice(super::Registration::NAMES),
        field!(Config, sign_up),
        "Who becomes a member without an administrator: everyone, only members of the university and people of single sign-on, or nobody",
    ),
    Setting::new(
        "verifier",
        Form::Choice(super::Verifier::NAMES),
        field!(Config, verifier),
        "What decides which ids belong to university members",
    ),
    Setting::new(
        "verifier-url",
        Form::Text,
        field!(Config, http_verifier.url),
        "The address that the http verifier asks",
    )
    .takes("URL"),
    Setting::new(
        "verifier-ca",
        Form::Text,
        field!(Config, http_verifier.ca),
        "A PEM file with the certificates of authorities, or of the http verifier itself, that are trusted",
    )
    .takes("FILE")
    .unset("those of browsers"),
    Setting::new(
        "verifier-allow-plain-http",
        Form::Flag,
        field!(Config, http_verifier.allow_plain_http),
        "Send passwords to the http verifier unencrypted, where its address begins with http:// \
         and is not of this machine",
    ),
    Setting::new(
        "verifier-timeout",
        TIMEOUT,
        field!(Config, http_verifier.timeout),
        "Seconds that the http verifier may take",
    ),
    Setting::new(
        "school-ids",
        Form::Text,
        field!(Config, http_verifier.school_ids),
        "The ids that belong to members of the http verifier: sign-ups and single sign-on cannot take them",
    )
    .takes("REGEX")
    .unset("none"),
];

const ANALYTICS: &[Setting<Config>] = &[
    Setting::new(
        "timezone",
        Form::Text,
        field!(Config, analysis.timezone),
        "The time zone whose days and hours are counted, such as Asia/Seoul; once a day is counted, tidings store \
         timezone changes it",
    )
    .takes("ZONE")
    .unset("the database's; this machine's in a new one"),
    Setting::new(
        "log-days",
        Form::Whole(1, ANY),
        field!(Config, analysis.log_days),
        "Days that lines of the access log are kept",
    ),
    Setting::new(
        "audit-days",
        Form::Whole(1, ANY),
        field!(Config, analysis.audit_days),
        "Days that records of the audit trail are kept",
    ),
    Setting::new(
        "log-lines-per-client",
        Form::Whole(0, ANY),
        Field {
            get: |config: &Config| config.analysis.log_lines_per_client.map_or(0, NonZeroU32::get).to_value(),
            set: |config: &mut Config, value| {
                config.analysis.log_lines_per_client = NonZeroU32::new(u32::from_value(value)?);
                Ok(())
            },
        },
        "Lines of the access log that one client may add in a second, after a burst; further \
         requests are counted but have no line; 0 for any number",
    ),
    Setting::new(
        "public-logs",
        Form::Flag,
        field!(Config, analysis.public_logs),
        "Let everybody read the access log",
    ),
    Setting::new(
        "student-num-chars",
        Form::WholeOr(ANY, super::StudentNumbers::FULL),
        field!(Config, analysis.student_num_chars),
        "What reports show of member ids, except to administrators: full for all of an id, a number for its first \
         characters, 0 for none",
    )
    .takes("N|full")
    .unset("4 of an id of digits, none of others"),
    Setting::new(
        "trend-blocklist",
        Form::Text,
        Field {
            // The configuration contains the terms, not the name of their file.
            get: |_: &Config| None,
            set: |config: &mut Config, value| {
                let path: String = super::setting::parse(value)?;
                let text = text_file::read(path.as_ref()).map_err(|e| format!("{path} cannot be read: {e}"))?;
                config.analysis.trend_blocklist = text_file::lines(&text).map(str::to_owned).collect();
                Ok(())
            },
        },
        "A file of terms, one on each line, that are never listed among the most searched",
    )
    .takes("FILE"),
    Setting::new(
        "trend-min-visitors",
        Form::Whole(0, ANY),
        field!(Config, analysis.trend_min_visitors),
        "Visitors who must have searched a term before it is listed among the most searched; the \
         guests of one network count as 3 at most on a day",
    ),
];

const WORDS: &[Setting<Config>] = &[
    Setting::new(
        "similar-words",
        Form::Whole(1, SIMILAR_MAX as u64),
        field!(Config, words.similar),
        "The most similar words of a token, up to {max}",
    ),
    Setting::new(
        "similar-words-min",
        Form::Number(0.0, 1.0),
        field!(Config, words.similarity),
        "How similar a word must be at least, {min} to {max}",
    ),
    Setting::new(
        "words-retrain-after",
        Form::Number(0.0, 1_000.0),
        field!(Config, words.retrain_after),
        "Share of posts that must have changed before words are learned again; 0 for never",
    ),
    Setting::new(
        "words-dimensions",
        Form::Whole(1, 1_000),
        field!(Config, words.dimensions),
        "Dimensions of the words' vectors; fewer are used for few words",
    ),
    Setting::new(
        "words-window",
        Form::Whole(1, 100),
        field!(Config, words.window),
        "Words on each side of a word that are its context",
    ),
    Setting::new(
        "words-min-posts",
        Form::Whole(0, ANY),
        field!(Config, words.min_posts),
        "Posts that must contain a word before it is learned; fewer among few posts",
    ),
    Setting::new(
        "words-max",
        Form::Whole(1, 1_000_000),
        field!(Config, words.vocabulary),
        "The most words that are learned",
    ),
    Setting::new(
        "words-corpus",
        Form::Whole(1, 1_000_000_000),
        field!(Config, words.corpus),
        "The most words of text that are read to learn from, those of the newest posts",
    ),
    Setting::new(
        "words-seed",
        Form::Whole(0, u64::MAX),
        field!(Config, words.seed),
        "The seed of the learning: the same seed gives the same words",
    ),
];
