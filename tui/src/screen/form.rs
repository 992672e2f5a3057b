use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::{CursorMove, TextArea};
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Change, Changed, Effect};
use crate::keys::{self, Action, Table};
use crate::pending::is_slow;
use crate::screen::{Choice, ChoiceEffect, Ctx, Out, Question};
use crate::theme::Theme;
use crate::widget::fields::Fields;
use crate::widget::input::{draw_text, jump, pasted, text_area};
use crate::widget::{put, put_wrapped};

mod spec;

pub(crate) use spec::{Holds, POST, Record, Spec, filled, record, typed_time};

/// From this height on, the fields and the text are visible together.
const TALL: u16 = 15;

/// The number of the field that is wrong, and why.
pub(crate) type Mistake = (usize, &'static str);

pub(crate) trait Form {
    fn title(&self) -> String;

    /// Returns what the form is about, with the number of the focused field.
    fn hint(&self, _: &Typed<'_>, _focus: usize, _: &Ctx) -> String {
        String::new()
    }

    /// Enter leads from a field to the text, not to the next field.
    fn enters_text(&self) -> bool {
        false
    }

    /// The form saves, although nothing was changed.
    fn is_new(&self) -> bool;

    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Act, Mistake>;

    /// Asked before the request: the question, its detail, and what `y` does.
    fn question(&self) -> Option<(String, &'static str, &'static str)> {
        None
    }

    /// Returns the question before what was typed is lost; `None` if it is not worth one.
    fn leaving(&self, _: &Typed<'_>, _: &Ctx) -> Option<Question> {
        None
    }

    fn draft(&self, _: &Typed<'_>, _: &Ctx) -> Option<Act> {
        None
    }
}

/// Asks before what was typed is lost. Each choice has a key, a label and the action of the form.
pub(crate) fn leaving(
    (noun, title): (&str, &str),
    detail: &str,
    choices: &[(char, &'static str, Action)],
) -> Question {
    let choice = |&(key, label, action): &_| Choice { key, label, then: ChoiceEffect::Action(action) };
    Question {
        text: if title.is_empty() { format!("Leave this {noun}?") } else { format!("Leave “{title}”?") },
        detail: detail.to_owned(),
        choices: choices.iter().map(choice).collect(),
        decline: "go on editing",
    }
}

/// The texts of the fields, then the text of the form.
pub(crate) struct Typed<'p> {
    pub(crate) texts: Vec<String>,
    page: &'p Page,
}

impl Typed<'_> {
    /// The fields that differ from the stored record, and those that are sent `always`. A wrong field is left out.
    pub(crate) fn fields(&self, always: &[&str], ctx: &Ctx) -> (Record, Result<(), Mistake>) {
        let (mut fields, mut result) = (Record::new(), Ok(()));
        for (i, (spec, text)) in self.page.specs.iter().zip(&self.texts).enumerate() {
            if always.contains(&spec.name) || *text != self.page.stored[i] {
                match spec.value(text, ctx) {
                    Ok(value) => drop(fields.insert(spec.name.to_owned(), value)),
                    Err(why) => result = result.and(Err((i, why))),
                }
            }
        }
        (fields, result)
    }
}

pub(crate) struct Page {
    form: Box<dyn Form>,
    specs: Vec<Spec>,
    /// The texts of the stored record, and those before the change.
    stored: Vec<String>,
    before: Vec<String>,
    fields: Fields,
    text: Option<TextArea<'static>>,
    /// Of the text, or of no field.
    problem: Option<String>,
    saving: Option<Timestamp>,
    request: u64,
}

struct Areas {
    fields: Rect,
    text: Rect,
    foot: Rect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    Yes,
    No,
    Closes,
}

impl Page {
    /// The text `post` is below the fields if it is the last of them. What is shown may differ from what is stored.
    pub(crate) fn new(
        form: impl Form + 'static,
        specs: impl Into<Vec<Spec>>,
        stored: &Record,
        shown: &Record,
        ctx: &Ctx,
    ) -> Self {
        let specs: Vec<Spec> = specs.into();
        let texts = |record| specs.iter().map(|spec| spec.text(record, ctx)).collect::<Vec<_>>();
        let (stored, before) = (texts(stored), texts(shown));
        let has_text = specs.last().is_some_and(|spec| spec.name == POST.name);
        let fields = specs.iter().zip(&before).take(specs.len() - usize::from(has_text));
        let fields = Fields::new(fields.map(|(spec, text)| spec.field(text)).collect());
        let text = before.last().filter(|_| has_text).map(|text| text_area(text));
        let mut page = Self {
            form: Box::new(form),
            specs,
            stored,
            before,
            fields,
            text,
            problem: None,
            saving: None,
            request: 0,
        };
        // What fields and text areas make of a text is no change.
        let typed = page.typed().texts;
        for ((stored, before), typed) in page.stored.iter_mut().zip(&page.before).zip(&typed) {
            if stored == before {
                stored.clone_from(typed);
            }
        }
        page.before = typed;
        page
    }

    pub(crate) fn at_the_end(mut self) -> Self {
        self.fields.set_focus(self.fields.len());
        if let Some(text) = &mut self.text {
            text.move_cursor(CursorMove::Bottom);
            text.move_cursor(CursorMove::End);
        }
        self
    }

    fn focused_text(&mut self) -> Option<&mut TextArea<'static>> {
        let is_focused = self.saving.is_none() && self.in_text();
        self.text.as_mut().filter(|_| is_focused)
    }

    pub(crate) fn typed(&self) -> Typed<'_> {
        let fields = (0..self.fields.len()).map(|field| self.fields.text(field).to_owned());
        let text = self.text.as_ref().map(|text| text.lines().join("\n"));
        Typed { texts: fields.chain(text).collect(), page: self }
    }

    fn in_text(&self) -> bool {
        self.text.is_some() && self.fields.focus() == self.fields.len()
    }

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
        if !self.form.is_new() && !self.is_changed() {
            out.say("Nothing was changed.");
            return Handled::Closes;
        }
        match (self.form.request(&self.typed(), ctx), self.form.question()) {
            (Err((field, problem)), _) => self.fields.refuse(field, problem),
            (Ok(act), question) => {
                self.request = act.change.number;
                if let Some((text, detail, label)) = question {
                    out.ask(text, detail, label, act);
                } else {
                    (self.problem, self.saving) = (None, Some(ctx.now));
                    out.act(act);
                }
            }
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

    pub(crate) fn keys(&self) -> Vec<&'static Table> {
        vec![if self.text.is_some() { &keys::EDITOR } else { &keys::INPUT }]
    }

    pub(crate) fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Open if self.form.question().is_some() && self.fields.focus() + 1 < self.fields.len() => {
                self.step(1);
            }
            Action::Save | Action::Open => return self.save(ctx, out),
            Action::Back if self.text.is_some() && self.saving.is_some() => out.say("Still saving."),
            Action::Back => match self.form.leaving(&self.typed(), ctx).filter(|_| self.is_changed()) {
                Some(question) => out.question = Some(question),
                None => return Handled::Closes,
            },
            Action::DiscardDraft => return Handled::Closes,
            Action::ShareDraft => match self.form.request(&self.typed(), ctx) {
                Err((field, problem)) => self.fields.refuse(field, problem),
                Ok(_) => out.effects.extend(self.draft(ctx).map(Effect::Act)),
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
            Action::Up => self.step_back(),
            Action::Down => self.step(1),
            Action::Suspend | Action::Help | Action::Quit => return Handled::No,
            _ => {}
        }
        Handled::Yes
    }

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
            (Some(_), KeyCode::Enter) if self.form.enters_text() => self.fields.set_focus(self.fields.len()),
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

    pub(crate) fn edited(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        self.text = Some(text_area(text));
        self.fields.set_focus(self.fields.len());
        self.problem = None;
    }

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

    pub(crate) fn change_done(&mut self, change: &Change, result: Changed) -> bool {
        if change.number != self.request {
            return false;
        }
        self.saving = None;
        if let Err(problem) = result {
            let name = problem.field.as_deref();
            let fields = &self.specs[..self.fields.len()];
            match fields.iter().position(|spec| Some(spec.name) == name) {
                Some(field) => self.fields.refuse(field, problem.text.clone()),
                None if self.text.is_none() => self.fields.refuse(self.fields.focus(), problem.text.clone()),
                None => {
                    self.problem = Some(problem.text.clone());
                    if name == Some(POST.name) {
                        self.fields.set_focus(self.fields.len());
                    }
                }
            }
        }
        result.is_ok()
    }

    pub(crate) fn is_slow(&self, now: Timestamp) -> bool {
        is_slow(self.saving, now)
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.typed().texts != self.before
    }

    pub(crate) fn draft(&mut self, ctx: &Ctx) -> Option<Act> {
        if self.saving.is_some() || !self.is_changed() {
            return None;
        }
        let act = self.form.draft(&self.typed(), ctx)?;
        (self.saving, self.request) = (Some(ctx.now), act.change.number);
        Some(act)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let title = if self.saving.is_some() { "Saving …".to_owned() } else { self.form.title() };
        put(area, buf, &title, Theme::strong());
        let Areas { fields, text, foot } = self.areas(area);
        self.fields.draw(fields, buf, ctx.theme);
        if let Some(post) = &self.text {
            if text.y > fields.bottom() && fields.height > 0 {
                let rule = "─".repeat(area.width.into());
                put(Rect { y: text.y - 1, height: 1, ..area }, buf, &rule, Theme::faint());
            }
            draw_text(post, text, buf, self.in_text());
        }
        let hint = self.form.hint(&self.typed(), self.fields.focus(), ctx);
        match &self.problem {
            Some(problem) => put(foot, buf, &format!("✗ {problem}"), ctx.theme.bad()),
            None => put_wrapped(foot, buf, &hint, Theme::faint()),
        }
    }
}
