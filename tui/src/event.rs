//! What happens to the screens: keys and the mouse, time, and the answers of effects.

use crossterm::event::{KeyEvent, MouseEvent};
use tidings_core::changes::Changes;
use tidings_core::{Error, Outcome};

use crate::effect::{Act, Answer};

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The terminal has so many columns and rows.
    Resize(u16, u16),
    /// Time has passed: what time it is, and what has changed by now.
    Tick { now: i64, changes: Changes },
    /// An answer has come.
    Loaded { number: u64, answer: Answer },
    /// An act is done, or was refused.
    Acted { act: Act, result: Result<(), Problem> },
    /// The system asks the program to go to the background.
    Suspend,
    /// The program goes on after it was stopped.
    Resume,
    /// The system asks the program to end.
    Stop,
}

/// Why something did not succeed, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
    /// Whether it is that a file is there already.
    pub(crate) exists: bool,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into(), exists: false }
    }

    /// A failure in the program itself, such as a panic of an effect.
    pub(crate) fn internal(message: &str) -> Self {
        Self::new(format!("The program failed: {message}."), "Please report it; what was saved is safe.")
    }

    /// A failure of the system on a file.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let what = format!("Cannot {what} {}: {error}.", path.display());
        Self { what, remedy: "Name another file, or make room for it.".into(), exists }
    }

    /// Both in a line.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.what, self.remedy)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match &error {
            Error::NotFound | Error::Documented(Outcome::NotFound | Outcome::NoMember) => Self::new(
                "It is not there: it may have been removed meanwhile.",
                "Ctrl-L reads everything anew.",
            ),
            Error::LastAdministrator => Self::new(
                "Nobody would be left who can administer.",
                "Make another member an administrator first.",
            ),
            Error::BadRequest(rule) => Self::new(format!("Not taken: {rule}."), ""),
            Error::Overloaded => {
                Self::new("Too much is waiting to be written.", "Nothing was changed; try again in a moment.")
            }
            _ => {
                let detail = error.detail().unwrap_or_else(|| error.to_string());
                Self::new(
                    format!("The database failed: {detail}."),
                    "Look whether the disk is full; then try again.",
                )
            }
        }
    }
}
