//! The editor of a notice: its title and its text, their lengths and limits, when and where it is visible, and a preview.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use tidings_core::clock::Timestamp;
use tidings_core::notice::{Draft, Visibility};

use super::form::Form;
use super::row::Row;
use crate::effect::{Act, Changed, Effect, NoticeEdit};
use crate::keys::{self, Action, Chord, Table};
use crate::pending::is_slow;
use crate::placing::{NO_TIME, Placing};
use crate::problem::Problem;
use crate::reach::Reach;
use crate::screen::form::Handled;
use crate::screen::{self, Ctx, Out, Question, leaving};
use crate::widget::input::{CLEAR, clear, jump, pasted, text_area};

mod draw;
mod text;

use draw::Areas;
pub(super) use text::Text;

/// The notice in the editor.
pub(super) struct Editor {
    /// The notice that is changed; `None` for a new notice.
    notice: Option<String>,
    /// The draft that is opened.
    shared: Option<String>,
    /// The notice, or the draft, before the change.
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
        let base = row.and_then(|row| row.notice.as_ref());
        let draft = row.and_then(|row| row.draft.as_ref());
        let notice = base.map(|notice| notice.id).or(draft.and_then(|draft| draft.notice));
        Self {
            notice: notice.map(|notice| notice.to_string()),
            shared: draft.map(|draft| draft.id.to_string()),
            placed: base.map(|notice| Placing::of(&notice.placement, ctx)).unwrap_or_default(),
            date: base.map(|notice| notice.date),
            title: area(&before.title, WrapMode::None),
            post: area(&before.post, WrapMode::WordOrGlyph),
            form: Form::new(&before.placing),
            shown: before.shown,
            before,
            in_title: row.is_none(),
            pane: Pane::Text,
            scroll: 0,
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
        let is_new = self.notice.is_none() && self.shared.is_none();
        let discard = if is_new { "discard it" } else { "discard the changes" };
        let choices = [
            ('s', save, Action::Save),
            ('a', "keep it as a draft of all administrators", Action::ShareDraft),
            ('d', discard, Action::DiscardDraft),
        ];
        leaving(("notice", &self.text().title), "What you typed is not published.", &choices)
    }

    fn save(&mut self, ctx: &Ctx, out: &mut Out) {
        if let Some(fields) = self.valid_fields(ctx) {
            out.act(Act::SaveNotice(self.edit(fields, ctx)));
        }
    }

    /// Returns what is to be saved, which begins now.
    fn edit(&mut self, fields: Draft, ctx: &Ctx) -> Box<NoticeEdit> {
        self.saving = Some(ctx.now);
        let (target, shared) = (self.notice.clone(), self.shared.clone());
        Box::new(NoticeEdit { target, shared, fields, reach: self.reach(ctx), at: ctx.now })
    }

    /// Returns a draft, which every administrator can continue.
    fn as_draft(&mut self, mut fields: Draft, ctx: &Ctx) -> Box<NoticeEdit> {
        // What is not written yet is not part of the draft.
        fields.title = fields.title.filter(|title| !title.is_empty());
        fields.post = fields.post.filter(|post| !post.is_empty());
        self.edit(fields, ctx)
    }

    /// Returns the fields to save; `None` after showing which of them is wrong, or while they are being saved.
    fn valid_fields(&mut self, ctx: &Ctx) -> Option<Draft> {
        let (fields, wrong) = self.fields(ctx);
        match wrong {
            _ if self.saving.is_some() => None,
            Some(field) => {
                self.refuse(&Problem { field: Some(field.to_owned()), ..Problem::new(NO_TIME) });
                None
            }
            None => Some(fields),
        }
    }

    /// Returns the fields without those from the first time on that cannot be read, and the name of that.
    fn fields(&self, ctx: &Ctx) -> (Draft, Option<&'static str>) {
        let Text { title, post, shown, placing } = self.text();
        let mut fields = Draft {
            title: Some(title),
            post: Some(post),
            activation: Some(Visibility::shown_if(shown).activation()),
            ..Draft::default()
        };
        let wrong = placing.set(&self.placed, &mut fields, ctx).err();
        (fields, wrong)
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
            Action::Back if self.saving.is_some() => out.say("Still saving."),
            Action::Back if !self.is_changed() => return Handled::Closes,
            Action::Back => out.question = Some(self.leaving(ctx)),
            Action::DiscardDraft => return Handled::Closes,
            Action::ShareDraft => {
                if let Some(fields) = self.valid_fields(ctx) {
                    out.act(Act::ShareDraft(self.as_draft(fields, ctx)));
                }
            }
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
            Action::Toggle => self.shown = !self.shown,
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
                    out.effect(Effect::Copy(text));
                }
            }
            Action::PasteText => drop(self.focused().paste()),
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
            self.form.key(key);
        } else if self.pane == Pane::Preview {
            self.scroll = match key.code {
                KeyCode::Up | KeyCode::PageUp => self.scroll.saturating_sub(1),
                KeyCode::Down | KeyCode::PageDown => self.scroll.saturating_add(1),
                _ => self.scroll,
            };
        } else if self.in_title && Chord::of(&key) == CLEAR {
            clear(&mut self.title);
        } else if self.in_title && matches!(key.code, KeyCode::Enter | KeyCode::Down) {
            self.in_title = false;
        } else if !self.in_title
            && key.code == KeyCode::Up
            && self.post.screen_cursor().row == 0
            && key.modifiers.is_empty()
        {
            self.in_title = true;
        } else {
            self.focused().input(key);
        }
    }

    fn paste(&mut self, text: &str) {
        if self.saving.is_some() {
            return;
        }
        self.problem = None;
        if self.pane == Pane::Form {
            return self.form.paste(text);
        }
        let mut text = pasted(text);
        if self.in_title {
            text = text.replace(['\n', '\t'], " ");
        }
        self.focused().insert_str(text);
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
            Act::SaveNotice(edit) | Act::ShareDraft(edit) if self.saving == Some(edit.at) => {
                self.saving = None;
                if let Err(problem) = result {
                    self.refuse(problem);
                }
                result.is_ok()
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

    fn draft(&mut self, ctx: &Ctx) -> Option<Box<NoticeEdit>> {
        (self.saving.is_none() && self.is_changed()).then(|| {
            let (fields, _) = self.fields(ctx);
            self.as_draft(fields, ctx)
        })
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        self.paint(area, buf, ctx);
    }
}
