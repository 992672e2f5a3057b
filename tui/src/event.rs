//! What happens to the screens: keys and the mouse, time, and the answers of effects.

use crossterm::event::{KeyEvent, MouseEvent};
use tidings_core::changes::Changes;

use crate::effect::{Act, Answer};
use crate::problem::Problem;

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
