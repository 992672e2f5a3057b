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

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone: Tone::Note });
    }

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

    pub(crate) fn copy(&mut self, what: &str, text: String) {
        self.done(format!("Copied {what}."));
        self.effects.push(Effect::Copy(text));
    }
}

/// Until the screen that waits for the answer has taken it.
pub(crate) type Loaded = Option<Result<Answer, Problem>>;

/// Shown in the footer until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Note,
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Log(String),
    /// The log, with the focus on its filter.
    LogFilter,
    Notice(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// Names what would change.
    pub(crate) text: String,
    pub(crate) detail: String,
    pub(crate) choices: Vec<Choice>,
    /// The label of Esc.
    pub(crate) decline: &'static str,
}

const CANCEL: &str = "cancel";

/// Esc declines the question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) then: ChoiceEffect,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChoiceEffect {
    Act(Act),
    Action(Action),
    Quit,
}

impl Question {
    /// The text stays until it is closed.
    pub(crate) fn told(text: String, detail: impl Into<String>) -> Self {
        Self { text, detail: detail.into(), choices: Vec::new(), decline: "close" }
    }

    /// The only choice is to do `act`.
    pub(crate) fn yes_or_no(text: String, detail: impl Into<String>, label: &'static str, act: Act) -> Self {
        let choices = vec![Choice { key: 'y', label, then: ChoiceEffect::Act(act) }];
        Self { text, detail: detail.into(), choices, decline: CANCEL }
    }
}

/// Asks before an editor is left. Each choice has a key, a label and the action of the editor.
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

pub(crate) trait Screen {
    /// In search order.
    fn keys(&self) -> Vec<&'static Table>;

    /// Unbound keys are typed into a field of the screen.
    fn typing(&self) -> bool {
        false
    }

    /// Requests the shown data that has changed. Called on each tick and when the screen is opened.
    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out);

    /// Returns whether the action was one of the screen's.
    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool;

    fn key(&mut self, _: KeyEvent, _: &Ctx, _: &mut Out) {}

    fn paste(&mut self, _: &str, _: &Ctx, _: &mut Out) {}

    /// Takes over what was written in the editor that the environment names.
    fn edited(&mut self, _: &str) {}

    /// Handles a click.
    fn click(&mut self, _: Position, _: &Ctx, _: &mut Out) {}

    /// Takes the answer if the request was the screen's.
    fn answer(&mut self, number: u64, answer: &mut Loaded, ctx: &Ctx, out: &mut Out);

    /// The result has the id of the saved record, if there is one.
    fn change_done(&mut self, _: &Act, _: Changed, _: &Ctx, _: &mut Out) {}

    fn is_slow(&self, now: Timestamp) -> bool;

    /// Returns whether there were pending requests.
    fn cancel(&mut self) -> bool;

    fn unsaved(&self) -> bool {
        false
    }

    /// The draft of the unsaved notice in the editor is being saved from now on.
    fn draft(&mut self, _: &Ctx) -> Option<Box<NoticeEdit>> {
        None
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx);
}

pub(crate) fn reading(title: &str, facts: &str, post: &str, columns: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    lines.extend(text::wrap(title, columns).into_iter().map(|line| Line::styled(line, Theme::strong())));
    lines.extend(text::wrap(facts, columns).into_iter().map(|line| Line::styled(line, Theme::faint())));
    lines.push(Line::default());
    lines.extend(text::wrap(post, columns).into_iter().map(Line::raw));
    lines
}
