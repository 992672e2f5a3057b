//! The editor of a notice: its title and its text, their lengths and limits, when and where it is visible, and a preview.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use tidings_core::clock::Timestamp;
use tidings_core::notice::{Draft, Visibility};

use super::form::Form;
use super::row::Row;
use crate::draft::SavedDraft;
use crate::effect::{Act, Changed, Effect, NoticeEdit};
use crate::keys::{self, Action, Chord, Table};
use crate::pending::is_slow;
use crate::placing::{NO_TIME, Placing};
use crate::problem::Problem;
use crate::reach::Reach;
use crate::screen::form::{Form as _, Handled};
use crate::screen::{self, Ctx, Out, Question, leaving};
use crate::widget::input::{CLEAR, clear, jump, pasted, text_area};

mod draw;
mod text;

use draw::Areas;
pub(super) use text::Text;

/// The notice in the editor.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub(super) struct Editor {
    /// The draft's name.
    key: String,
    /// The notice that is changed; `None` for a new notice.
    notice: Option<String>,
    /// The draft on the server that is opened.
    shared: Option<String>,
    /// The notice, or the draft on the server, before the change.
    before: Text,
    /// When and where the notice is visible before the change.
    placed: Placing,
    /// The date of the notice; `None` for a new notice.
    date: Option<Timestamp>,
    title: TextArea<'static>,
    post: TextArea<'static>,
    form: Form,
    shown: bool,
    in_title: bool,
    pane: Pane,
    scroll: u16,
    /// Whether the text has changed since the draft was saved last.
    to_keep: bool,
    /// Whether a draft has been saved since the editor was opened.
    kept: bool,
    /// Whether the editor closes once the draft is on disk.
    leaving: bool,
    /// When the draft that the editor resumed was saved.
    resumed: Option<Timestamp>,
    /// When saving began.
    saving: Option<Timestamp>,
    problem: Option<Problem>,
}

/// The part of the editor that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pane {
    Text,
    Form,
    Preview,
}

impl Editor {
    /// Opens a row of the list, or a new notice.
    pub(super) fn of(row: Option<&Row>, ctx: &Ctx) -> Self {
        let before = row.map_or_else(Text::new, |row| Text::of(row, ctx));
        let area = |text: &str, wrap| {
            let mut area = text_area(text, wrap);
            area.move_cursor(CursorMove::Bottom);
            area.move_cursor(CursorMove::End);
            area
        };
        let base = row.and_then(|row| row.notice.as_ref().or(row.base.as_ref()));
        let draft = row.and_then(|row| row.draft.as_ref());
        let text = draft.map_or_else(
            || before.clone(),
            |draft| Text {
                title: draft.title.clone(),
                post: draft.post.clone(),
                shown: draft.shown,
                placing: draft.placing.clone(),
            },
        );
        let shared = row.and_then(|row| row.shared.as_ref());
        let notice = base.map(|notice| notice.id).or(shared.and_then(|shared| shared.notice));
        let key = draft.map(|draft| draft.key.clone()).or(row.map(|row| row.id.clone()));
        Self {
            key: key.unwrap_or_else(|| format!("new{:x}", ctx.now.as_millis())),
            notice: notice.map(|notice| notice.to_string()),
            shared: shared.map(|shared| shared.id.to_string()),
            before,
            placed: base.map(|notice| Placing::of(&notice.placement, ctx)).unwrap_or_default(),
            date: base.map(|notice| notice.date),
            title: area(&text.title, WrapMode::None),
            post: area(&text.post, WrapMode::WordOrGlyph),
            form: Form::new(&text.placing),
            shown: text.shown,
            in_title: row.is_none(),
            pane: Pane::Text,
            scroll: 0,
            to_keep: false,
            kept: false,
            leaving: false,
            resumed: draft.map(|draft| draft.date),
            saving: None,
            problem: None,
        }
    }

    /// Returns who sees the notice once it is saved.
    fn reach(&self, ctx: &Ctx) -> Reach {
        Reach::of_typed(self.shown, &self.form.placing(), ctx)
    }

    fn text(&self) -> Text {
        Text {
            title: self.title.lines().join(" "),
            post: self.post.lines().join("\n"),
            shown: self.shown,
            placing: self.form.placing(),
        }
    }

    fn focused(&mut self) -> &mut TextArea<'static> {
        if self.in_title { &mut self.title } else { &mut self.post }
    }

    fn leaving(&self, ctx: &Ctx) -> Question {
        let save = self.reach(ctx).save(self.notice.is_none());
        let discard =
            if self.notice.is_some() { "discard the changes" } else { "discard it, with its draft" };
        let choices = [
            ('s', save, Action::Save),
            ('k', "keep it as a draft on this machine", Action::SaveDraft),
            ('a', "keep it as a draft of all administrators", Action::ShareDraft),
            ('d', discard, Action::DiscardDraft),
        ];
        leaving(("notice", &self.text().title), "What you typed is not published.", &choices)
    }

    fn save(&mut self, ctx: &Ctx, out: &mut Out) {
        if self.saving.is_some() {
            return;
        }
        // The draft stays on disk until the notice is in the database.
        if let Some(draft) = self.take_draft(ctx.now) {
            out.act(Act::SaveDraft(draft));
        }
        let Some(fields) = self.fields(ctx) else { return };
        out.act(Act::SaveNotice(self.edit(fields, ctx)));
    }

    /// Returns what is to be saved, which begins now.
    fn edit(&mut self, fields: Draft, ctx: &Ctx) -> Box<NoticeEdit> {
        self.saving = Some(ctx.now);
        let (target, shared, draft) = (self.notice.clone(), self.shared.clone(), self.key.clone());
        Box::new(NoticeEdit { target, shared, draft, fields, reach: self.reach(ctx), at: ctx.now })
    }

    /// Saves a draft on the server, where every administrator can continue it.
    fn share(&mut self, ctx: &Ctx, out: &mut Out) {
        if self.saving.is_some() {
            return;
        }
        let Some(mut fields) = self.fields(ctx) else { return };
        // What is not written yet is not part of the draft.
        fields.title = fields.title.filter(|title| !title.is_empty());
        fields.post = fields.post.filter(|post| !post.is_empty());
        out.act(Act::ShareDraft(self.edit(fields, ctx)));
    }

    /// Returns the fields to save; `None` after showing which of them is wrong.
    fn fields(&mut self, ctx: &Ctx) -> Option<Draft> {
        let Text { title, post, shown, placing } = self.text();
        let mut fields = Draft {
            title: Some(title),
            post: Some(post),
            activation: Some(Visibility::shown_if(shown).activation()),
            ..Draft::default()
        };
        if let Err(field) = placing.set(&self.placed, &mut fields, ctx) {
            self.refuse(&Problem { field: Some(field.to_owned()), ..Problem::new(NO_TIME) });
            return None;
        }
        self.problem = None;
        Some(fields)
    }

    /// Shows the problem of a field and moves the focus there.
    fn refuse(&mut self, problem: &Problem) {
        let field = problem.field.as_deref();
        let label = match field {
            Some("title" | "post") => {
                self.pane = Pane::Text;
                self.in_title = field == Some("title");
                Some(if self.in_title { "Title" } else { "Text" })
            }
            Some(field) => {
                let label = self.form.focus_on(field);
                self.pane = if label.is_some() { Pane::Form } else { self.pane };
                label
            }
            None => None,
        };
        self.problem = Some(problem.at(label));
        self.to_keep = true;
    }
}

impl screen::form::Form for Editor {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::EDITOR]
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Save => self.save(ctx, out),
            Action::Back if self.pane != Pane::Text => self.pane = Pane::Text,
            Action::Back if self.saving.is_some() => {
                out.say("Still saving; the draft is kept.");
                return Handled::Closes;
            }
            Action::Back if !self.is_changed() => {
                if self.resumed.is_some() || self.kept || self.to_keep {
                    out.act(Act::DiscardDraft { key: self.key.clone(), at: ctx.now });
                }
                return Handled::Closes;
            }
            Action::Back => out.question = Some(self.leaving(ctx)),
            Action::SaveDraft => {
                self.to_keep = true;
                if let Some(draft) = self.take_draft(ctx.now) {
                    self.leaving = true;
                    out.act(Act::SaveDraft(draft));
                }
            }
            Action::DiscardDraft => {
                out.act(Act::DiscardDraft { key: self.key.clone(), at: ctx.now });
                return Handled::Closes;
            }
            Action::ShareDraft => self.share(ctx, out),
            Action::NextField if self.pane == Pane::Form => self.form.step(1),
            Action::NextField => self.in_title = !self.in_title,
            Action::Placing => {
                self.pane = if self.pane == Pane::Form { Pane::Text } else { Pane::Form };
            }
            Action::Preview => {
                self.pane = if self.pane == Pane::Preview { Pane::Text } else { Pane::Preview };
                self.scroll = 0;
            }
            // The texts that these keys are for are not open.
            Action::CopyText | Action::CutText | Action::PasteText if self.pane == Pane::Form => {}
            // The notice cannot be changed while it is being saved.
            Action::Toggle | Action::CutText | Action::PasteText if self.saving.is_some() => {}
            Action::Toggle => {
                self.shown = !self.shown;
                self.to_keep = true;
            }
            Action::CopyText | Action::CutText => {
                let cuts = action == Action::CutText;
                let area = self.focused();
                if area.is_selecting() {
                    if cuts {
                        area.cut();
                    } else {
                        area.copy();
                    }
                    let text = area.yank_text();
                    self.to_keep |= cuts;
                    out.effect(Effect::Copy(text));
                }
            }
            Action::PasteText => {
                self.focused().paste();
                self.to_keep = true;
            }
            Action::Suspend | Action::Help => return Handled::No,
            _ => {}
        }
        Handled::Yes
    }

    fn key(&mut self, key: KeyEvent) {
        if self.saving.is_some() {
            return;
        }
        // The problem may be solved by what is typed.
        self.problem = None;
        if self.pane == Pane::Form {
            self.to_keep |= self.form.key(key);
        } else if self.pane == Pane::Preview {
            self.scroll = match key.code {
                KeyCode::Up | KeyCode::PageUp => self.scroll.saturating_sub(1),
                KeyCode::Down | KeyCode::PageDown => self.scroll.saturating_add(1),
                _ => self.scroll,
            };
        } else if self.in_title && Chord::of(&key) == CLEAR {
            self.to_keep |= clear(&mut self.title);
        } else if self.in_title && matches!(key.code, KeyCode::Enter | KeyCode::Down) {
            self.in_title = false;
        } else if !self.in_title
            && key.code == KeyCode::Up
            && self.post.screen_cursor().row == 0
            && key.modifiers.is_empty()
        {
            self.in_title = true;
        } else if self.focused().input(key) {
            self.to_keep = true;
        }
    }

    fn paste(&mut self, text: &str) {
        if self.saving.is_some() {
            return;
        }
        self.problem = None;
        if self.pane == Pane::Form {
            self.to_keep |= self.form.paste(text);
            return;
        }
        let mut text = pasted(text);
        if self.in_title {
            text = text.replace(['\n', '\t'], " ");
        }
        self.focused().insert_str(text);
        self.to_keep = true;
    }

    fn click(&mut self, at: Position, area: Rect) {
        let areas = Areas::of(area);
        if self.pane == Pane::Form {
            self.form.click(at, areas.form);
        } else if self.pane == Pane::Preview {
            self.pane = Pane::Text;
        } else if areas.title.contains(at) {
            self.in_title = true;
            jump(&mut self.title, areas.title, at);
        } else if areas.post.contains(at) {
            self.in_title = false;
            jump(&mut self.post, areas.post, at);
        }
    }

    fn change_done(&mut self, act: &Act, result: Changed) -> bool {
        match act {
            Act::SaveNotice(edit) | Act::ShareDraft(edit) if self.key == edit.draft => {
                if self.saving.take().is_none() {
                    return false;
                }
                if let Err(problem) = result {
                    self.refuse(problem);
                }
                result.is_ok()
            }
            Act::SaveDraft(draft) if self.key == draft.key => {
                // A draft that could not be saved is saved again on the next tick.
                self.to_keep |= result.is_err();
                std::mem::take(&mut self.leaving) && result.is_ok()
            }
            _ => false,
        }
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        is_slow(self.saving, now)
    }

    fn is_changed(&self) -> bool {
        self.text() != self.before
    }

    fn take_draft(&mut self, now: Timestamp) -> Option<SavedDraft> {
        if self.saving.is_some() || !std::mem::take(&mut self.to_keep) {
            return None;
        }
        self.kept = true;
        let Text { title, post, shown, placing } = self.text();
        let (key, notice, shared) = (self.key.clone(), self.notice.clone(), self.shared.clone());
        Some(SavedDraft { key, notice, shared, title, post, shown, placing, date: now })
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        self.paint(area, buf, ctx);
    }
}
