//! Notices: read, written, shown, hidden and removed.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tidings_core::changes::Changes;

use crate::draft::SavedDraft;
use crate::effect::{Act, Answer, Query};
use crate::keys::{self, Action, Table};
use crate::number::{self, number};
use crate::pending::Pending;
use crate::problem::Problem;
use crate::screen::{Ctx, Out, Question, Screen, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Handled, NO_MATCH};
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};

mod editor;
mod row;

use editor::Editor;
use row::{Row, Sort};

/// The notices, and the editor where one is written.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    pending: Pending,
    list: Browser<Row>,
    sort: Sort,
    seen: Option<i64>,
    editor: Option<Editor>,
    /// The notice that is to be opened once the notices are there.
    wanted: Option<String>,
}

const COLUMNS: [Column; 4] = [
    Column::new("Title", 0),
    Column::new("Date", 16).from(60),
    Column::new("Views", 7).right(),
    Column::new("State", 8),
];

impl Notices {
    /// What would be lost if the program ended now.
    pub(crate) fn unsaved(&self) -> bool {
        self.editor.as_ref().is_some_and(Editor::is_changed)
    }

    /// Keeps the draft of what is being written.
    pub(crate) fn keep(&mut self, now: i64, out: &mut Out) {
        if let Some(draft) = self.editor.as_mut().and_then(|editor| editor.take_draft(now)) {
            out.act(Act::SaveDraft(draft));
        }
    }

    /// Opens a notice for reading, now or once it is read.
    pub(crate) fn open(&mut self, id: String, out: &mut Out) {
        self.wanted = Some(id);
        if !self.pending.is_waiting() {
            self.open_wanted(out);
        }
    }

    fn open_wanted(&mut self, out: &mut Out) {
        let Some(id) = self.wanted.take() else { return };
        self.list.filter = Input::default();
        self.arrange();
        if self.list.select(&id) {
            self.list.read();
        } else {
            out.say("The notice is no longer there.");
        }
    }

    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        out.effect(self.pending.request(ctx.now, Query::Notices));
    }

    fn arrange(&mut self) {
        let sort = self.sort;
        self.list.arrange(|_| true, |a, b| sort.order(a, b));
    }

    fn edit(&mut self, ctx: &Ctx) {
        let Some(row) = self.list.selected() else { return };
        self.editor = Some(Editor::of(row.notice.as_ref(), row.draft.as_ref(), ctx.now));
    }

    fn remove(&self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        let title = row.title().to_owned();
        out.question = Some(match (&row.notice, &row.draft) {
            (Some(notice), _) => Question::yes_or_no(
                format!("Remove the notice “{title}”?"),
                format!(
                    "It was read {} times. It cannot be brought back; feedback on it stays.",
                    notice.view
                ),
                "remove it",
                Act::RemoveNotice { id: row.id.clone(), title },
            ),
            (None, draft) => Question::yes_or_no(
                format!("Throw the draft “{title}” away?"),
                "It was never published.",
                "throw it away",
                Act::DiscardDraft {
                    key: draft.as_ref().map(|draft| draft.key.clone()).unwrap_or_default(),
                    at: ctx.now,
                },
            ),
        });
    }

    fn toggle(&self, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        if row.notice.is_none() {
            return out.say("A draft is published from the editor: e, then Ctrl-S.");
        }
        out.act(Act::ShowNotice { id: row.id.clone(), title: row.title().to_owned(), shown: !row.shown() });
    }

    fn export(&self, ctx: &Ctx) -> Sheet {
        let row = |row: &Row| {
            vec![
                row.id.as_str().into(),
                row.title().into(),
                ctx.stamp(row.date()).into(),
                row.view().into(),
                row.state().trim_start_matches(['✎', '●', '○', ' ']).into(),
                row.post().into(),
            ]
        };
        Sheet {
            name: format!("notices-{}", ctx.day(ctx.now)),
            head: vec!["_id", "title", "date", "view", "state", "post"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn text(row: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![row.state().to_owned(), ctx.stamp(row.date())];
        if row.notice.is_some() {
            facts.push(number::count(row.view(), "view"));
        }
        let mut lines = reading(row.title(), &facts.join(" · "), row.post(), columns);
        if row.notice.is_some() && row.draft.is_some() {
            let hint = "There is a draft of changes: e goes on with it.";
            lines.insert(lines.len().min(2), Line::styled(hint, ctx.theme.attention()));
        }
        lines
    }

    fn lines(&self, ctx: &Ctx) -> usize {
        let columns = self.list.areas(ctx.body()).text.width.into();
        self.list.selected().map_or(0, |row| Self::text(row, columns, ctx).len())
    }

    fn act_in_editor(&mut self, action: Action, ctx: &Ctx, out: &mut Out) {
        let Some(editor) = &mut self.editor else { return };
        if editor.act(action, ctx, out) {
            self.editor = None;
            self.load(ctx, out);
        }
    }
}

impl Screen for Notices {
    fn keys(&self) -> Vec<&'static Table> {
        match &self.editor {
            Some(editor) => editor.keys(),
            None if self.list.typing() => vec![&keys::INPUT],
            None => vec![&keys::NOTICES, &keys::LIST, &keys::SCROLL],
        }
    }

    fn typing(&self) -> bool {
        self.editor.is_some() || self.list.typing()
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        if self.seen != Some(changes.notices) && !self.pending.is_waiting() {
            self.seen = Some(changes.notices);
            self.load(ctx, out);
        }
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        if self.editor.is_some() {
            self.act_in_editor(action, ctx, out);
            return !matches!(action, Action::Suspend | Action::Help);
        }
        match action {
            Action::New => self.editor = Some(Editor::of(None, None, ctx.now)),
            Action::Edit => self.edit(ctx),
            // A draft is there to be gone on with.
            Action::Open
                if self.list.selected().is_some_and(|row| row.notice.is_none()) && !self.list.typing() =>
            {
                self.edit(ctx);
            }
            Action::Toggle => self.toggle(out),
            Action::Remove => self.remove(ctx, out),
            Action::Sort => {
                self.sort = self.sort.next();
                self.arrange();
            }
            Action::Refresh => self.load(ctx, out),
            Action::Export => out.export = Some(self.export(ctx)),
            Action::Copy => {
                if let Some(row) = self.list.selected() {
                    out.copy("the text", format!("{}\n\n{}\n", row.title(), row.post()));
                }
            }
            action => match self.list.act(action, ctx.body(), self.lines(ctx)) {
                Handled::No => return false,
                Handled::Yes => {}
                Handled::FilterChanged => self.arrange(),
            },
        }
        true
    }

    fn key(&mut self, key: KeyEvent, _: &Ctx, _: &mut Out) {
        if let Some(editor) = &mut self.editor {
            editor.key(key);
        } else if self.list.key(key) == Handled::FilterChanged {
            self.arrange();
        }
    }

    fn paste(&mut self, text: &str, _: &Ctx, _: &mut Out) {
        if let Some(editor) = &mut self.editor {
            editor.paste(text);
        } else if self.list.typing() && self.list.filter.paste(text) {
            self.arrange();
        }
    }

    fn click(&mut self, at: Position, ctx: &Ctx, _: &mut Out) {
        match &mut self.editor {
            Some(editor) => editor.click(at, ctx.body()),
            None => self.list.click(at, ctx.body()),
        }
    }

    fn answer(&mut self, number: u64, answer: Answer, _: &Ctx, out: &mut Out) {
        let Answer::Notices(answer) = answer else { return };
        let Some((notices, drafts)) = self.pending.take(number, answer) else { return };
        let of = |id: &str| drafts.iter().find(|draft| draft.notice.as_deref() == Some(id)).cloned();
        let mut rows: Vec<Row> = Vec::with_capacity(notices.len() + drafts.len());
        for notice in notices {
            let id = notice.id.to_string();
            rows.push(Row { draft: of(&id), id, notice: Some(notice) });
        }
        for draft in drafts {
            let lost = draft.notice.as_ref().is_some_and(|id| !rows.iter().any(|row| row.id == *id));
            if draft.notice.is_none() || lost {
                // What changed a notice that is gone is a new one now.
                let draft = SavedDraft { notice: None, ..draft };
                rows.push(Row { id: draft.key.clone(), notice: None, draft: Some(draft) });
            }
        }
        let sort = self.sort;
        self.list.set(rows, |_| true, |a, b| sort.order(a, b));
        self.open_wanted(out);
    }

    fn acted(&mut self, act: &Act, result: Result<(), &Problem>, ctx: &Ctx, out: &mut Out) {
        match (act, result) {
            (Act::SaveNotice { draft, .. }, result) => {
                let closed = self.editor.as_mut().is_some_and(|editor| editor.saved(draft, result));
                if closed {
                    self.editor = None;
                }
                self.load(ctx, out);
            }
            (Act::SaveDraft(draft), result) => {
                let closed = self.editor.as_mut().is_some_and(|editor| editor.draft_kept(&draft.key, result));
                if closed {
                    self.editor = None;
                    out.done("SavedDraft as a draft.");
                    self.load(ctx, out);
                }
            }
            (Act::ShowNotice { .. } | Act::RemoveNotice { .. } | Act::DiscardDraft { .. }, _) => {
                self.load(ctx, out);
            }
            _ => {}
        }
    }

    fn is_slow(&self, now: i64) -> bool {
        self.pending.is_slow(now) || self.editor.as_ref().is_some_and(|editor| editor.is_slow(now))
    }

    fn cancel(&mut self) -> bool {
        self.pending.cancel()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        if let Some(editor) = &self.editor {
            return editor.draw(area, frame.buffer_mut(), ctx);
        }
        let (listed, all) = (self.list.listed().count(), self.list.items().len());
        let count = if listed == all { number(all) } else { format!("{listed} of {all}") };
        let head = match (self.seen, all) {
            (Some(_), 0) if self.pending.is_waiting() => "Reading …".to_owned(),
            _ => format!("{count} · {}", self.sort.label()),
        };
        let row = |row: &Row| {
            let style = match row.state() {
                "● shown" => ctx.theme.good(),
                "○ hidden" => Theme::faint(),
                _ => ctx.theme.attention(),
            };
            let views = row.notice.as_ref().map(|notice| number(notice.view)).unwrap_or_default();
            vec![
                Cell::from(row.title()),
                Cell::styled(ctx.stamp(row.date()), Theme::faint()),
                views.into(),
                Cell::styled(row.state(), style),
            ]
        };
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty: match (self.pending.is_waiting() && all == 0, self.list.filter.is_empty()) {
                (true, _) => "",
                (_, true) => "There are no notices. n writes one.",
                (_, false) => NO_MATCH,
            },
            columns: &COLUMNS,
            row: &row,
            text: &|row, columns| Self::text(row, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
