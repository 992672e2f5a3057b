use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Change, Changed, Effect};
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
pub(crate) use crate::effect::Loaded;

#[derive(Default)]
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
        self.message = Some(Message { text: problem.labelled(), tone: Tone::Failed });
    }

    pub(crate) fn copy(&mut self, what: &str, text: String) {
        self.done(format!("Copied {what}."));
        self.effects.push(Effect::Copy(text));
    }

    /// Asks before the change. `label` says what `y` does.
    pub(crate) fn ask(&mut self, text: String, detail: impl Into<String>, label: &'static str, act: Act) {
        let choices = vec![Choice { key: 'y', label, then: ChoiceEffect::Act(act) }];
        self.question = Some(Question { text, detail: detail.into(), choices, decline: "cancel" });
    }
}

pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

pub(crate) enum Tone {
    Note,
    Done,
    Failed,
}

pub(crate) enum Destination {
    Log(String),
    LogFilter,
    Notice(String),
}

pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) detail: String,
    pub(crate) choices: Vec<Choice>,
    pub(crate) decline: &'static str,
}

pub(crate) struct Choice {
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) then: ChoiceEffect,
}

pub(crate) enum ChoiceEffect {
    Act(Act),
    Action(Action),
    Quit,
}

pub(crate) trait Screen {
    fn keys(&self) -> Vec<&'static Table>;

    /// Unbound keys are typed into a field of the screen.
    fn typing(&self) -> bool {
        false
    }

    /// Requests the shown data that has changed. Called on each tick and when the screen is opened.
    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out);

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool;

    fn key(&mut self, _: KeyEvent, _: &Ctx, _: &mut Out) {}

    fn paste(&mut self, _: &str, _: &Ctx, _: &mut Out) {}

    fn edited(&mut self, _: &str) {}

    fn click(&mut self, _: Position, _: &Ctx, _: &mut Out) {}

    fn go(&mut self, _: Destination, _: &Ctx, _: &mut Out) {}

    fn answer(&mut self, number: u64, answer: &mut Loaded, ctx: &Ctx, out: &mut Out);

    fn change_done(&mut self, _: &Change, _: Changed, _: &Ctx, _: &mut Out) {}

    fn is_slow(&self, now: Timestamp) -> bool;

    fn cancel(&mut self);

    fn unsaved(&self) -> bool {
        false
    }

    /// Saves the unsaved notice in the editor as a draft from now on.
    fn draft(&mut self, _: &Ctx) -> Option<Act> {
        None
    }

    fn open_items(&self) -> usize {
        0
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx);
}

pub(crate) fn reading(title: &str, facts: &str, post: &str, columns: usize) -> Vec<Line<'static>> {
    let title = text::wrap(title, columns).into_iter().map(|line| Line::styled(line, Theme::strong()));
    let facts = text::wrap(facts, columns).into_iter().map(|line| Line::styled(line, Theme::faint()));
    let post = text::wrap(post, columns).into_iter().map(Line::raw);
    title.chain(facts).chain([Line::default()]).chain(post).collect()
}
