//! The forms that cover the list of a screen.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tidings_core::clock::Timestamp;

use super::{Ctx, Out};
use crate::effect::{Act, Changed, NoticeEdit};
use crate::keys::{Action, Table};

mod page;

pub(crate) use page::{Kind, Page, Request, Typed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    Yes,
    /// The frame handles the action.
    No,
    Closes,
}

/// Separated by commas.
pub(crate) fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

pub(crate) trait Form {
    fn keys(&self) -> Vec<&'static Table>;

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> Handled;

    fn key(&mut self, key: KeyEvent);

    fn paste(&mut self, text: &str);

    /// Takes over what was written in the editor that the environment names.
    fn edited(&mut self, text: &str);

    /// Handles a click within `area`, the area of the form.
    fn click(&mut self, at: Position, area: Rect);

    /// Returns whether the form closes.
    fn change_done(&mut self, act: &Act, result: Changed) -> bool;

    /// Returns whether saving is taking noticeably long.
    fn is_slow(&self, now: Timestamp) -> bool;

    /// Returns whether the form contains unsaved changes that its end must not lose.
    fn is_changed(&self) -> bool;

    /// Returns the unsaved notice in the form as a draft, which is being saved from now on.
    fn draft(&mut self, ctx: &Ctx) -> Option<Box<NoticeEdit>>;

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx);
}
