//! The events that the screens react to: keys and the mouse, time, and finished effects.

use crossterm::event::{KeyEvent, MouseEvent};
use tidings_client::Look;

use crate::effect::{Act, Answer, Saved};
use crate::problem::Problem;

#[derive(Debug)]
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// The terminal was resized to these numbers of columns and rows.
    Resize(u16, u16),
    /// Time has passed: the current time and state of the service.
    Tick(Look),
    /// A query has been answered.
    Loaded { number: u64, answer: Result<Answer, Problem> },
    /// A change has succeeded or failed.
    Acted { act: Act, result: Result<Saved, Problem> },
    /// The editor that the environment names has ended: what was written, or why it failed.
    Edited(Result<String, Problem>),
    /// The system asks the program to suspend itself (SIGTSTP).
    Suspend,
    /// The program continues after a suspension (SIGCONT).
    Resume,
    /// The system asks the program to end (SIGTERM, SIGHUP or SIGINT), or the terminal has disappeared.
    Stop,
}
