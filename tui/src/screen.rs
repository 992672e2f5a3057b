//! The screens: the state of each, how it handles events, and how it is drawn.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Answer, Changed, Effect, NoticeEdit};
use crate::keys::{Action, Table};
use crate::problem::Problem;
use crate::sheet::Sheet;
use crate::text;
use crate::theme::Theme;

pub(crate) mod analytics;
pub(crate) mod audit;
mod browse;
pub(crate) mod feedback;
mod form;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod notices;
pub(crate) mod overview;
pub(crate) mod posts;
pub(crate) mod sources;

pub(crate) use crate::ctx::Ctx;

/// The requests of a screen to the frame.
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

    /// Shows a note.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone: Tone::Note });
    }

    /// Shows a message of success.
    pub(crate) fn done(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone: Tone::Done });
    }

    pub(crate) fn error(&mut self, problem: &Problem) {
        let label = problem.field.as_deref().map(|field| {
            let mut chars = field.chars();
            chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
        });
        let text = problem.at(label.map(|label| label.replace('_', " ")).as_deref()).text;
        self.message = Some(Message { text, tone: Tone::Failed });
    }

    /// Copies a text to the clipboard and confirms it.
    pub(crate) fn copy(&mut self, what: &str, text: String) {
        self.done(format!("Copied {what}."));
        self.effects.push(Effect::Copy(text));
    }
}

/// The answer to a request, until the screen that waits for it has taken it.
pub(crate) type Loaded = Option<Result<Answer, Problem>>;

/// A message in the footer, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Note,
    Done,
    Failed,
}

/// A target to open on another screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The log with this filter.
    Log(String),
    /// The log, typing its filter.
    LogFilter,
    /// The notice with this id.
    Notice(String),
}

/// A question asked before a change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// The question, which names what would change.
    pub(crate) text: String,
    /// The consequences.
    pub(crate) detail: String,
    pub(crate) choices: Vec<Choice>,
    /// The label of Esc, which declines.
    pub(crate) decline: &'static str,
}

/// The usual name of declining a question.
const CANCEL: &str = "cancel";

/// A choice that answers a question; Esc declines it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) then: ChoiceEffect,
}

/// The effect of a choice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChoiceEffect {
    /// Makes a change.
    Act(Act),
    /// Makes the screen handle an action.
    Action(Action),
    /// Ends the program.
    Quit,
}

impl Question {
    /// Returns a text that stays until it is closed.
    pub(crate) fn told(text: String, detail: impl Into<String>) -> Self {
        Self { text, detail: detail.into(), choices: Vec::new(), decline: "close" }
    }

    /// Returns a question whose only choice is to do `act`.
    pub(crate) fn yes_or_no(text: String, detail: impl Into<String>, label: &'static str, act: Act) -> Self {
        let choices = vec![Choice { key: 'y', label, then: ChoiceEffect::Act(act) }];
        Self { text, detail: detail.into(), choices, decline: CANCEL }
    }
}

/// Returns the question whether to leave an editor. Each choice has a key, a label and the action of the editor.
pub(crate) fn leaving(
    (what, title): (&str, &str),
    detail: &str,
    choices: &[(char, &'static str, Action)],
) -> Question {
    let choice = |&(key, label, action): &_| Choice { key, label, then: ChoiceEffect::Action(action) };
    Question {
        text: if title.is_empty() { format!("Leave this {what}?") } else { format!("Leave “{title}”?") },
        detail: detail.to_owned(),
        choices: choices.iter().map(choice).collect(),
        decline: "go on editing",
    }
}

/// A screen.
pub(crate) trait Screen {
    /// Returns the tables of the keys that currently apply, in search order.
    fn keys(&self) -> Vec<&'static Table>;

    /// Returns whether unbound keys are typed into a field of the screen.
    fn typing(&self) -> bool {
        false
    }

    /// Requests the shown data that has changed. Called on each tick and when the screen is opened.
    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out);

    /// Handles an action. Returns whether it was one of the screen's.
    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool;

    /// Handles a typed key.
    fn key(&mut self, _: KeyEvent, _: &Ctx, _: &mut Out) {}

    /// Inserts a pasted text.
    fn paste(&mut self, _: &str, _: &Ctx, _: &mut Out) {}

    /// Takes over what was written in the editor that the environment names.
    fn edited(&mut self, _: &str) {}

    /// Handles a click.
    fn click(&mut self, _: Position, _: &Ctx, _: &mut Out) {}

    /// Takes and handles the answer to a request, if it was the screen's.
    fn answer(&mut self, number: u64, answer: &mut Loaded, ctx: &Ctx, out: &mut Out);

    /// Handles the end of a change: the id of what it saved, if there is one, or the failure.
    fn change_done(&mut self, _: &Act, _: Changed, _: &Ctx, _: &mut Out) {}

    /// Returns whether a request is taking noticeably long.
    fn is_slow(&self, now: Timestamp) -> bool;

    /// Cancels the pending requests. Returns whether there were any.
    fn cancel(&mut self) -> bool;

    /// Returns whether a form contains unsaved changes.
    fn unsaved(&self) -> bool {
        false
    }

    /// Returns the unsaved notice in the editor as a draft, which is being saved from now on.
    fn draft(&mut self, _: &Ctx) -> Option<Box<NoticeEdit>> {
        None
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx);
}

/// Returns a title, a line of facts and a text, wrapped for reading.
pub(crate) fn reading(title: &str, facts: &str, post: &str, columns: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    lines.extend(text::wrap(title, columns).into_iter().map(|line| Line::styled(line, Theme::strong())));
    lines.extend(text::wrap(facts, columns).into_iter().map(|line| Line::styled(line, Theme::faint())));
    lines.push(Line::default());
    lines.extend(text::wrap(post, columns).into_iter().map(Line::raw));
    lines
}
