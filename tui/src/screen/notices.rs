//! Notices: reading, writing, showing, hiding and removing them.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Answer};
use crate::keys::{Action, Table};
use crate::problem::Problem;
use crate::screen::browse::Browse as _;
use crate::screen::{Ctx, Out, Screen};

mod editor;
mod form;
mod list;
mod row;

use editor::Editor;
use list::{NoticeList, SETTLING};

/// The notices, and the editor while it is open.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    list: NoticeList,
    editor: Option<Editor>,
}

impl Notices {
    /// Returns whether the editor contains unsaved changes.
    pub(crate) fn unsaved(&self) -> bool {
        self.editor.as_ref().is_some_and(Editor::is_changed)
    }

    /// Saves the draft in the editor if it has changed since the last save.
    pub(crate) fn save_draft(&mut self, now: Timestamp, out: &mut Out) {
        if let Some(draft) = self.editor.as_mut().and_then(|editor| editor.take_draft(now)) {
            out.act(Act::SaveDraft(draft));
        }
    }

    /// Opens a notice for reading, at once or when the notices have been loaded.
    pub(crate) fn open(&mut self, id: String, out: &mut Out) {
        self.list.open(id, out);
    }

    fn edit(&mut self, ctx: &Ctx) {
        let Some(row) = self.list.list().selected() else { return };
        self.editor = Some(Editor::of(Some(row), ctx));
    }

    fn close_editor(&mut self, ctx: &Ctx, out: &mut Out) {
        self.editor = None;
        self.list.reload(ctx, out);
    }
}

impl Screen for Notices {
    fn keys(&self) -> Vec<&'static Table> {
        self.editor.as_ref().map_or_else(|| self.list.keys(), Editor::keys)
    }

    fn typing(&self) -> bool {
        self.editor.is_some() || self.list.typing()
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        self.list.refresh(changes, ctx, out);
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        if let Some(editor) = &mut self.editor {
            if editor.act(action, ctx, out) {
                self.close_editor(ctx, out);
            }
            return !matches!(action, Action::Suspend | Action::Help);
        }
        // Opening the draft of a new notice resumes it.
        let is_draft = self.list.list().selected().is_some_and(|row| row.notice.is_none());
        match action {
            Action::Edit | Action::Open if self.list.is_settling() => out.say(SETTLING),
            Action::New => self.editor = Some(Editor::of(None, ctx)),
            Action::Edit => self.edit(ctx),
            Action::Open if is_draft && !self.list.typing() => self.edit(ctx),
            action => return self.list.act(action, ctx, out),
        }
        true
    }

    fn key(&mut self, key: KeyEvent, ctx: &Ctx, out: &mut Out) {
        match &mut self.editor {
            Some(editor) => editor.key(key),
            None => self.list.key(key, ctx, out),
        }
    }

    fn paste(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        match &mut self.editor {
            Some(editor) => editor.paste(text),
            None => self.list.paste(text, ctx, out),
        }
    }

    fn click(&mut self, at: Position, ctx: &Ctx, out: &mut Out) {
        match &mut self.editor {
            Some(editor) => editor.click(at, ctx.body()),
            None => self.list.click(at, ctx, out),
        }
    }

    fn answer(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out) {
        self.list.answer(number, answer, ctx, out);
    }

    fn acted(&mut self, act: &Act, result: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        if let Some(editor) = &mut self.editor {
            match act {
                Act::SaveNotice { draft, .. } | Act::ShareDraft { draft, .. }
                    if editor.saved(draft, result) =>
                {
                    self.editor = None;
                }
                Act::SaveDraft(draft) if editor.draft_saved(&draft.key, result) => {
                    out.done("Saved as a draft.");
                    let row = draft.shared.as_ref().or(draft.notice.as_ref()).unwrap_or(&draft.key);
                    self.list.select_loaded(row);
                    self.close_editor(ctx, out);
                }
                _ => {}
            }
        }
        self.list.acted(act, result, ctx, out);
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.list.is_slow(now) || self.editor.as_ref().is_some_and(|editor| editor.is_slow(now))
    }

    fn cancel(&mut self) -> bool {
        self.list.cancel()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        match &self.editor {
            Some(editor) => editor.draw(area, frame.buffer_mut(), ctx),
            None => self.list.draw(frame, area, ctx),
        }
    }
}
