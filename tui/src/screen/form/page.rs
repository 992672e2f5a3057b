//! A form of fields, with or without a text below them.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use tidings_core::clock::Timestamp;

use super::Handled;
use crate::effect::{Act, Changed, Effect, NoticeEdit};
use crate::keys::{self, Action, Table};
use crate::pending::is_slow;
use crate::screen::{Ctx, Out, Question};
use crate::theme::Theme;
use crate::widget::fields::Fields;
use crate::widget::input::{draw_text, jump, pasted, text_area};
use crate::widget::{put, put_wrapped};

/// From this height on, the fields and the text are visible together.
const TALL: u16 = 15;

/// The specifics of a form.
pub(crate) trait Kind {
    /// The names of the fields in an answer that refuses one.
    fn names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether what the form is for is asked before it is done.
    fn asks(&self) -> bool {
        false
    }

    /// Whether Enter leads from a field to the text, not to the next field.
    fn enters_text(&self) -> bool {
        false
    }

    fn title(&self) -> String;

    /// Returns what the form is about, with the number of the focused field.
    fn hint(&self, _: &Typed<'_>, _focus: usize, _: &Ctx) -> String {
        String::new()
    }

    /// The form saves, although nothing was changed.
    fn is_new(&self) -> bool;

    /// The error is the number of the field that is wrong, and why.
    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Request, (usize, &'static str)>;

    fn is_own(&self, act: &Act) -> bool;

    /// Returns the question before what was typed is lost; `None` if it is not worth one.
    fn leaving(&self, _: &Typed<'_>, _: &Ctx) -> Option<Question> {
        None
    }

    /// Returns what was typed as a draft of a notice; `None` if this is no form of a notice.
    fn draft(&self, _: &Typed<'_>, _: &Ctx) -> Option<Box<NoticeEdit>> {
        None
    }
}

pub(crate) enum Request {
    Act(Act),
    Ask(Question),
}

/// The texts of the fields, then the text of the form.
pub(crate) struct Typed<'p> {
    pub(crate) texts: Vec<String>,
    before: &'p [String],
}

impl Typed<'_> {
    /// `None` if the text was not changed.
    pub(crate) fn changed(&self, field: usize) -> Option<&str> {
        Some(self.texts[field].as_str()).filter(|text| *text != self.before[field])
    }
}

/// A form.
pub(crate) struct Page {
    kind: Box<dyn Kind>,
    /// The texts before the change.
    before: Vec<String>,
    fields: Fields,
    text: Option<TextArea<'static>>,
    /// Of the text, or of no field.
    problem: Option<String>,
    saving: Option<Timestamp>,
}

struct Areas {
    fields: Rect,
    text: Rect,
    foot: Rect,
}

impl Page {
    pub(crate) fn new(kind: impl Kind + 'static, fields: Fields, text: Option<&str>) -> Self {
        let text = text.map(|text| text_area(text, WrapMode::WordOrGlyph));
        let kind = Box::new(kind);
        let mut page = Self { kind, before: Vec::new(), fields, text, problem: None, saving: None };
        page.before = page.typed().texts;
        page
    }

    /// Returns the form with the cursor at the end of its text.
    pub(crate) fn at_the_end(mut self) -> Self {
        self.fields.set_focus(self.fields.len());
        if let Some(text) = &mut self.text {
            text.move_cursor(CursorMove::Bottom);
            text.move_cursor(CursorMove::End);
        }
        self
    }

    /// Returns the text, if it has the focus and may be changed.
    fn focused_text(&mut self) -> Option<&mut TextArea<'static>> {
        let is_focused = self.saving.is_none() && self.in_text();
        self.text.as_mut().filter(|_| is_focused)
    }

    fn typed(&self) -> Typed<'_> {
        let fields = (0..self.fields.len()).map(|field| self.fields.text(field).to_owned());
        let text = self.text.as_ref().map(|text| text.lines().join("\n"));
        Typed { texts: fields.chain(text).collect(), before: &self.before }
    }

    fn in_text(&self) -> bool {
        self.text.is_some() && self.fields.focus() == self.fields.len()
    }

    /// The first field follows the last.
    fn step(&mut self, by: usize) {
        self.fields.set_focus((self.fields.focus() + by) % self.before.len());
    }

    fn step_back(&mut self) {
        self.step(self.before.len() - 1);
    }

    fn save(&mut self, ctx: &Ctx, out: &mut Out) -> Handled {
        if self.saving.is_some() {
            return Handled::Yes;
        }
        if !self.kind.is_new() && !self.is_changed() {
            out.say("Nothing was changed.");
            return Handled::Closes;
        }
        match self.kind.request(&self.typed(), ctx) {
            Ok(Request::Act(act)) => {
                (self.problem, self.saving) = (None, Some(ctx.now));
                out.act(act);
            }
            Ok(Request::Ask(question)) => out.question = Some(question),
            Err((field, problem)) => self.fields.refuse(field, problem),
        }
        Handled::Yes
    }

    fn areas(&self, area: Rect) -> Areas {
        let row = |y: u16, height: u16| Rect { y, height, ..area }.intersection(area);
        if self.text.is_none() {
            let fields = row(area.y + 2, area.height.saturating_sub(2));
            let below = fields.y + self.fields.lines() + 1;
            let foot = row(below, area.bottom().saturating_sub(below));
            return Areas { fields, text: Rect::default(), foot };
        }
        let between = area.height.saturating_sub(2);
        let fields = match area.height {
            TALL.. => self.fields.lines().min(between),
            // In a small terminal, there is room for one of both.
            _ if self.in_text() => 0,
            _ => between,
        };
        let gap = if fields > 0 { 2.min(between - fields) } else { 0 };
        let first = area.y + 1.min(area.height);
        Areas {
            fields: row(first, fields),
            text: row(first + fields + gap, between - fields - gap),
            foot: row(area.bottom().saturating_sub(1), 1.min(area.height.saturating_sub(1))),
        }
    }

    /// Returns the tables of its keys.
    pub(crate) fn keys(&self) -> Vec<&'static Table> {
        vec![if self.text.is_some() { &keys::EDITOR } else { &keys::INPUT }]
    }

    pub(crate) fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Open if self.kind.asks() && self.fields.focus() + 1 < self.fields.len() => self.step(1),
            Action::Save | Action::Open => return self.save(ctx, out),
            Action::Back if self.text.is_some() && self.saving.is_some() => out.say("Still saving."),
            Action::Back => match self.kind.leaving(&self.typed(), ctx).filter(|_| self.is_changed()) {
                Some(question) => out.question = Some(question),
                None => return Handled::Closes,
            },
            Action::DiscardDraft => return Handled::Closes,
            Action::ShareDraft => match self.kind.request(&self.typed(), ctx) {
                Err((field, problem)) => self.fields.refuse(field, problem),
                Ok(_) => out.effects.extend(self.draft(ctx).map(|draft| Effect::Act(Act::ShareDraft(draft)))),
            },
            Action::OpenEditor => {
                let text = self.text.as_ref().filter(|_| self.saving.is_none());
                out.effects.extend(text.map(|text| Effect::Edit(text.lines().join("\n"))));
            }
            Action::CopyText | Action::CutText => {
                if let Some(text) = self.focused_text().filter(|text| text.is_selecting()) {
                    if action == Action::CutText {
                        text.cut();
                    } else {
                        text.copy();
                    }
                    out.effect(Effect::Copy(text.yank_text()));
                }
            }
            Action::PasteText => drop(self.focused_text().map(TextArea::paste)),
            Action::Up | Action::PreviousField => self.step_back(),
            Action::Down | Action::NextField => self.step(1),
            Action::Suspend | Action::Help | Action::Quit => return Handled::No,
            _ => {}
        }
        Handled::Yes
    }

    /// Handles a typed key.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        if self.saving.is_some() {
            return;
        }
        match (&mut self.text, key.code) {
            (Some(text), code) if self.fields.focus() == self.fields.len() => {
                if code == KeyCode::Up && key.modifiers.is_empty() && text.screen_cursor().row == 0 {
                    self.step_back();
                } else if text.input(key) {
                    self.problem = None;
                }
            }
            (Some(_), KeyCode::Enter) if self.kind.enters_text() => self.fields.set_focus(self.fields.len()),
            (_, KeyCode::BackTab) => self.step_back(),
            (_, KeyCode::Tab | KeyCode::Enter | KeyCode::Down) => self.step(1),
            (_, KeyCode::Up) => self.fields.set_focus(self.fields.focus().saturating_sub(1)),
            _ => drop(self.fields.key(key)),
        }
    }

    pub(crate) fn paste(&mut self, pasted_text: &str) {
        let in_text = self.in_text();
        match &mut self.text {
            _ if self.saving.is_some() => {}
            Some(text) if in_text => {
                text.insert_str(pasted(pasted_text));
                self.problem = None;
            }
            _ => drop(self.fields.paste(pasted_text)),
        }
    }

    /// Takes over what was written in the editor that the environment names.
    pub(crate) fn edited(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.text = Some(text_area(text, WrapMode::WordOrGlyph));
        self.fields.set_focus(self.fields.len());
        self.problem = None;
    }

    /// Handles a click within `area`, the area of the form.
    pub(crate) fn click(&mut self, at: Position, area: Rect) {
        let areas = self.areas(area);
        match &mut self.text {
            Some(text) if areas.text.contains(at) => {
                self.fields.set_focus(self.fields.len());
                jump(text, areas.text, at);
            }
            _ => drop(self.fields.click(at, areas.fields)),
        }
    }

    /// Handles the end of a change. Returns whether the form closes.
    pub(crate) fn change_done(&mut self, act: &Act, result: Changed) -> bool {
        if !self.kind.is_own(act) || (self.saving.take().is_none() && !self.kind.asks()) {
            return false;
        }
        if let Err(problem) = result {
            let name = problem.field.as_deref();
            match self.kind.names().iter().position(|field| Some(*field) == name) {
                Some(field) => self.fields.refuse(field, problem.text.clone()),
                None if self.text.is_none() => self.fields.refuse(self.fields.focus(), problem.text.clone()),
                None => {
                    self.problem = Some(problem.text.clone());
                    if name == Some("post") {
                        self.fields.set_focus(self.fields.len());
                    }
                }
            }
        }
        result.is_ok()
    }

    /// Returns whether saving is taking noticeably long.
    pub(crate) fn is_slow(&self, now: Timestamp) -> bool {
        is_slow(self.saving, now)
    }

    /// Returns whether the form contains unsaved changes that its end must not lose.
    pub(crate) fn is_changed(&self) -> bool {
        self.typed().texts != self.before
    }

    /// Returns the unsaved notice in the form as a draft, which is being saved from now on.
    pub(crate) fn draft(&mut self, ctx: &Ctx) -> Option<Box<NoticeEdit>> {
        if self.saving.is_some() || !self.is_changed() {
            return None;
        }
        let draft = self.kind.draft(&self.typed(), ctx)?;
        self.saving = Some(ctx.now);
        Some(draft)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let title = if self.saving.is_some() { "Saving …".to_owned() } else { self.kind.title() };
        put(area, buf, &title, Theme::strong());
        let Areas { fields, text, foot } = self.areas(area);
        if fields.height > 0 {
            self.fields.draw(fields, buf, ctx.theme);
        }
        if let Some(post) = &self.text {
            if text.y > fields.bottom() && fields.height > 0 {
                let rule = "─".repeat(area.width.into());
                put(Rect { y: text.y - 1, height: 1, ..area }, buf, &rule, Theme::faint());
            }
            draw_text(post, text, buf, self.in_text());
        }
        match &self.problem {
            Some(problem) => put(foot, buf, &format!("✗ {problem}"), ctx.theme.bad()),
            None => put_wrapped(
                foot,
                buf,
                &self.kind.hint(&self.typed(), self.fields.focus(), ctx),
                Theme::faint(),
            ),
        }
    }
}
