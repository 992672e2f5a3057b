//! University verification: who says that an id is a university member's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use ureq::http::Uri;

use super::password::{Check, Purpose, Turn};
use super::roster::table;
use super::{RESERVED_IDS, fold, shown};
use crate::client::Client;
use crate::config::{Bounds, Config, HttpVerifier};
use crate::error::{Error, Result};
use crate::{Tidings, config};

/// The most characters of an id that a university gives.
pub(super) const ID_MAX: usize = 128;
/// The most characters of a name, and of a major, that are kept.
const NAME_MAX: usize = 100;

/// An id of the university as it is kept: in NFC, of 1 to [`ID_MAX`] characters, none of which is a control character
/// or invisible, with no white space at its ends, and not one that stands for somebody else. `None` for any other text.
///
/// Our rule for the characters of ids does not apply: universities also write them with spaces or slashes, or in the
/// letters of their language.
pub(super) fn university_id(text: &str) -> Option<Cow<'_, str>> {
    // Too long in any form.
    if text.len() > 4 * ID_MAX {
        return None;
    }
    let id = tidings_text::compose(text);
    let is_id = (Bounds { min: 1, max: ID_MAX }).hold(&id)
        && id.trim() == id
        && shown::is_shown(&id)
        && !RESERVED_IDS.contains(&fold(&id).as_str());
    is_id.then_some(id)
}

/// A name or a major that the university gives, as it is kept: on one line, without control characters, what is not
/// seen ([`shown`]) and white space at its ends, cut to [`NAME_MAX`] characters.
pub(super) fn university_name(text: &str) -> String {
    // Only so much of what is too long is looked at.
    let space = |c: char| if c.is_whitespace() { ' ' } else { c };
    let line: String = text.trim().chars().take(4 * NAME_MAX).map(space).nfc().collect();
    let cut: String = shown::only_shown(&line).chars().take(NAME_MAX).collect();
    shown::only_shown(&cut).trim().to_owned()
}

/// What the university says to an id and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No member of it has the id.
    Unknown,
    /// One has, with another password.
    WrongPassword,
    /// It is a member.
    Verified {
        /// The name it knows the member by.
        name: String,
        /// The subject the member studies, or `""`.
        major: String,
    },
}

/// Why the university did not answer; the cause, for the log.
#[derive(Debug, thiserror::Error)]
#[error("the university verification failed: {0}")]
pub struct VerifyError(pub String);

/// Somebody who knows the university's members.
pub trait Verifier: Send + Sync {
    /// Whether the university knows the id, and by this password.
    ///
    /// # Errors
    /// The outer result is our own failure (a full queue, a failing store), the inner the university's.
    fn verify(&self, tidings: &Tidings, id: &str, password: &str) -> Result<Result<Verdict, VerifyError>>;

    /// As [`Verifier::verify`], for an attempt of `client`: one that works on this machine serves clients in turn.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    fn verify_for(
        &self,
        tidings: &Tidings,
        id: &str,
        password: &str,
        _client: Option<Client>,
    ) -> Result<Result<Verdict, VerifyError>> {
        self.verify(tidings, id, password)
    }

    /// Whether `sign_up` refuses the id because it is a university member's.
    ///
    /// # Errors
    /// When the store fails.
    fn reserves(&self, tidings: &Tidings, id: &str) -> Result<bool>;
}

/// The verifier that the settings name.
pub(crate) fn from_config(config: &Config) -> Box<dyn Verifier> {
    match config.verifier {
        config::Verifier::None => Box::new(Nobody),
        config::Verifier::Roster => Box::new(Roster),
        config::Verifier::Http => Box::new(Http::new(config.http_verifier.clone())),
    }
}

/// Nobody is asked.
struct Nobody;

impl Verifier for Nobody {
    fn verify(&self, _: &Tidings, _: &str, _: &str) -> Result<Result<Verdict, VerifyError>> {
        Ok(Err(VerifyError("no verifier is set".into())))
    }

    fn reserves(&self, _: &Tidings, _: &str) -> Result<bool> {
        Ok(false)
    }
}

/// The roster in the database.
struct Roster;

impl Verifier for Roster {
    fn verify(&self, tidings: &Tidings, id: &str, password: &str) -> Result<Result<Verdict, VerifyError>> {
        self.verify_for(tidings, id, password, None)
    }

    fn verify_for(
        &self,
        tidings: &Tidings,
        id: &str,
        password: &str,
        client: Option<Client>,
    ) -> Result<Result<Verdict, VerifyError>> {
        let entry = tidings.store().read(|tx| table::find(tx, &fold(id)))?;
        // An unknown id is compared all the same, so that the time does not tell it from a known one.
        let turn = Turn::new(Purpose::SignInUp, client);
        let stored = entry.as_ref().map(|entry| entry.password.as_str());
        let check = tidings.hasher().check(turn, password, stored)?;
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

/// An address that answers for the university.
struct Http {
    agent: ureq::Agent,
    config: HttpVerifier,
}

/// What is asked.
#[derive(Serialize)]
struct Question<'q> {
    id: &'q str,
    pw: &'q str,
}

/// What is answered.
#[derive(Deserialize)]
struct Reply {
    verified: bool,
    known: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    major: String,
}

/// The most bytes of an answer that are read.
const REPLY_MAX: u64 = 64 << 10;

impl Http {
    fn new(config: HttpVerifier) -> Self {
        let mut agent = ureq::Agent::config_builder().timeout_global(Some(config.timeout)).max_redirects(0);
        if config.url.parse().is_ok_and(|url: Uri| config::is_plain_http(&url)) {
            // A proxy that the environment names would read the passwords.
            agent = agent.proxy(None);
        }
        Self { agent: agent.build().into(), config }
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
            Err(error) => Err(VerifyError(error.to_string())),
        })
    }

    fn reserves(&self, _: &Tidings, id: &str) -> Result<bool> {
        Ok(self.config.school_ids.as_ref().is_some_and(|ids| ids.matches(id)))
    }
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        tracing::warn!(%error, "answered `api error`");
        Self::Documented(crate::error::Outcome::ApiError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_university_is_one_visible_word_or_more_and_nobody_elses() {
        for id in ["1", "s/2026 003", "학번-1", "a".repeat(128).as_str(), "e\u{301}"] {
            assert!(university_id(id).is_some(), "{id:?}");
        }
        assert_eq!(university_id("e\u{301}").as_deref(), Some("\u{e9}"));
        let long = "a".repeat(129);
        for id in [
            "",
            " ",
            "\n",
            "s1\r\nSet-Cookie: x",
            "s1 ",
            "\u{3000}s1",
            "s\u{200b}1",
            "s\u{202e}1",
            "s1\0",
            "guest",
            "GUEST",
            "Removed",
            &long,
            &"x".repeat(100_000),
        ] {
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
