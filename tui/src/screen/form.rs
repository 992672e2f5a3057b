//! The forms that cover the list of a screen. All but that of a notice are a [`Page`].

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

    /// `area` is that of the form.
    fn click(&mut self, at: Position, area: Rect);

    /// Returns whether the form closes.
    fn change_done(&mut self, act: &Act, result: Changed) -> bool;

    fn is_slow(&self, _: Timestamp) -> bool {
        false
    }

    /// The end of the form must not lose these changes.
    fn is_changed(&self) -> bool {
        false
    }

    /// The draft of the unsaved notice is being saved from now on.
    fn draft(&mut self, _: &Ctx) -> Option<Box<NoticeEdit>> {
        None
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx);
}
