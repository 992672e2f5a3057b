//! University verification: checks whether an id and a password belong to a university member.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use ureq::http::Uri;

use super::password::Check;
use crate::Tidings;
use crate::account::roster::table;
use crate::account::{RESERVED_IDS, fold};
use crate::base::config;
use crate::base::config::{Bounds, Config, HttpVerifier};
use crate::base::text::shown;
use crate::base::tls::{self, Authorities};
use crate::record::error::{Error, Result};

/// In characters.
pub(in crate::account) const ID_MAX: usize = 128;
/// In characters.
const NAME_MAX: usize = 100;

/// The beginnings of ids that would be taken for something else: an API key in the access log, or a link.
const MISLEADING: [&str; 8] = ["key:", "//", "www.", "http:", "https:", "mailto:", "javascript:", "data:"];

/// In NFC. `None` unless it has 1 to [`ID_MAX`] characters, no control or invisible characters and no white space at its ends, is
/// not reserved, and looks neither like a link nor like an API key. Universities also use spaces, slashes and letters of their
/// language.
pub(crate) fn university_id(text: &str) -> Option<Cow<'_, str>> {
    // Too long in any normalisation form.
    if text.len() > 4 * ID_MAX {
        return None;
    }
    let id = tidings_tokens::compose(text);
    let is_id = (Bounds { min: 1, max: ID_MAX }).hold(&id)
        && id.trim() == id
        && shown::is_shown(&id)
        && !RESERVED_IDS.contains(&fold(&id).as_str());
    let compatible: String = id.nfkc().flat_map(char::to_lowercase).collect();
    let is_misleading =
        compatible.contains("://") || MISLEADING.iter().any(|beginning| compatible.starts_with(beginning));
    (is_id && !is_misleading).then_some(id)
}

/// On one line, without control or invisible characters and white space at its ends, cut to [`NAME_MAX`] characters.
pub(crate) fn university_name(text: &str) -> String {
    // Bounds the work for a text that is much too long.
    let space = |c: char| if c.is_whitespace() { ' ' } else { c };
    let line: String = text.trim().chars().take(4 * NAME_MAX).map(space).nfc().collect();
    let cut: String = shown::only_shown(&line).chars().take(NAME_MAX).collect();
    shown::only_shown(&cut).trim().to_owned()
}

/// The university's answer for an id and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No university member has the id.
    Unknown,
    /// A university member has the id, but a different password.
    WrongPassword,
    /// The id and the password belong to a university member.
    Verified {
        /// The member's name.
        name: String,
        /// The subject that the member studies, or `""`.
        major: String,
    },
}

/// The university did not answer. Contains the cause, for the log.
#[derive(Debug, thiserror::Error)]
#[error("the university verification failed: {0}")]
pub struct VerifyError(pub String);

/// A source of truth about the university's members.
pub trait Verifier: Send + Sync {
    /// Asks whether an id and a password belong to a university member.
    ///
    /// # Errors
    /// The outer error is a failure of this service (a failing store), the inner one a failure of the
    /// university's system.
    fn verify(&self, tidings: &Tidings, id: &str, password: &str) -> Result<Result<Verdict, VerifyError>>;

    /// Returns whether `sign_up` refuses the id because it belongs to a university member.
    ///
    /// # Errors
    /// When the store fails.
    fn reserves(&self, tidings: &Tidings, id: &str) -> Result<bool>;
}

pub(crate) fn from_config(config: &Config) -> Result<Box<dyn Verifier>> {
    Ok(match config.verifier {
        config::Verifier::None => Box::new(Disabled),
        config::Verifier::Roster => Box::new(Roster),
        config::Verifier::Http => {
            Box::new(Http::new(config.http_verifier.clone(), config.extra_ca.as_deref())?)
        }
    })
}

/// Every verification fails with `api error`.
struct Disabled;

impl Verifier for Disabled {
    fn verify(&self, _: &Tidings, _: &str, _: &str) -> Result<Result<Verdict, VerifyError>> {
        Ok(Err(VerifyError("no verifier is set".into())))
    }

    fn reserves(&self, _: &Tidings, _: &str) -> Result<bool> {
        Ok(false)
    }
}

struct Roster;

impl Verifier for Roster {
    fn verify(&self, tidings: &Tidings, id: &str, password: &str) -> Result<Result<Verdict, VerifyError>> {
        let entry = tidings.store().read(|tx| table::find(tx, &fold(id)))?;
        // A hash is also checked for an unknown id, so that the time of the answer does not reveal which ids are known.
        let stored = entry.as_ref().map(|entry| entry.password.as_str());
        let check = tidings.account().hasher.check(password, stored)?;
        Ok(Ok(match entry {
            None => Verdict::Unknown,
            Some(_) if check == Check::Wrong => Verdict::WrongPassword,
            Some(entry) => Verdict::Verified { name: entry.name, major: entry.major },
        }))
    }

    fn reserves(&self, tidings: &Tidings, id: &str) -> Result<bool> {
        Ok(tidings.store().read(|tx| table::find(tx, &fold(id)))?.is_some())
    }
}

struct Http {
    agent: ureq::Agent,
    config: HttpVerifier,
}

#[derive(Serialize)]
struct Question<'q> {
    id: &'q str,
    pw: &'q str,
}

#[derive(Deserialize)]
struct Reply {
    verified: bool,
    known: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    major: String,
}

const REPLY_MAX: u64 = 64 << 10;

impl Http {
    fn new(config: HttpVerifier, extra_ca: Option<&Path>) -> Result<Self> {
        let mut agent = ureq::Agent::config_builder().timeout_global(Some(config.timeout)).max_redirects(0);
        if !config.url.parse().is_ok_and(|url: Uri| config::allows_proxy(&url)) {
            agent = agent.proxy(None);
        }
        if let Some(file) = extra_ca {
            let authorities = Authorities::in_file(file)
                .map_err(|error| config::Invalid::new(&["extra-ca"], error.to_string()))?;
            agent = agent.tls_config(authorities.and_public().for_http());
        }
        Ok(Self { agent: agent.build().into(), config })
    }

    fn ask(&self, id: &str, pw: &str) -> std::result::Result<Reply, Box<ureq::Error>> {
        let mut answer = self.agent.post(&self.config.url).send_json(Question { id, pw })?;
        if !answer.status().is_success() {
            return Err(Box::new(ureq::Error::StatusCode(answer.status().as_u16())));
        }
        Ok(answer.body_mut().with_config().limit(REPLY_MAX).read_json()?)
    }
}

impl Verifier for Http {
    fn verify(&self, _: &Tidings, id: &str, password: &str) -> Result<Result<Verdict, VerifyError>> {
        Ok(match self.ask(id, password) {
            Ok(Reply { verified: true, name, major, .. }) => Ok(Verdict::Verified { name, major }),
            Ok(Reply { known: true, .. }) => Ok(Verdict::WrongPassword),
            Ok(_) => Ok(Verdict::Unknown),
            Err(error) => {
                let advice = tls::cause(&error).and_then(tls::advice);
                Err(VerifyError(advice.map_or_else(|| error.to_string(), ToOwned::to_owned)))
            }
        })
    }

    fn reserves(&self, _: &Tidings, id: &str) -> Result<bool> {
        Ok(self.config.school_ids.as_ref().is_some_and(|ids| ids.matches(id)))
    }
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        tracing::warn!(%error, "answered `api error`");
        crate::record::error::Outcome::ApiError.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_university_id_is_visible_text_and_not_reserved() {
        for id in ["1", "s/2026 003", "학번-1", "cs:7", "monkey:1", "a".repeat(128).as_str(), "e\u{301}"] {
            assert!(university_id(id).is_some(), "{id:?}");
        }
        assert_eq!(university_id("e\u{301}").as_deref(), Some("\u{e9}"));
        let long = "a".repeat(129);
        let ids = "| |\n|s1\r\nSet-Cookie: x|s1 |\u{3000}s1|s\u{200b}1|s\u{202e}1|s1\0|guest|GUEST|Removed|key:backup|Key:x\
            |ｋｅｙ：x|https://evil.example/|HTTP:evil.example|see ftp://evil.example|//evil.example\
            |WWW.evil.example|javascript:alert(1)";
        for id in ids.split('|').chain([long.as_str()]) {
            assert_eq!(university_id(id), None, "{id:?}");
        }
    }

    #[test]
    fn a_name_of_the_university_is_one_line_of_a_bounded_length() {
        for (given, kept) in [
            (" Kim\r\nJi-woo\t", "Kim  Ji-woo"),
            ("\u{1b}[1mKim\0", "[1mKim"),
            ("e\u{301}", "\u{e9}"),
            ("\u{202e}mik\u{200b}", "mik"),
            (" \n", ""),
        ] {
            assert_eq!(university_name(given), kept, "{given:?}");
        }
        assert_eq!(university_name(&"한".repeat(100_000)), "한".repeat(100));
    }
}
