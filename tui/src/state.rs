//! The state of all screens, and its changes by events. It uses no terminal, store or clock.

use std::sync::Arc;

use crossterm::event::KeyEventKind;
use jiff::tz::TimeZone;
use tidings_client::{Link, Look};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Effect, Saved};
use crate::event::Event;
use crate::keys::{self, Table};
use crate::layout;
use crate::problem::Problem;
use crate::screen::analytics::Analytics;
use crate::screen::audit::Audit;
use crate::screen::feedback::Feedback;
use crate::screen::log::Log;
use crate::screen::members::Members;
use crate::screen::notices::Notices;
use crate::screen::overview::Overview;
use crate::screen::posts::Posts;
use crate::screen::sources::Sources;
use crate::screen::{Ctx, Destination, Message, Out, Question, Screen, Tone};
use crate::second_factor::SecondFactor;
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::input::Input;

mod input;
mod title;

pub(crate) use title::Title;

#[derive(Debug)]
pub(crate) enum Overlay {
    Help { scroll: usize },
    Question(Question),
    Export { input: Box<Input>, sheet: Arc<Sheet> },
    SecondFactor(Box<SecondFactor>),
}

pub(crate) struct State {
    pub(crate) ctx: Ctx,
    pub(crate) zone_name: String,
    pub(crate) current: usize,
    /// The screen to open is still sought.
    opening: bool,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) message: Option<Message>,
    overview: Overview,
    notices: Notices,
    feedback: Feedback,
    members: Members,
    posts: Posts,
    analytics: Analytics,
    log: Log,
    audit: Audit,
    sources: Sources,
    changes: Changes,
    pub(crate) title: Title,
    /// The description of each running change, and its start.
    running: Vec<(&'static str, Timestamp)>,
    /// The program ends when no change is running.
    quitting: bool,
}

impl Overlay {
    const fn keys(&self) -> &'static Table {
        match self {
            Self::Help { .. } => &keys::HELP,
            Self::Question(_) => &keys::QUESTION,
            Self::Export { .. } | Self::SecondFactor(_) => &keys::INPUT,
        }
    }
}

impl State {
    /// Nothing is loaded yet.
    pub(crate) fn new(title: Title, has_colours: bool, size: (u16, u16), look: &Look) -> Self {
        // Until the server tells its zone, times are those of this machine.
        let zone = Some(TimeZone::system()).filter(|zone| zone.iana_name().is_some());
        let zone = zone.unwrap_or(TimeZone::UTC);
        let mut state = Self {
            zone_name: zone.iana_name().unwrap_or("UTC").to_owned(),
            ctx: Ctx {
                now: look.now,
                zone,
                size,
                theme: Theme::new(has_colours),
                is_remote: title.link.is_some(),
                password: None,
            },
            current: 0,
            opening: true,
            overlay: None,
            message: None,
            overview: Overview::default(),
            notices: Notices::default(),
            feedback: Feedback::default(),
            members: Members::default(),
            posts: Posts::default(),
            analytics: Analytics::default(),
            log: Log::default(),
            audit: Audit::default(),
            sources: Sources::default(),
            changes: Changes::default(),
            title,
            running: Vec::new(),
            quitting: false,
        };
        state.see(look);
        state
    }

    fn see(&mut self, look: &Look) {
        let Look { now, changes, zone, caller, link } = look;
        (self.ctx.now, self.changes) = (*now, *changes);
        if let Some(zone) = zone
            && **zone != *self.zone_name
        {
            self.ctx.zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
            zone.as_ref().clone_into(&mut self.zone_name);
        }
        if let Some(before) = &mut self.title.link {
            self.title.caller.clone_from(caller);
            let before = std::mem::replace(before, link.clone());
            if matches!(before, Link::Lost { .. }) && !matches!(link, Link::Lost { .. }) {
                // Requests from before may wait for an answer that never comes.
                for screen in self.screens().0 {
                    screen.cancel();
                }
            }
        }
    }

    pub(crate) fn screen(&self) -> &dyn Screen {
        match self.current {
            1 => &self.notices,
            2 => &self.feedback,
            3 => &self.members,
            4 => &self.posts,
            5 => &self.analytics,
            6 => &self.log,
            7 => &self.audit,
            8 => &self.sources,
            _ => &self.overview,
        }
    }

    fn screen_mut(&mut self) -> (&mut dyn Screen, &Ctx) {
        let current = self.current;
        let (screens, ctx) = self.screens();
        let mut screens = screens.into_iter();
        (screens.nth(current).expect("there are as many screens as titles"), ctx)
    }

    /// Ends the program once all changes are made, among them the draft of the notice in the editor.
    fn stop(&mut self, out: &mut Out) {
        if let Some(draft) = self.notices.draft(&self.ctx) {
            out.act(Act::ShareDraft(draft));
        }
        self.quitting = true;
    }

    /// In the order of the tabs.
    fn screens(&mut self) -> ([&mut dyn Screen; layout::TITLES.len()], &Ctx) {
        let screens: [&mut dyn Screen; _] = [
            &mut self.overview,
            &mut self.notices,
            &mut self.feedback,
            &mut self.members,
            &mut self.posts,
            &mut self.analytics,
            &mut self.log,
            &mut self.audit,
            &mut self.sources,
        ];
        (screens, &self.ctx)
    }

    pub(crate) const fn is_quitting(&self) -> bool {
        self.quitting
    }

    pub(crate) fn open_feedback(&self) -> usize {
        self.feedback.open_items()
    }

    /// The finest unit of time that is shown.
    pub(crate) fn minute(&self) -> i64 {
        self.ctx.now.as_millis().div_euclid(60_000)
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.progress().is_some()
    }

    /// With an animation; `None` unless the operation is taking noticeably long.
    pub(crate) fn progress(&self) -> Option<String> {
        const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
        let now = self.ctx.now;
        let saving = self.running.first().filter(|(_, since)| now - *since >= 300).map(|(what, _)| *what);
        let what = match saving {
            Some(what) => format!("{what} …"),
            None if self.screen().is_slow(now) => "loading … Esc cancels".to_owned(),
            None => return None,
        };
        let frame =
            usize::try_from(now.as_millis().rem_euclid(1_000_000) / 100).unwrap_or_default() % FRAMES.len();
        Some(format!("{} {what}", FRAMES[frame]))
    }

    /// A key is looked up in these tables.
    pub(crate) fn tables(&self) -> Vec<&'static Table> {
        match &self.overlay {
            Some(overlay) => vec![overlay.keys()],
            None => self.screen_tables(),
        }
    }

    /// For the help.
    pub(crate) fn screen_tables(&self) -> Vec<&'static Table> {
        let mut tables = self.screen().keys();
        if !self.screen().typing() {
            tables.push(&keys::GLOBAL);
        }
        tables
    }

    pub(crate) fn start(&mut self) -> Vec<Effect> {
        let mut out = Out::default();
        self.refresh(&mut out);
        self.settle(out)
    }

    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut out = Out::default();
        self.opening &= !matches!(event, Event::Key(_) | Event::Paste(_) | Event::Mouse(_));
        match event {
            // Some terminals also report released keys.
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) => self.key(key, &mut out),
            Event::Paste(text) => self.paste(&text, &mut out),
            Event::Mouse(mouse) => self.mouse(mouse, &mut out),
            Event::Resize(columns, rows) => self.ctx.size = (columns, rows),
            Event::Tick(look) => {
                self.see(&look);
                self.refresh(&mut out);
            }
            Event::Loaded { number, answer } => {
                let is_refused = answer.as_ref().is_err_and(|problem| problem.is_refusal);
                let (current, mut answer, mut taker) = (self.current, Some(answer), None);
                let (screens, ctx) = self.screens();
                for (place, screen) in screens.into_iter().enumerate() {
                    screen.answer(number, &mut answer, ctx, &mut out);
                    taker = taker.or(answer.is_none().then_some(place));
                }
                if self.opening && is_refused && taker == Some(current) {
                    // The caller may see another screen. A caller who may see none stays on the first, which says why.
                    self.current = (current + 1) % layout::TITLES.len();
                    self.opening = self.current != 0;
                    let (screen, ctx) = self.screen_mut();
                    screen.act(keys::Action::Refresh, ctx, &mut out);
                }
            }
            Event::Acted { act, result } => self.change_done(&act, &result, &mut out),
            Event::Edited(Ok(text)) => self.screen_mut().0.edited(&text),
            Event::Edited(Err(problem)) => out.error(&problem),
            Event::Suspend => out.effect(Effect::Suspend),
            Event::Resume => out.effect(Effect::Redraw),
            Event::Stop => self.stop(&mut out),
        }
        self.settle(out)
    }

    fn refresh(&mut self, out: &mut Out) {
        let changes = self.changes;
        // The tab of feedback shows the number of open items on every screen.
        self.feedback.refresh(&changes, &self.ctx, out);
        let (screen, ctx) = self.screen_mut();
        screen.refresh(&changes, ctx, out);
    }

    /// Handles the requests of a screen to the frame. Returns the remaining effects.
    fn settle(&mut self, mut out: Out) -> Vec<Effect> {
        if let Some(message) = out.message.take() {
            self.message = Some(message);
        }
        if let Some(question) = out.question.take() {
            self.overlay = Some(Overlay::Question(question));
        }
        if let Some(sheet) = out.export.take() {
            if sheet.rows.is_empty() {
                self.message = Some(Message { text: "There is nothing to export.".into(), tone: Tone::Note });
            } else {
                let input = Box::new(Input::new(&format!("{}.csv", sheet.name)));
                self.overlay = Some(Overlay::Export { input, sheet: Arc::new(sheet) });
            }
        }
        if let Some(go) = out.go.take() {
            self.go(go, &mut out);
        }
        for effect in &out.effects {
            if let Effect::Act(act) = effect {
                self.running.push((act.doing(), self.ctx.now));
            }
        }
        if self.quitting && self.running.is_empty() {
            out.effects.push(Effect::Quit);
        }
        out.effects
    }

    fn go(&mut self, go: Destination, out: &mut Out) {
        match go {
            Destination::Notice(id) => {
                self.current = 1;
                self.refresh(out);
                self.notices.open(id, out);
            }
            Destination::LogFilter => {
                self.current = 6;
                self.refresh(out);
                self.log.type_filter();
            }
            Destination::Log(text) => {
                self.current = 6;
                self.log.look_for(&text, &self.ctx, out);
            }
        }
    }

    fn change_done(&mut self, act: &Act, result: &Result<Saved, Problem>, out: &mut Out) {
        if let Some(first) = self.running.iter().position(|(what, _)| *what == act.doing()) {
            self.running.remove(first);
        }
        match (result, act) {
            (Ok(_), _) => {
                if let Some(text) = act.done() {
                    out.done(text);
                }
            }
            (Err(problem), Act::Export { path, sheet, .. }) if problem.exists => {
                let act = Act::Export { path: path.clone(), sheet: Arc::clone(sheet), replace: true };
                let text = format!("Overwrite {}?", path.display());
                out.question =
                    Some(Question::yes_or_no(text, "Its current content will be lost.", "overwrite it", act));
            }
            (Err(problem), _) => {
                // An unsaved draft must not be lost, so the program continues.
                self.quitting &= !matches!(act, Act::ShareDraft(_));
                out.error(problem);
            }
        }
        let result = result.as_ref().map(Option::as_deref);
        if let Some(Overlay::SecondFactor(dialog)) = &mut self.overlay {
            dialog.change_done(act, result);
        }
        let (screens, ctx) = self.screens();
        for screen in screens {
            screen.change_done(act, result, ctx, out);
        }
    }
}

#[cfg(test)]
mod tests;
