//! The failure of a command: its message and its exit status.

use std::fmt;
use std::path::Path;

use tidings_client::Error as AccessError;
use tidings_client::shown::advice::{advice, of_core};
use tidings_client::shown::escape;
use tidings_core::error::{Code, Explained};
use tidings_core::{Error, Location, StoreError, answer};

use crate::given;

#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
    /// The object that `--json` prints.
    json: Vec<u8>,
    /// The condition of a refused operation, if it is known.
    code: Option<Code>,
}

pub(crate) const REFUSED: u8 = 1;
/// The command line or a setting is invalid.
pub(crate) const USAGE: u8 = 2;
/// The database or the system failed.
const SYSTEM: u8 = 3;
/// The user pressed Ctrl-C: 128 plus the number of the signal, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::plain(USAGE, misused, message.into())
    }

    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self::plain(SYSTEM, failed, message.into())
    }

    /// `message` says what to do about it.
    pub(crate) fn refused(error: &AccessError, message: impl Into<String>) -> Self {
        let message = format!("{error}: {}", message.into());
        Self { message, status: status(error), json: json(error), code: error.code() }
    }

    /// `place` names the argument, the variable or the line of a file that the value comes from.
    pub(crate) fn invalid(value: &str, place: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self::usage(format!("invalid value {} for {place}: {rule}", given::shown(value)))
    }

    /// `message` says what has been done so far.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        let interrupted = |message: &str| answer::refusal("interrupted", "interrupted", message);
        Self::plain(INTERRUPTED, interrupted, message.into())
    }

    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        let in_use = |message: &str| answer::refusal("overloaded", Code::Overloaded.as_str(), message);
        Self::plain(SYSTEM, in_use, message.into())
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn json(&self) -> &[u8] {
        &self.json
    }

    pub(crate) const fn code(&self) -> Option<Code> {
        self.code
    }

    /// Replaces the advice after the `result` text.
    pub(crate) fn with_advice(self, advice: impl fmt::Display) -> Self {
        let result = self.message.split_once(": ").map_or(&*self.message, |(result, _)| result);
        Self { message: format!("{result}: {advice}"), ..self }
    }

    pub(crate) const fn status(&self) -> u8 {
        self.status
    }

    pub(crate) fn declined(message: impl Into<String>) -> Self {
        let declined = |message: &str| answer::refusal("bad request", Code::NotPossible.as_str(), message);
        Self::plain(REFUSED, declined, message.into())
    }

    fn plain(status: u8, json: impl FnOnce(&str) -> Vec<u8>, message: String) -> Self {
        Self { json: json(&message), message, status, code: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        AccessError::from(error).into()
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        let advice = advice(&error);
        let is_overloaded = error.code() == Some(Code::Overloaded);
        // The text `internal error` does not help people.
        let message = match status(&error) {
            SYSTEM if !is_overloaded => advice,
            _ => format!("{error}: {advice}"),
        };
        Self { message, status: status(&error), json: json(&error), code: error.code() }
    }
}

/// Returns the object that `--json` prints for an invalid command line or setting.
pub(crate) fn misused(message: &str) -> Vec<u8> {
    answer::refusal("bad request", Code::InvalidValue.as_str(), message)
}

/// Returns the object that `--json` prints when a file or the system failed.
fn failed(message: &str) -> Vec<u8> {
    answer::refusal("internal error", Code::InternalError.as_str(), message)
}

fn status(error: &AccessError) -> u8 {
    match error {
        AccessError::Core(error) => exit_status(error),
        AccessError::Refused(refusal) => match refusal.code {
            Some(Code::Overloaded | Code::InternalError) => SYSTEM,
            _ => REFUSED,
        },
        AccessError::Unreachable { .. } | AccessError::Unexpected { .. } | AccessError::Stopped => SYSTEM,
    }
}

fn json(error: &AccessError) -> Vec<u8> {
    match error {
        AccessError::Core(error) => answer::failure(error),
        AccessError::Refused(refusal) => refusal.json.clone(),
        AccessError::Unreachable { .. } | AccessError::Unexpected { .. } | AccessError::Stopped => {
            failed(&advice(error))
        }
    }
}

const fn exit_status(error: &Error) -> u8 {
    match error {
        Error::Documented(..)
        | Error::BadRequest(_)
        | Error::BadToken
        | Error::Forbidden
        | Error::MissingScope(_)
        | Error::SecondFactorNeeded
        | Error::NotFound
        | Error::LastAdministrator
        | Error::DuplicateUrl
        | Error::TooManyRequests { .. } => REFUSED,
        Error::InvalidSetting(_) => USAGE,
        Error::Overloaded
        | Error::Failed { .. }
        | Error::Store(_)
        | Error::Input(_)
        | Error::Unfinished { .. }
        | Error::Internal(_) => SYSTEM,
    }
}

pub(crate) fn no_database(path: &Path) -> Failure {
    let path = path.display().to_string();
    let path = escape::line(&path);
    Failure::system(format!("there is no database {path}: name it with --db, or create it with tidings init"))
}

pub(crate) fn cannot_open(location: &Location, error: &Error) -> Failure {
    let message = format!("cannot open the database {location}: {}", of_core(error));
    match error {
        // A file, such as that of a password or the key, cannot be used; the database is intact.
        Error::InvalidSetting(invalid) => Failure::usage(invalid.to_string()),
        Error::Internal(cause) if cause.is::<Explained>() => Failure::system(of_core(error)),
        // The setting is invalid; the database is intact.
        Error::Store(StoreError::Zone { .. }) => Failure::usage(message),
        _ => Failure::system(message),
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::Outcome;

    use super::*;

    /// The documentation lists these exit statuses.
    #[test]
    fn refusals_end_with_1_and_failures_of_the_system_with_3() {
        for outcome in Outcome::ALL {
            assert_eq!(exit_status(&outcome.into()), REFUSED, "{outcome}");
        }
        assert_eq!(exit_status(&Error::LastAdministrator), REFUSED);
        assert_eq!(exit_status(&Error::Store(StoreError::Duplicate)), SYSTEM);
        assert_eq!(exit_status(&Error::Overloaded), SYSTEM);
    }
}
