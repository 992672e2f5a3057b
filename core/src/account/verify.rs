//! University verification: who says that an id is a university member's.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::password::Check;
use super::{fold, roster};
use crate::error::{Error, Result};
use crate::{Tidings, config};

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

    /// Whether `sign_up` refuses the id because it is a university member's.
    ///
    /// # Errors
    /// When the store fails.
    fn reserves(&self, tidings: &Tidings, id: &str) -> Result<bool>;
}

/// The verifier that the settings name.
pub(crate) fn from_config(config: &config::Verifier) -> Box<dyn Verifier> {
    match config {
        config::Verifier::None => Box::new(Nobody),
        config::Verifier::Roster => Box::new(Roster),
        config::Verifier::Http { url, timeout, school_ids, .. } => {
            Box::new(Http::new(url.clone(), *timeout, school_ids.clone()))
        }
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
        let entry = tidings.store().read(|tx| Ok(roster::find(tx, &fold(id))?))?;
        // An unknown id is compared all the same, so that the time does not tell it from a known one.
        let check = tidings.hasher().check(password, entry.as_ref().map(|entry| entry.password.as_str()))?;
        Ok(Ok(match entry {
            None => Verdict::Unknown,
            Some(_) if check == Check::Wrong => Verdict::WrongPassword,
            Some(entry) => Verdict::Verified { name: entry.name, major: entry.major },
        }))
    }

    fn reserves(&self, tidings: &Tidings, id: &str) -> Result<bool> {
        Ok(tidings.store().read(|tx| Ok(roster::find(tx, &fold(id))?))?.is_some())
    }
}

/// An address that answers for the university.
struct Http {
    agent: ureq::Agent,
    url: String,
    school_ids: Option<regex::Regex>,
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
    fn new(url: String, timeout: Duration, school_ids: Option<regex::Regex>) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(timeout)).max_redirects(0);
        Self { agent: config.build().into(), url, school_ids }
    }

    fn ask(&self, id: &str, pw: &str) -> std::result::Result<Reply, Box<ureq::Error>> {
        let mut answer = self.agent.post(&self.url).send_json(Question { id, pw })?;
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
        Ok(self.school_ids.as_ref().is_some_and(|ids| ids.is_match(id)))
    }
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        tracing::warn!(%error, "answered `api error`");
        Self::Documented(crate::error::Outcome::ApiError)
    }
}
