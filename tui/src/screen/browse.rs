//! The common behaviour of the screens that browse a list: keys, the mouse and the filter.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use super::form::{self, Form};
use super::{Ctx, Out, Screen};
use crate::effect::{Act, Answer};
use crate::keys::{self, Action, Table};
use crate::problem::Problem;
use crate::sheet::Sheet;
use crate::widget::browser::{Browser, Handled, Item};

/// A screen that browses a list. The blanket implementation below makes it a [`Screen`].
pub(crate) trait Browse {
    type Item: Item;

    /// Returns the screen's own keys, which take precedence over those of every list.
    const KEYS: &'static Table;

    fn list(&self) -> &Browser<Self::Item>;

    fn list_mut(&mut self) -> &mut Browser<Self::Item>;

    /// Returns the text of an item, in at most `columns` columns.
    fn text(&self, item: &Self::Item, columns: usize, ctx: &Ctx) -> Vec<Line<'static>>;

    /// Requests the shown data that has changed; see [`Screen::refresh`].
    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out);

    /// Requests all shown data, even if it has not changed.
    fn reload(&mut self, ctx: &Ctx, out: &mut Out);

    /// Lists the items that the changed filter matches.
    fn filter_changed(&mut self, ctx: &Ctx, out: &mut Out);

    /// Requests the data of the selected item, because the selection may have moved.
    fn selection_changed(&mut self, _: &Ctx, _: &mut Out) {}

    /// Handles an action that only this screen has. Returns false for every other action.
    fn own_action(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool;

    /// Returns the listed items as a table to export.
    fn sheet(&self, ctx: &Ctx) -> Sheet;

    /// Returns the name and the text that the copy key copies from an item.
    fn copied(item: &Self::Item) -> (&'static str, String);

    /// Handles the answer to a request; see [`Screen::answer`].
    fn loaded(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out);

    /// Handles the end of a change; see [`Screen::acted`].
    fn changed(&mut self, _: &Act, _: Result<Option<&str>, &Problem>, _: &Ctx, _: &mut Out) {}

    /// Returns whether a pending request is taking noticeably long.
    fn waits_long(&self, now: Timestamp) -> bool;

    /// Cancels the pending requests. Returns whether there were any.
    fn cancel_pending(&mut self) -> bool;

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx);

    /// Returns the form that covers the list, if it is open.
    fn form(&self) -> Option<&dyn Form> {
        None
    }

    fn form_mut(&mut self) -> Option<&mut dyn Form> {
        None
    }

    fn close_form(&mut self) {}
}

impl<B: Browse> Screen for B {
    fn keys(&self) -> Vec<&'static Table> {
        if let Some(form) = self.form() {
            return form.keys();
        }
        if self.typing() { vec![&keys::INPUT] } else { vec![B::KEYS, &keys::LIST, &keys::SCROLL] }
    }

    fn typing(&self) -> bool {
        self.form().is_some() || self.list().typing()
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        self.load_changed(changes, ctx, out);
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        if let Some(form) = self.form_mut() {
            let handled = form.act(action, ctx, out);
            if handled == form::Handled::Closes {
                self.close_form();
            }
            return handled != form::Handled::No;
        }
        match action {
            Action::Refresh => self.reload(ctx, out),
            Action::Export => out.export = Some(self.sheet(ctx)),
            Action::Copy => {
                if let Some(item) = self.list().selected() {
                    let (name, text) = Self::copied(item);
                    out.copy(name, text);
                }
            }
            action if self.own_action(action, ctx, out) => {}
            action => {
                let columns = self.list().areas(ctx.body()).text.width.into();
                let lines = self.list().selected().map_or(0, |item| self.text(item, columns, ctx).len());
                match self.list_mut().act(action, ctx.body(), lines) {
                    Handled::No => return false,
                    Handled::Yes => {}
                    Handled::FilterChanged => self.filter_changed(ctx, out),
                }
            }
        }
        self.selection_changed(ctx, out);
        true
    }

    fn key(&mut self, key: KeyEvent, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = self.form_mut() {
            return form.key(key);
        }
        if self.list_mut().key(key) == Handled::FilterChanged {
            self.filter_changed(ctx, out);
        }
    }

    fn paste(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = self.form_mut() {
            return form.paste(text);
        }
        if self.list_mut().filter.paste(text) {
            self.filter_changed(ctx, out);
        }
    }

    fn click(&mut self, at: Position, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = self.form_mut() {
            return form.click(at, ctx.body());
        }
        self.list_mut().click(at, ctx.body());
        self.selection_changed(ctx, out);
    }

    fn answer(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out) {
        self.loaded(number, answer, ctx, out);
    }

    fn acted(&mut self, act: &Act, result: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        if self.form_mut().is_some_and(|form| form.acted(act, result)) {
            self.close_form();
        }
        self.changed(act, result, ctx, out);
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.waits_long(now) || self.form().is_some_and(|form| form.is_slow(now))
    }

    fn cancel(&mut self) -> bool {
        self.cancel_pending()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        match self.form() {
            Some(form) => form.draw(area, frame.buffer_mut(), ctx),
            None => self.draw_list(frame, area, ctx),
        }
    }
}
