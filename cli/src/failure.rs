//! Why a command failed, how that is told, and the status that it ends with.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ContextValue;
use tidings_core::import::Done;
use tidings_core::{Error, Outcome, StoreError, answer};

use crate::args;
use crate::output::{self, Output, Style, text};
use crate::settings::wrong_variable;

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
const USAGE: u8 = 2;
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

    /// What is told.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// This failure, told to be at some place.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// Somebody was asked and wants it no more.
    pub(crate) fn declined(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: REFUSED, json: answer::refusal("bad request") }
    }

    /// Prints the failure: for programs its object on standard output, for people its message on standard error.
    pub(crate) fn report(&self, output: &Output) -> ExitCode {
        // Where the object cannot be written, the message still can.
        let _ = output.object(&self.json);
        let name = output::paint("tidings:", Style::Bad, output.colours_errors());
        output::note(&format!("{name} {}", text::block(&self.message)));
        ExitCode::from(self.status)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Some(message) = of_the_disk(&error) {
            return Self { message, status: exit_status(&error), json: answer::failure(&error) };
        }
        let advice = error.detail().or_else(|| advice(&error).map(str::to_owned));
        let message = advice.map_or_else(|| error.to_string(), |advice| format!("{error}: {advice}"));
        Self { message, status: exit_status(&error), json: answer::failure(&error) }
    }
}

/// What to say of a disk, or of files on it, and of what an import did before it failed.
fn of_the_disk(error: &Error) -> Option<String> {
    match error {
        Error::Store(cause @ StoreError::Full) => Some(format!("{cause}: {MAKE_ROOM}")),
        Error::Store(cause @ StoreError::Replaced { .. }) => Some(cause.to_string()),
        Error::Unfinished { cause, done } => {
            let Done { inserted, updated, skipped } = done;
            let cause = match cause {
                StoreError::Full => format!("{cause}: {MAKE_ROOM}"),
                cause => cause.to_string(),
            };
            Some(format!(
                "{cause}\nBefore that {inserted} were inserted, {updated} updated and {skipped} skipped. Import again: \
                 it goes on from there."
            ))
        }
        _ => None,
    }
}

const MAKE_ROOM: &str = "make room, or move the database to another disk, and try again";

/// What to do about an error that does not say so itself.
fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::Forbidden | Error::Documented(Outcome::NotAdmin) => {
            Some("this is for administrators: leave --as out, or name one")
        }
        Error::BadToken => Some("only a member does this: name one with --as ID"),
        Error::Overloaded => Some("the database is busy: try again in a moment"),
        Error::DuplicateUrl => Some("another post has this address"),
        Error::LastAdministrator => Some("make another member an administrator first"),
        Error::Documented(outcome) => match outcome {
            Outcome::NoMember => Some("nobody has this id"),
            Outcome::IncorrectPw | Outcome::PwIncorrect => Some("this is not the member's password"),
            Outcome::BlacklistUser => Some("let them back with tidings blacklist remove ID"),
            Outcome::NotSchool => Some("the university does not know this id"),
            Outcome::ApiError => {
                Some("the university's system did not answer, or there is none: see --verifier")
            }
            _ => None,
        },
        _ => None,
    }
}

/// What a command line that cannot be parsed, or that asks for help, ends with.
pub(crate) fn misused(mut refused: clap::Error) -> ExitCode {
    let status = u8::try_from(refused.exit_code()).unwrap_or(USAGE);
    if status == 0 {
        // Our own words; a reader that has gone away wants no more.
        let _ = refused.print();
        return ExitCode::SUCCESS;
    }
    let for_programs = || args::given().any(|argument| argument == "--json" || argument == "--ndjson");
    if for_programs() {
        // Where the object cannot be written, the message still can.
        let _ = output::print(&answer::refusal("bad request"));
    }
    let colour = output::colours(args::color(), std::io::stderr().is_terminal());
    if let Some(message) = wrong_variable(&refused) {
        let name = output::paint("tidings:", Style::Bad, colour);
        output::note(&format!("{name} {}", text::block(&message)));
        return ExitCode::from(status);
    }
    on_lines(&mut refused);
    let text = refused.render().to_string();
    output::note(&with_name(text::block(text.trim_end()).as_ref(), colour));
    ExitCode::from(status)
}

/// Keeps what was typed from looking like lines of the message.
fn on_lines(refused: &mut clap::Error) {
    let fit = |value: &ContextValue| match value {
        ContextValue::String(typed) => Some(ContextValue::String(text::line(typed).into_owned())),
        ContextValue::Strings(typed) => {
            Some(ContextValue::Strings(typed.iter().map(|typed| text::line(typed).into_owned()).collect()))
        }
        _ => None,
    };
    let fitted: Vec<_> = refused.context().filter_map(|(kind, value)| Some((kind, fit(value)?))).collect();
    for (kind, value) in fitted {
        refused.insert(kind, value);
    }
}

/// The message of a command line that cannot be parsed, with the word it begins with so that it stands out.
fn with_name(message: &str, colour: bool) -> String {
    const NAME: &str = "error:";
    match message.strip_prefix(NAME) {
        Some(rest) => output::paint(NAME, Style::Bad, colour) + rest,
        // Help, where a command is missing.
        None => message.to_owned(),
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
    let path = text::line(&path);
    Failure::system(format!("there is no database {path}: name it with --db, or make it with tidings init"))
}

/// What to do about a database that does not open.
pub(crate) fn cannot_open(path: &Path, error: Error) -> Failure {
    let path = path.display();
    match error {
        Error::Store(StoreError::Foreign) => {
            Failure::system(format!("{path} is not a tidings database: name another file with --db"))
        }
        Error::Store(error @ StoreError::Newer { .. }) => Failure::system(format!("{path}: {error}")),
        Error::Store(StoreError::Full) => Failure::system(format!(
            "the disk of the database {path} is full: make room there, or name a database on another disk with --db"
        )),
        Error::Store(error @ (StoreError::Emptied { .. } | StoreError::Replaced { .. })) => {
            Failure::system(error.to_string())
        }
        Error::Store(error @ StoreError::Damaged(_)) => Failure::system(format!(
            "the database {path} is damaged: {error}: tidings check says more; a backup can take its place: tidings \
             restore FILE"
        )),
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
