//! Why a command failed, how that is told, and the status that it ends with.

use std::path::Path;

use tidings_core::{Error, StoreError, answer};
use tidings_tui::advice::advice;
use tidings_tui::escape;

/// Why a command failed: what to print on standard error, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
    /// The object that `--json` prints.
    json: Vec<u8>,
}

/// An operation's result is a failure.
pub(crate) const REFUSED: u8 = 1;
/// The command line, or a setting, is wrong.
pub(crate) const USAGE: u8 = 2;
/// The database or the system failed.
const SYSTEM: u8 = 3;
/// Somebody pressed Ctrl-C; as shells have it, 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    /// The command line, or a setting, is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: USAGE, json: answer::refusal("bad request") }
    }

    /// A file or the system failed.
    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: SYSTEM, json: answer::refusal("internal error") }
    }

    /// An operation was refused; `message` says what to do about it.
    pub(crate) fn refused(error: &Error, message: impl Into<String>) -> Self {
        let message = format!("{error}: {}", message.into());
        Self { message, status: exit_status(error), json: answer::failure(error) }
    }

    /// Somebody pressed Ctrl-C, and the work has stopped; `message` says how that left things.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: INTERRUPTED, json: answer::refusal("interrupted") }
    }

    /// A process has what the command would change.
    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: SYSTEM, json: answer::failure(&Error::Overloaded) }
    }

    /// The message for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The object that `--json` prints.
    pub(crate) fn json(&self) -> &[u8] {
        &self.json
    }

    /// The exit status.
    pub(crate) const fn status(&self) -> u8 {
        self.status
    }

    /// This failure, told to be at some place.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// Somebody was asked and wants it no more.
    pub(crate) fn declined(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: REFUSED, json: answer::refusal("bad request") }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let advice = advice(&error);
        // `internal error` tells people nothing.
        let message = match exit_status(&error) {
            SYSTEM if !matches!(error, Error::Overloaded) => advice,
            _ => format!("{error}: {advice}"),
        };
        Self { message, status: exit_status(&error), json: answer::failure(&error) }
    }
}

/// The exit status of an operation that failed.
const fn exit_status(error: &Error) -> u8 {
    match error {
        Error::Documented(_)
        | Error::BadRequest(_)
        | Error::BadToken
        | Error::Forbidden
        | Error::NotFound
        | Error::LastAdministrator
        | Error::DuplicateUrl
        | Error::TooManyRequests { .. } => REFUSED,
        Error::Overloaded
        | Error::Failed { .. }
        | Error::Store(_)
        | Error::Input(_)
        | Error::Unfinished { .. }
        | Error::Internal(_) => SYSTEM,
    }
}

/// There is no database.
pub(crate) fn no_database(path: &Path) -> Failure {
    let path = path.display().to_string();
    let path = escape::line(&path);
    Failure::system(format!("there is no database {path}: name it with --db, or make it with tidings init"))
}

/// Returns the failure to open the database `path`.
pub(crate) fn cannot_open(path: &Path, error: &Error) -> Failure {
    let message = format!("cannot open the database {}: {}", path.display(), advice(error));
    match error {
        // The setting is wrong, not the database.
        Error::Store(StoreError::Zone { .. }) => Failure::usage(message),
        _ => Failure::system(message),
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::Outcome;

    use super::*;

    /// The exit status of each failure stands in the README.
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
