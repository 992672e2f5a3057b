//! The settings of the service, each with its default.
//!
//! `table` has the name, the help and the bounds of each. The HTTP server has further settings.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;
use zeroize::Zeroizing;

mod feeds;
mod mail;
mod oidc;
mod passkey;
pub mod setting;
mod table;
#[cfg(test)]
mod tests;
mod verifier;

pub use crate::base::zone::{UnknownZone, Zone};
pub use feeds::{Feed, Interest, SIMILAR_MAX, WordModel};
pub(crate) use mail::Encryption;
pub use mail::{CONFIRM_PAGE, Language, Mail, MailServer, PageUrl, RESET_PAGE, Sender};
pub use oidc::{Issuer, Oidc};
pub use passkey::Passkeys;
pub use setting::Invalid;
use setting::{FieldType, Value, parse};
pub use table::SETTINGS;
pub(crate) use verifier::allows_proxy;
pub use verifier::{HttpVerifier, IdPattern, Verifier};

/// The settings of the service.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// Characters of an id.
    pub id_length: Bounds,
    /// Characters of a password.
    pub password_length: Bounds,
    /// Characters of a nickname.
    pub nickname_length: Bounds,
    /// Days that an access token lasts.
    pub token_days: u32,
    /// The key that signs tokens, at least [`Secret::BYTES_MIN`] bytes; `None` means the key in `token_key_file`.
    pub token_key: Option<Secret>,
    /// The file with that key; `None` means the file next to the database.
    pub token_key_file: Option<PathBuf>,
    /// A second key, which does not sign tokens but whose tokens are accepted: the previous or the next signing key.
    /// `None` means the key in `token_key_previous_file`.
    pub token_key_previous: Option<Secret>,
    /// The file with that key; `None` means the signing key's file name with `.previous` appended, if that file exists.
    pub token_key_previous_file: Option<PathBuf>,
    /// Whether the most common passwords are refused for all members. They are always refused for administrators.
    pub refuse_common_passwords: bool,
    /// Whether administrators with a token need a second factor to act as administrators.
    pub require_otp: bool,
    /// Maximum number of callers that wait for a password hash. Each core computes one hash at a time.
    pub hash_queue: usize,
    /// Time limit of a search or another long query, which then fails with `overloaded`.
    pub query_timeout: Duration,
    /// Connections to a `PostgreSQL` server for reads, of which at most half are for long ones. Further reads wait.
    pub postgres_read_connections: usize,
    /// Whether failed sign-ins delay later sign-ins.
    pub sign_in_slowing: bool,
    /// Who becomes a member without an administrator.
    pub sign_up: Registration,
    /// The source that decides which ids belong to university members.
    pub verifier: Verifier,
    /// The address that [`Verifier::Http`] asks.
    pub http_verifier: HttpVerifier,
    /// Whether webhooks may be at private addresses, and at addresses that begin with `http://`.
    pub webhook_private: bool,
    /// A PEM file with further certificates that webhooks trust.
    pub webhook_ca: Option<PathBuf>,
    /// The address by which others reach the service; `None` if only what runs beside it does.
    pub public_url: Option<Url>,
    /// The settings of mail.
    pub mail: Mail,
    /// The settings of single sign-on.
    pub oidc: Oidc,
    /// The settings of passkeys.
    pub passkeys: Passkeys,
    /// The settings of sources.
    pub source: Source,
    /// The bounds of feedback.
    pub feedback: Feedback,
    /// The ranking of the feeds.
    pub feed: Feed,
    /// The settings of analytics.
    pub analysis: Analysis,
    /// The settings of the word model.
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
            require_otp: false,
            hash_queue: 64,
            query_timeout: Duration::from_secs(2),
            postgres_read_connections: 16,
            sign_in_slowing: true,
            sign_up: Registration::Open,
            verifier: Verifier::Roster,
            http_verifier: HttpVerifier::default(),
            webhook_private: false,
            webhook_ca: None,
            public_url: None,
            mail: Mail::default(),
            oidc: Oidc::default(),
            passkeys: Passkeys::default(),
            source: Source::default(),
            feedback: Feedback::default(),
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
        for (name, key) in [("token-key", &self.token_key), ("token-key-previous", &self.token_key_previous)]
        {
            key.as_ref().map_or(Ok(()), Secret::check).map_err(|rule| Invalid::new(&[name], rule))?;
        }
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
        if self.source.interval_min > self.source.interval_max {
            let names = ["source-interval-min", "source-interval-max"];
            let why = format!("must be at most {}, which is {}", names[1], self.source.interval_max);
            return Err(Invalid::new(&names, why));
        }
        self.mail.check()?;
        self.oidc.check(self.public_url.as_ref())?;
        self.passkeys.check()?;
        if self.verifier == Verifier::Http { self.http_verifier.check() } else { Ok(()) }
    }

    /// Returns the settings that were changed and have no effect together with the others.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        let (sign_up, verifier) = (self.sign_up, self.verifier);
        let of_http = &self.http_verifier;
        let because = |setting, because| WithoutEffect { setting, because };
        [
            (sign_up == Registration::Roster && verifier == Verifier::None && !self.oidc.is_on()).then(
                || because("sign-up", "it is roster, and the verifier is none: nobody can become a member"),
            ),
            (sign_up != Registration::Open
                && verifier == Verifier::Http
                && of_http.school_ids.is_some()
                && !self.oidc.is_on())
            .then(|| because("school-ids", "nobody may choose an id, because sign-up is not open")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A setting that has no effect because of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// The name of the setting.
    pub setting: &'static str,
    /// The reason, a clause such as `the verifier is none`.
    pub because: &'static str,
}

/// Who becomes a member without an administrator. The operator, administrators and imports always make members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    /// Everyone, by `sign_up`, members of the university, by `sign_in_up`, and people of the issuer of single sign-on.
    #[default]
    Open,
    /// Only members of the university, by `sign_in_up`, and people of the issuer of single sign-on.
    Roster,
    /// Nobody.
    Closed,
}

impl Registration {
    const NAMES: &[&str] = &["open", "roster", "closed"];
}

impl FieldType for Registration {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(Self::NAMES[*self as usize].to_owned()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let all = [Self::Open, Self::Roster, Self::Closed];
        let found = all.into_iter().find(|sign_up| sign_up.to_value().as_ref() == Some(value));
        found.ok_or_else(|| format!("must be one of {}", Self::NAMES.join(", ")))
    }
}

/// The minimum and maximum length of a text in characters, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The minimum.
    pub min: usize,
    /// The maximum.
    pub max: usize,
}

impl Bounds {
    /// Returns whether the length of `text`, in Unicode characters, is within the bounds.
    pub fn hold(self, text: &str) -> bool {
        (self.min..=self.max).contains(&text.chars().count())
    }
}

/// Secret bytes, which `Debug` does not show and which are wiped after use.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Zeroizing<Vec<u8>>);

impl Secret {
    /// Minimum length of a key that signs tokens, in bytes: the length of an HS256 hash.
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

/// The settings of sources.
#[derive(Clone, Debug)]
pub struct Source {
    /// The minutes between two fetches of a source, at least.
    pub interval_min: u64,
    /// The minutes between two fetches of a source, at most.
    pub interval_max: u64,
    /// Whether sources may be at private addresses.
    pub private: bool,
    /// A PEM file with further certificates that fetches trust.
    pub ca: Option<PathBuf>,
}

impl Default for Source {
    fn default() -> Self {
        Self { interval_min: 10, interval_max: 12 * 60, private: false, ca: None }
    }
}

/// The bounds of feedback.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Feedback that a member may send in an hour; 0 means any number.
    pub hourly: u32,
    /// Feedback that may be open; 0 means any number. That of one member may be a fiftieth of it.
    pub open: u32,
    /// Days until feedback that is done is removed.
    pub days: u32,
}

impl Default for Feedback {
    fn default() -> Self {
        Self { hourly: 60, open: 10_000, days: 365 }
    }
}

/// The part of member ids in reports that callers other than administrators see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StudentNumbers {
    /// The first four characters of an id of digits, such as an entrance year; `member` for all other ids.
    #[default]
    Entrance,
    /// This number of leading characters of every id; with 0, `member`.
    First(usize),
    /// Whole ids.
    Full,
}

impl StudentNumbers {
    pub(crate) const FULL: &str = "full";
}

impl FieldType for StudentNumbers {
    fn to_value(&self) -> Option<Value> {
        match self {
            Self::Entrance => None,
            Self::First(chars) => chars.to_value(),
            Self::Full => Some(Value::Text(Self::FULL.to_owned())),
        }
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(word) if word == Self::FULL => Ok(Self::Full),
            value => usize::from_value(value).map(Self::First),
        }
    }
}

/// The settings of analytics.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The time zone of the counted days and hours; `None` means the database's zone, which in a new database is that of this
    /// machine. A database that has counted days in a different zone is refused; [`crate::analysis::set_timezone`] changes it.
    pub timezone: Option<Zone>,
    /// Days until a line of the access log is removed.
    pub log_days: u32,
    /// Days until a record of the audit trail is removed.
    pub audit_days: u32,
    /// Access log lines per second and client, after a burst of 24,576; `None` means any number. Further requests are
    /// counted without a line. A client is an IPv4 address or the first 64 bits of an IPv6 address.
    pub log_lines_per_client: Option<NonZeroU32>,
    /// Whether all callers may read the access log.
    pub public_logs: bool,
    /// The part of member ids in reports that callers see unless they may see all of them.
    pub student_num_chars: StudentNumbers,
    /// Terms that never appear among the most searched.
    pub trend_blocklist: Vec<String>,
    /// Minimum number of visitors that must have searched a term before it appears there. The guests of one network (IPv4
    /// /24, IPv6 /48) count as at most three per day. The last 24 hours span two days, so with at least 7 no single client
    /// can make a trend.
    pub trend_min_visitors: usize,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            timezone: None,
            log_days: 180,
            audit_days: 730,
            log_lines_per_client: NonZeroU32::new(2_000),
            public_logs: false,
            student_num_chars: StudentNumbers::default(),
            trend_blocklist: Vec::new(),
            trend_min_visitors: 1,
        }
    }
}
