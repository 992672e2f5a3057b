//! The settings of the service: a field of [`Config`] declares the name, the help and the default of each. The HTTP server has
//! further settings.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Args, ValueEnum};
use url::Url;
use zeroize::Zeroizing;

mod feeds;
mod mail;
mod oidc;
mod passkey;
#[cfg(test)]
mod tests;
pub mod value;
mod verifier;

use crate::base::text_file;
pub use crate::base::zone::{UnknownZone, Zone};
pub use feeds::{Feed, Interest, SIMILAR_MAX, WordModel};
pub use mail::{CONFIRM_PAGE, Language, Mail, MailServer, RESET_PAGE, Sender};
pub(crate) use mail::{Encryption, INVITE_PAGE};
pub use oidc::{Issuer, Oidc};
pub use passkey::Passkeys;
pub use value::Invalid;
use value::{defaults, web_address, within};
pub(crate) use verifier::allows_proxy;
pub use verifier::{HttpVerifier, IdPattern, Verifier};

/// Characters of an id.
pub const ID_LENGTH: Bounds = Bounds { min: 3, max: 30 };
/// Characters of a nickname.
pub const NICKNAME_LENGTH: Bounds = Bounds { min: 1, max: 30 };
/// Characters of a password at most.
pub const PASSWORD_MAX: usize = 128;
/// Minutes between two fetches of a source at most, unless it fails or asks for more time.
pub(crate) const SOURCE_INTERVAL_MAX: u64 = 12 * 60;

/// The settings of the service. The comment of a setting is its help in the command line, and its attribute has its name and
/// its default.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Accounts")]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// Send webhooks and fetch sources at private addresses too, and send webhooks without encryption to addresses that begin
    /// with `http://`.
    #[arg(long, help_heading = SERVICE)]
    pub private_addresses: bool,
    /// A PEM file with certificates of authorities, or of servers themselves, that are trusted too: by mail, webhooks, sources,
    /// single sign-on and the http verifier.
    #[arg(long, value_name = "FILE", help_heading = SERVICE)]
    pub extra_ca: Option<PathBuf>,
    /// The address by which others reach the server, such as `https://campus.example`: for the links in mail, the way back from
    /// single sign-on, and hubs of sources.
    #[arg(long, value_name = "URL", value_parser = web_address, help_heading = SERVICE)]
    pub public_url: Option<Url>,
    /// Limit what a client, a guest, a member or an API key may do in a time, beside the rate limit; off for benchmarks, and
    /// behind a gateway that limits.
    #[arg(
        long, action = ArgAction::Set, value_parser = value::switch(), default_value = "on", help_heading = SERVICE
    )]
    pub client_limits: bool,
    /// Minutes between two fetches of a source at least, unless the source has a time of its own.
    #[arg(long, value_name = "N", default_value = "10", help_heading = SERVICE)]
    pub source_interval_min: u64,
    /// Days that feedback is kept after it was marked as done.
    #[arg(long, value_name = "N", default_value = "365", help_heading = SERVICE)]
    pub feedback_days: u32,
    /// The key that signs tokens, at least [`Secret::BYTES_MIN`] bytes; `None` means the key in `token_key_file`.
    #[arg(skip)]
    pub token_key: Option<Secret>,
    /// A second key, which does not sign tokens but whose tokens are accepted: the previous or the next signing key.
    /// `None` means the key in `token_key_previous_file`.
    #[arg(skip)]
    pub token_key_previous: Option<Secret>,
    /// Slow down clients that guess passwords.
    #[arg(long, action = ArgAction::Set, value_parser = value::switch(), default_value = "on")]
    pub sign_in_slowing: bool,
    /// Days until an access token expires.
    #[arg(long, value_name = "N", default_value = "30")]
    pub token_days: u32,
    /// A file with the key that signs access tokens, at least 32 bytes; by default, the database's name and .key, made at the first
    /// start. `TIDINGS_TOKEN_KEY` holds the key itself.
    #[arg(long, value_name = "FILE")]
    pub token_key_file: Option<PathBuf>,
    /// A file with a second key, whose tokens are accepted too while the signing key is replaced; by default, the key file's name
    /// and .previous, if it exists. `TIDINGS_TOKEN_KEY_PREVIOUS` holds the key itself.
    #[arg(long, value_name = "FILE")]
    pub token_key_previous_file: Option<PathBuf>,
    /// Refuse the 10,000 most common passwords for every member; for administrators they are always refused.
    #[arg(long)]
    pub refuse_common_passwords: bool,
    /// Administrators and members with a role need a second factor to administer over HTTP, and an enrolment code to set one up.
    #[arg(long)]
    pub require_otp: bool,
    /// The fewest characters of a password.
    #[arg(long, value_name = "N", default_value = "8")]
    pub pw_min: usize,
    /// Who becomes a member without an administrator: everyone, only members of the university and people of single sign-on, or
    /// nobody.
    #[arg(long, default_value = "open")]
    pub sign_up: Registration,
    /// What decides which ids belong to university members.
    #[arg(long, default_value = "roster")]
    pub verifier: Verifier,
    /// The address that [`Verifier::Http`] asks.
    #[command(flatten)]
    pub http_verifier: HttpVerifier,
    /// The settings of mail.
    #[command(flatten)]
    pub mail: Mail,
    /// The settings of single sign-on.
    #[command(flatten)]
    pub oidc: Oidc,
    /// The settings of passkeys.
    #[command(flatten)]
    pub passkeys: Passkeys,
    /// The ranking of the feeds.
    #[command(flatten)]
    pub feed: Feed,
    /// The settings of analytics.
    #[command(flatten)]
    pub analysis: Analysis,
    /// The settings of the word model.
    #[command(flatten)]
    pub words: WordModel,
}

/// The heading of settings that several parts use.
const SERVICE: &str = "Service";

macro_rules! default_settings {
    ($($settings:ty),+) => {
        $(impl Default for $settings {
            fn default() -> Self {
                defaults()
            }
        })+
    };
}

default_settings!(Config, HttpVerifier, Mail, Oidc, Passkeys, Feed, Interest, Analysis, WordModel);

impl Config {
    /// Checks that every setting is within its bounds and that the settings agree with each other.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn check(&self) -> Result<(), Invalid> {
        const ANY: u32 = u32::MAX;
        within("source-interval-min", self.source_interval_min, 1..=SOURCE_INTERVAL_MAX)?;
        within("feedback-days", self.feedback_days, 1..=ANY)?;
        within("token-days", self.token_days, 1..=ANY)?;
        within("pw-min", self.pw_min, 1..=PASSWORD_MAX)?;
        within("log-days", self.analysis.log_days, 1..=ANY)?;
        within("audit-days", self.analysis.audit_days, 1..=ANY)?;
        for (name, key) in [("token-key", &self.token_key), ("token-key-previous", &self.token_key_previous)]
        {
            key.as_ref().map_or(Ok(()), Secret::check).map_err(|rule| Invalid::new(&[name], rule))?;
        }
        self.feed.check()?;
        self.words.check()?;
        self.mail.check()?;
        self.oidc.check(self.public_url.as_ref())?;
        self.passkeys.check()?;
        if self.verifier == Verifier::Http { self.http_verifier.check() } else { Ok(()) }
    }

    /// Returns the bounds of a password in characters.
    pub const fn password_length(&self) -> Bounds {
        Bounds { min: self.pw_min, max: PASSWORD_MAX }
    }

    /// Includes the address of the server's pages.
    pub(crate) fn mail(&self) -> Mail {
        Mail { server_url: self.public_url.clone(), ..self.mail.clone() }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Registration {
    /// Everyone, by `sign_up`, members of the university, by `sign_in_up`, and people of the issuer of single sign-on.
    #[default]
    Open,
    /// Only members of the university, by `sign_in_up`, and people of the issuer of single sign-on.
    Roster,
    /// Nobody.
    Closed,
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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
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

impl FromStr for StudentNumbers {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "entrance" => Ok(Self::Entrance),
            "full" => Ok(Self::Full),
            number => number.parse().map(Self::First).map_err(|_| "must be a whole number, entrance or full"),
        }
    }
}

/// The terms of a file, one on each line.
pub type Terms = Vec<String>;

fn terms(path: &str) -> Result<Terms, String> {
    if path.is_empty() {
        return Ok(Terms::new());
    }
    let text = text_file::read(path.as_ref()).map_err(|e| format!("{path} cannot be read: {e}"))?;
    Ok(text_file::lines(&text).map(str::to_owned).collect())
}

/// The settings of analytics.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Analytics")]
pub struct Analysis {
    /// The time zone whose days and hours are counted, such as Asia/Seoul; by default the database's, which in a new one is this
    /// machine's. Once a day is counted, tidings store timezone changes it.
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<Zone>,
    /// Days that lines of the access log are kept.
    #[arg(long, value_name = "N", default_value = "180")]
    pub log_days: u32,
    /// Days that records of the audit trail are kept.
    #[arg(long, value_name = "N", default_value = "730")]
    pub audit_days: u32,
    /// Access log lines per second and client, after a burst of 24,576; `None` means any number. Further requests are
    /// counted without a line. A client is an IPv4 address or the first 64 bits of an IPv6 address.
    #[arg(skip = NonZeroU32::new(2_000))]
    pub log_lines_per_client: Option<NonZeroU32>,
    /// Let everybody read the access log.
    #[arg(long)]
    pub public_logs: bool,
    /// What reports show of member ids, except to administrators: full for all of an id, a number for its first characters, 0
    /// for none, entrance for 4 of an id of digits and none of others.
    #[arg(long, value_name = "N|full|entrance", default_value = "entrance")]
    pub student_num_chars: StudentNumbers,
    /// A file of terms, one on each line, that are never listed among the most searched.
    #[arg(long, value_name = "FILE", value_parser = terms, default_value = "", hide_default_value = true)]
    pub trend_blocklist: Terms,
    /// Visitors who must have searched a term before it is listed among the most searched; the guests of one network count as 3 at
    /// most on a day. With at least 7, no single client can make a trend.
    #[arg(long, value_name = "N", default_value = "1")]
    pub trend_min_visitors: usize,
}
