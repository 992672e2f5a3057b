//! The form of a post: its fields of one line, and its text.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::{TextArea, WrapMode};
use tidings_core::clock::Timestamp;
use tidings_core::post::Draft;

use crate::effect::{Act, Changed, PostText};
use crate::keys::{self, Action, Table};
use crate::pending::is_slow;
use crate::placing::{NO_TIME, parse, typed};
use crate::screen::form::{Form, Handled, names};
use crate::screen::{Ctx, Out, Question, leaving};
use crate::theme::Theme;
use crate::widget::fields::{Field, Fields};
use crate::widget::input::{Input, draw_text, jump, pasted, text_area};
use crate::widget::put;

/// The labels of the fields and what an empty one means, and their names in an answer that refuses one.
const FIELDS: [(&str, &str, &str); 7] = [
    ("Title", "", "title"),
    ("Address", "", "url"),
    ("Topics", "none; separated by commas", "topic"),
    ("Tags", "none; separated by commas", "tag"),
    ("Image", "none; an address, or a path that begins with /", "img"),
    ("Published", "now", "date"),
    ("Ends", "never", "end_date"),
];
/// The number of the text, after the fields.
const TEXT: usize = FIELDS.len();
/// The height from which the fields and the text are visible together.
const TALL: u16 = 15;

/// A post in the form.
#[derive(Debug)]
pub(super) struct PostEditor {
    /// The post that is changed; `None` for a new post.
    target: Option<String>,
    /// The fields before the change, and the text.
    before: [String; TEXT + 1],
    fields: Fields,
    text: TextArea<'static>,
    /// The problem of the text, or of no field.
    problem: Option<String>,
    /// When saving began.
    saving: Option<Timestamp>,
}

impl PostEditor {
    /// Opens a post, or a new one.
    pub(super) fn of(post: Option<&PostText>, ctx: &Ctx) -> Self {
        let before = post.map_or_else(Default::default, |post| {
            [
                post.shown.title.clone(),
                post.shown.url.clone(),
                post.topic.join(", "),
                post.tag.join(", "),
                post.shown.img.clone(),
                typed(post.shown.date, ctx),
                post.shown.end_date.map(|end| typed(end, ctx)).unwrap_or_default(),
                post.post.clone(),
            ]
        });
        let fields = FIELDS.iter().zip(&before);
        let fields =
            fields.map(|((label, hint, _), text)| Field::new(label, Input::new(text), hint)).collect();
        let text = text_area(&before[TEXT], WrapMode::WordOrGlyph);
        Self {
            target: post.map(|post| post.shown.id.clone()),
            before,
            fields: Fields::new(fields),
            text,
            problem: None,
            saving: None,
        }
    }

    fn typed(&self) -> [String; TEXT + 1] {
        std::array::from_fn(|field| match field {
            TEXT => self.text.lines().join("\n"),
            field => self.fields.text(field).to_owned(),
        })
    }

    /// Returns the changed fields, or all fields of a new post; `None` after showing which time cannot be read.
    fn draft(&mut self, ctx: &Ctx) -> Option<Draft> {
        let typed = self.typed();
        let is_new = self.target.is_none();
        let changed =
            |field: usize| (is_new || typed[field] != self.before[field]).then(|| typed[field].clone());
        let names = |field: usize| changed(field).as_deref().map(names);
        let time = |field: usize| match changed(field).as_deref().map(str::trim) {
            None => Ok(None),
            // A new post is published now, and never ends.
            Some("") if is_new => Ok(None),
            Some("") => Ok(Some(String::new())),
            Some(text) => parse(text, ctx).map(|at| Some(at.to_string())).ok_or(field),
        };
        let times = time(5).and_then(|date| Ok((date, time(6)?)));
        let draft = times.map(|(date, end_date)| Draft {
            title: changed(0),
            url: changed(1),
            topic: names(2),
            tag: names(3),
            img: changed(4),
            date,
            end_date,
            post: changed(TEXT),
        });
        draft.map_err(|field| self.fields.refuse(field, NO_TIME)).ok()
    }

    fn save(&mut self, ctx: &Ctx, out: &mut Out) -> Handled {
        if self.saving.is_some() {
            return Handled::Yes;
        }
        if self.target.is_some() && !self.is_changed() {
            out.say("Nothing was changed.");
            return Handled::Closes;
        }
        if let Some(fields) = self.draft(ctx) {
            self.problem = None;
            self.saving = Some(ctx.now);
            let title = self.fields.text(0).trim().to_owned();
            out.act(Act::SavePost { target: self.target.clone(), title, fields: Box::new(fields) });
        }
        Handled::Yes
    }

    fn leaving(&self) -> Question {
        let (save, discard) = match self.target {
            Some(_) => ("save the changes", "discard the changes"),
            None => ("publish it now", "discard it"),
        };
        let choices = [('s', save, Action::Save), ('d', discard, Action::DiscardDraft)];
        let detail = "What you typed is not saved; posts have no drafts.";
        leaving(("post", self.fields.text(0)), detail, &choices)
    }

    fn step(&mut self, by: usize) {
        self.fields.set_focus((self.fields.focus() + by) % (TEXT + 1));
    }

    fn areas(&self, area: Rect) -> Areas {
        let head = Rect { height: 1.min(area.height), ..area };
        let foot =
            Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height.saturating_sub(1)), ..area };
        let between = area.height.saturating_sub(2);
        let fields = match area.height {
            TALL.. => self.fields.lines().min(between),
            // In a small terminal, there is room for one of both.
            _ if self.fields.focus() == TEXT => 0,
            _ => between,
        };
        let fields = Rect { y: area.y + head.height, height: fields, ..area };
        let gap = if fields.height > 0 { 2.min(between - fields.height) } else { 0 };
        let text = Rect { y: fields.bottom() + gap, height: between - fields.height - gap, ..area };
        Areas { head, fields, text, foot }
    }
}

struct Areas {
    head: Rect,
    fields: Rect,
    text: Rect,
    foot: Rect,
}

impl Form for PostEditor {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::POST_EDITOR]
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> Handled {
        match action {
            Action::Save => return self.save(ctx, out),
            Action::Back if self.saving.is_some() => out.say("Still saving."),
            Action::Back if !self.is_changed() => return Handled::Closes,
            Action::Back => out.question = Some(self.leaving()),
            Action::DiscardDraft => return Handled::Closes,
            Action::NextField => self.step(1),
            Action::PreviousField => self.step(TEXT),
            Action::Suspend | Action::Help => return Handled::No,
            _ => {}
        }
        Handled::Yes
    }

    fn key(&mut self, key: KeyEvent) {
        if self.saving.is_some() {
            return;
        }
        let in_text = self.fields.focus() == TEXT;
        let at_top = self.text.screen_cursor().row == 0 && key.modifiers.is_empty();
        match key.code {
            KeyCode::Enter | KeyCode::Down if !in_text => self.step(1),
            KeyCode::Up if !in_text => self.fields.set_focus(self.fields.focus().saturating_sub(1)),
            KeyCode::Up if at_top => self.step(TEXT),
            _ if in_text => {
                if self.text.input(key) {
                    self.problem = None;
                }
            }
            _ => drop(self.fields.key(key)),
        }
    }

    fn paste(&mut self, text: &str) {
        if self.saving.is_some() {
            return;
        }
        if self.fields.focus() == TEXT {
            self.text.insert_str(pasted(text));
            self.problem = None;
        } else {
            self.fields.paste(text);
        }
    }

    fn click(&mut self, at: Position, area: Rect) {
        let areas = self.areas(area);
        if areas.text.contains(at) {
            self.fields.set_focus(TEXT);
            jump(&mut self.text, areas.text, at);
        } else {
            self.fields.click(at, areas.fields);
        }
    }

    fn change_done(&mut self, act: &Act, result: Changed) -> bool {
        if !matches!(act, Act::SavePost { target, .. } if *target == self.target)
            || self.saving.take().is_none()
        {
            return false;
        }
        if let Err(problem) = result {
            let name = problem.field.as_deref();
            match FIELDS.iter().position(|(_, _, field)| Some(*field) == name) {
                Some(field) => self.fields.refuse(field, problem.text.clone()),
                None => self.problem = Some(problem.text.clone()),
            }
            if name == Some("post") {
                self.fields.set_focus(TEXT);
            }
        }
        result.is_ok()
    }

    fn is_changed(&self) -> bool {
        self.typed() != self.before
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        is_slow(self.saving, now)
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let Areas { head, fields, text, foot } = self.areas(area);
        let what = match (self.saving, &self.target) {
            (Some(_), _) => "Saving …",
            (None, Some(_)) => "Edit the post",
            (None, None) => "A new post",
        };
        put(head, buf, what, Theme::strong());
        if fields.height > 0 {
            self.fields.draw(fields, buf, ctx.theme);
        }
        let in_text = self.fields.focus() == TEXT;
        if text.y > fields.bottom() && fields.height > 0 {
            let rule = "─".repeat(area.width.into());
            put(Rect { y: text.y - 1, height: 1, ..area }, buf, &rule, Theme::faint());
        }
        draw_text(&self.text, text, buf, in_text);
        if let Some(problem) = &self.problem {
            return put(foot, buf, &format!("✗ {problem}"), ctx.theme.bad());
        }
        let zone = ctx.zone.iana_name().unwrap_or("UTC");
        put(foot, buf, &format!("Times like 2026-12-01 09:00, in {zone}."), Theme::faint());
    }
}
