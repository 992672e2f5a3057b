use std::fmt;
use std::process::ExitCode;

use tidings_client::Error as AccessError;
use tidings_client::shown::advice::{advice, of_core};
use tidings_client::shown::escape;
use tidings_core::error::{Code, Explained};
use tidings_core::{Error, Location, StoreError, answer};

pub(crate) type Exit = Result<ExitCode, Failure>;

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) status: u8,
    /// That `--json` prints.
    pub(crate) json: Vec<u8>,
    pub(crate) code: Option<Code>,
}

/// Of a value in a message, in characters.
const VALUE_MAX: usize = 60;

pub(crate) const REFUSED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
const SYSTEM: u8 = 3;
/// Ctrl-C: 128 plus the number of the signal, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::plain(USAGE, misused, message)
    }

    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self::plain(SYSTEM, failed, message)
    }

    /// `message` says what to do about it.
    pub(crate) fn refused(error: &AccessError, message: impl Into<String>) -> Self {
        let message = format!("{error}: {}", message.into());
        Self { message, status: status(error), json: json(error), code: error.code() }
    }

    /// `place` names the argument, the variable or the line of a file that the value comes from.
    pub(crate) fn invalid(value: &str, place: impl fmt::Display, rule: impl fmt::Display) -> Self {
        Self::usage(format!("invalid value {} for {place}: {rule}", shown(value)))
    }

    /// `message` says what has been done so far.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::plain(INTERRUPTED, |message| answer::refusal("interrupted", "interrupted", message), message)
    }

    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        let code = Code::Overloaded.as_str();
        Self::plain(SYSTEM, |message| answer::refusal("overloaded", code, message), message)
    }

    /// Replaces the advice after the `result` text.
    pub(crate) fn with_advice(self, advice: impl fmt::Display) -> Self {
        let result = self.message.split_once(": ").map_or(&*self.message, |(result, _)| result);
        Self { message: format!("{result}: {advice}"), ..self }
    }

    pub(crate) fn declined(message: impl Into<String>) -> Self {
        let code = Code::NotPossible.as_str();
        Self::plain(REFUSED, |message| answer::refusal("bad request", code, message), message)
    }

    fn plain(status: u8, json: impl FnOnce(&str) -> Vec<u8>, message: impl Into<String>) -> Self {
        let message = message.into();
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

fn shown(value: &str) -> String {
    let line = escape::line(value);
    if line.chars().count() <= VALUE_MAX {
        return format!("'{line}'");
    }
    let start: String = line.chars().take(VALUE_MAX).collect();
    format!("'{start}…'")
}

pub(crate) fn misused(message: &str) -> Vec<u8> {
    answer::refusal("bad request", Code::InvalidValue.as_str(), message)
}

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
