//! What commands print, and the status they end with.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use tidings_core::{Error, StoreError, answer};

/// Why a command failed: what to print on standard error, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
    /// The object that `--json` prints.
    json: Vec<u8>,
}

/// An operation's result is a failure.
const REFUSED: u8 = 1;
/// The command line, or a setting, is wrong.
const USAGE: u8 = 2;
/// The database or the system failed.
const SYSTEM: u8 = 3;

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

    /// Prints the failure.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if json {
            print_line(&self.json);
        }
        eprintln!("tidings: {}", self.message);
        ExitCode::from(self.status)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = match error.detail() {
            Some(detail) => format!("{error}: {detail}"),
            None => error.to_string(),
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
        Error::Overloaded | Error::Failed { .. } | Error::Store(_) | Error::Input(_) | Error::Internal(_) => {
            SYSTEM
        }
    }
}

/// Prints an operation's answer: with `--json` the object that HTTP would answer, else `text` for people.
pub(crate) fn success<T: Serialize>(json: bool, body: &T, text: &str) -> ExitCode {
    if json {
        print_line(&answer::success(body));
    } else if !text.is_empty() {
        print_line(text.as_bytes());
    }
    ExitCode::SUCCESS
}

/// Prints a line to standard output. A reader that has gone away wants no more, which is no failure.
pub(crate) fn print_line(line: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}

/// Whether somebody is there to be asked.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// What to do about a database that does not open.
pub(crate) fn cannot_open(path: &std::path::Path, error: Error) -> Failure {
    let path = path.display();
    match error {
        Error::Store(StoreError::Foreign) => {
            Failure::system(format!("{path} is not a tidings database: name another file with --db"))
        }
        Error::Store(error @ StoreError::Newer { .. }) => Failure::system(format!("{path}: {error}")),
        // The setting is wrong, not the database.
        Error::Store(error @ StoreError::Zone { .. }) => Failure::usage(format!("{path}: {error}")),
        error => {
            let detail = error.detail().unwrap_or_else(|| error.to_string());
            Failure::system(format!("cannot open the database {path}: {detail}"))
        }
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
