//! The screens: what each of them keeps, what it does with what happens, and how it looks.

use crossterm::event::KeyEvent;
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tidings_core::changes::Changes;

use crate::effect::{Act, Answer, Effect};
use crate::keys::{Action, Table};
use crate::layout;
use crate::problem::Problem;
use crate::sheet::Sheet;
use crate::text;
use crate::theme::Theme;

pub(crate) mod analytics;
mod browse;
pub(crate) mod feedback;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod notices;
pub(crate) mod overview;
pub(crate) mod posts;

/// What screens go by beside what they keep.
#[derive(Clone, Debug)]
pub(crate) struct Ctx {
    /// The present time in milliseconds UTC.
    pub(crate) now: i64,
    /// The zone whose days are counted, which all times are shown in.
    pub(crate) zone: TimeZone,
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
}

impl Ctx {
    /// Where a screen stands.
    pub(crate) fn body(&self) -> Rect {
        layout::areas(Rect::new(0, 0, self.size.0, self.size.1)).body
    }

    /// A moment as a clock and a calendar show it.
    fn at(&self, ms: i64, format: &str) -> String {
        let moment = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        moment.to_zoned(self.zone.clone()).strftime(format).to_string()
    }

    /// `2026-11-20 13:36`.
    pub(crate) fn stamp(&self, ms: i64) -> String {
        self.at(ms, "%Y-%m-%d %H:%M")
    }

    /// `2026-11-20`.
    pub(crate) fn day(&self, ms: i64) -> String {
        self.at(ms, "%Y-%m-%d")
    }

    /// `13:36`.
    pub(crate) fn time(&self, ms: i64) -> String {
        self.at(ms, "%H:%M")
    }

    /// `13:36:05`.
    pub(crate) fn clock(&self, ms: i64) -> String {
        self.at(ms, "%H:%M:%S")
    }

    /// `13:36:05` of today, else `11-19 13:36:05`.
    pub(crate) fn moment(&self, ms: i64) -> String {
        let format = if self.day(ms) == self.day(self.now) { "%H:%M:%S" } else { "%m-%d %H:%M:%S" };
        self.at(ms, format)
    }
}

/// What a screen wants done.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) effects: Vec<Effect>,
    pub(crate) message: Option<Message>,
    pub(crate) question: Option<Question>,
    pub(crate) export: Option<Sheet>,
    pub(crate) go: Option<Destination>,
}

impl Out {
    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn act(&mut self, act: Act) {
        self.effects.push(Effect::Act(act));
    }

    /// Says something that one may want to know.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone: Tone::Note });
    }

    /// Says that something is done.
    pub(crate) fn done(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone: Tone::Done });
    }

    pub(crate) fn complain(&mut self, problem: &Problem) {
        self.message = Some(Message { text: problem.text.clone(), tone: Tone::Failed });
    }

    /// Copies a text, and says so.
    pub(crate) fn copy(&mut self, what: &str, text: String) {
        self.done(format!("Copied {what}."));
        self.effects.push(Effect::Copy(text));
    }
}

/// Something said in a line, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// How something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Note,
    Done,
    Failed,
}

/// Another screen, and what to look at there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The log, filtered.
    Log(String),
    /// The log, with its filter to be typed.
    LogFilter,
    /// A notice.
    Notice(String),
}

/// A question that is asked before something is done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// What is asked. It names what would be changed.
    pub(crate) text: String,
    /// What follows from it.
    pub(crate) detail: String,
    pub(crate) choices: Vec<Choice>,
}

/// An answer to a question, beside leaving it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) then: Then,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Then {
    /// Something is changed.
    Act(Act),
    /// The screen does something.
    Action(Action),
    /// The program ends.
    Quit,
}

impl Question {
    /// Whether to do something, yes or no.
    pub(crate) fn yes_or_no(text: String, detail: impl Into<String>, label: &'static str, act: Act) -> Self {
        Self { text, detail: detail.into(), choices: vec![Choice { key: 'y', label, then: Then::Act(act) }] }
    }
}

/// A screen.
pub(crate) trait Screen {
    /// The tables of its keys as it is now, the innermost first.
    fn keys(&self) -> Vec<&'static Table>;

    /// Whether keys that are none of ours are typed.
    fn typing(&self) -> bool {
        false
    }

    /// Something may have changed, or the screen is opened: asks for what is shown where it is not known.
    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out);

    /// Does what a key asks for; whether it was anything of the screen's.
    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool;

    /// Takes a key that is typed.
    fn key(&mut self, _: KeyEvent, _: &Ctx, _: &mut Out) {}

    /// Takes a text that is pasted.
    fn paste(&mut self, _: &str, _: &Ctx, _: &mut Out) {}

    /// Takes a click.
    fn click(&mut self, _: Position, _: &Ctx, _: &mut Out) {}

    /// Takes an answer.
    fn answer(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out);

    /// An act is done, or was refused.
    fn acted(&mut self, _: &Act, _: Result<(), &Problem>, _: &Ctx, _: &mut Out) {}

    /// Whether an answer is waited for that takes its time.
    fn is_slow(&self, now: i64) -> bool;

    /// Waits for no answer any more; whether it did.
    fn cancel(&mut self) -> bool;

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx);
}

/// A title, what there is to know, and a text, as they are read.
pub(crate) fn reading(title: &str, facts: &str, post: &str, columns: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    lines.extend(text::wrap(title, columns).into_iter().map(|line| Line::styled(line, Theme::strong())));
    lines.extend(text::wrap(facts, columns).into_iter().map(|line| Line::styled(line, Theme::faint())));
    lines.push(Line::default());
    lines.extend(text::wrap(post, columns).into_iter().map(Line::raw));
    lines
}
