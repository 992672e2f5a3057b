//! The state of all screens, and its changes by events. It uses no terminal, store or clock.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use jiff::tz::TimeZone;
use tidings_client::{Link, Look};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Answer, Change, Effect, Kind, Saved, Work};
use crate::keys::{self, Table};
use crate::layout::{TITLES, tab};
use crate::pending::is_slow;
use crate::problem::Problem;
use crate::screen::{
    Ctx, Destination, Message, Out, Question, Screen, analytics, audit, feedback, log, members, notices,
    overview, posts, sources,
};
use crate::second_factor::SecondFactor;
use crate::sheet::{self, Sheet};
use crate::theme::Theme;
use crate::widget::input::Input;

mod input;

#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    Paste(String),
    Mouse(MouseEvent),
    Resize(u16, u16),
    Tick(Look),
    Loaded {
        number: u64,
        answer: Result<Answer, Problem>,
    },
    Acted {
        change: Change,
        result: Result<Saved, Problem>,
    },
    /// The editor that the environment names has ended: what was written, or why it failed.
    Edited(Result<String, Problem>),
    Suspend,
    Resume,
    /// SIGTERM, SIGHUP or SIGINT, or the terminal has disappeared.
    Stop,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Title {
    /// The path or the URL of a database, or the host of a server.
    pub(crate) name: Arc<str>,
    pub(crate) caller: Option<Arc<str>>,
    /// `None` for a database.
    pub(crate) link: Option<Link>,
}

impl Title {
    pub(crate) fn database(name: &str) -> Self {
        Self { name: name.into(), caller: None, link: None }
    }

    pub(crate) fn server(host: &str) -> Self {
        Self { name: host.into(), caller: None, link: Some(Link::Connecting) }
    }
}

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
    /// In the order of the tabs.
    screens: [Box<dyn Screen>; TITLES.len()],
    changes: Changes,
    pub(crate) title: Title,
    /// The number and the description of each running change, and its start.
    running: Vec<(u64, &'static str, Timestamp)>,
    pub(crate) quitting: bool,
}

impl State {
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
            screens: [
                Box::<overview::Overview>::default(),
                Box::<notices::Notices>::default(),
                Box::<feedback::Feedback>::default(),
                Box::<members::Members>::default(),
                Box::<posts::Posts>::default(),
                Box::<analytics::Analytics>::default(),
                Box::<log::Log>::default(),
                Box::<audit::Audit>::default(),
                Box::<sources::Sources>::default(),
            ],
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
                self.screens.iter_mut().for_each(|screen| screen.cancel());
            }
        }
    }

    pub(crate) fn screen(&self) -> &dyn Screen {
        &*self.screens[self.current]
    }

    /// Ends the program once all changes are made, among them the draft of the notice in the editor.
    fn stop(&mut self, out: &mut Out) {
        out.effects.extend(self.screens[tab::NOTICES].draft(&self.ctx).map(Effect::Act));
        self.quitting = true;
    }

    pub(crate) fn open_feedback(&self) -> usize {
        self.screens[tab::FEEDBACK].open_items()
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.progress().is_some()
    }

    /// With an animation; `None` unless the operation is taking noticeably long.
    pub(crate) fn progress(&self) -> Option<String> {
        const FRAMES: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
        let now = self.ctx.now;
        let what = match self.running.first().filter(|(.., since)| is_slow(Some(*since), now)) {
            Some((_, what, _)) => format!("{what} …"),
            None if self.screen().is_slow(now) => "loading … Esc cancels".to_owned(),
            None => return None,
        };
        let frame =
            usize::try_from(now.as_millis().rem_euclid(1_000_000) / 100).unwrap_or_default() % FRAMES.len();
        Some(format!("{} {what}", FRAMES[frame]))
    }

    pub(crate) fn tables(&self) -> Vec<&'static Table> {
        match &self.overlay {
            None => self.screen_tables(),
            Some(Overlay::Help { .. }) => vec![&keys::HELP],
            Some(Overlay::Question(_)) => vec![&keys::QUESTION],
            Some(Overlay::Export { .. } | Overlay::SecondFactor(_)) => vec![&keys::INPUT],
        }
    }

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
                let (mut answer, mut taker) = (Some(answer), None);
                for (place, screen) in self.screens.iter_mut().enumerate() {
                    screen.answer(number, &mut answer, &self.ctx, &mut out);
                    taker = taker.or(answer.is_none().then_some(place));
                }
                if self.opening && is_refused && taker == Some(self.current) {
                    // The caller may see another screen. A caller who may see none stays on the first, which says why.
                    self.current = (self.current + 1) % TITLES.len();
                    self.opening = self.current != 0;
                    self.screens[self.current].act(keys::Action::Refresh, &self.ctx, &mut out);
                }
            }
            Event::Acted { change, result } => self.change_done(change, &result, &mut out),
            Event::Edited(Ok(text)) => self.screens[self.current].edited(&text),
            Event::Edited(Err(problem)) => out.error(&problem),
            Event::Suspend => out.effect(Effect::Suspend),
            Event::Resume => out.effect(Effect::Redraw),
            Event::Stop => self.stop(&mut out),
        }
        self.settle(out)
    }

    fn refresh(&mut self, out: &mut Out) {
        // The tab of feedback shows the number of open items on every screen.
        for place in [tab::FEEDBACK, self.current] {
            self.screens[place].refresh(&self.changes, &self.ctx, out);
        }
    }

    fn settle(&mut self, mut out: Out) -> Vec<Effect> {
        if let Some(question) = out.question.take() {
            self.overlay = Some(Overlay::Question(question));
        }
        if let Some(sheet) = out.export.take() {
            if sheet.rows.is_empty() {
                out.say("There is nothing to export.");
            } else {
                let input = Box::new(Input::new(&format!("{}.csv", sheet.name)));
                self.overlay = Some(Overlay::Export { input, sheet: Arc::new(sheet) });
            }
        }
        if let Some(go) = out.go.take() {
            self.go(go, &mut out);
        }
        if let Some(message) = out.message.take() {
            self.message = Some(message);
        }
        for effect in &out.effects {
            if let Effect::Act(act) = effect {
                self.running.push((act.change.number, act.change.doing(), self.ctx.now));
            }
        }
        if self.quitting && self.running.is_empty() {
            out.effects.push(Effect::Quit);
        }
        out.effects
    }

    fn go(&mut self, to: Destination, out: &mut Out) {
        self.current = if let Destination::Notice(_) = to { tab::NOTICES } else { tab::LOG };
        if !matches!(to, Destination::Log(_)) {
            self.refresh(out);
        }
        self.screens[self.current].go(to, &self.ctx, out);
    }

    fn change_done(&mut self, mut change: Change, result: &Result<Saved, Problem>, out: &mut Out) {
        self.running.retain(|(number, ..)| *number != change.number);
        match (result, &change.kind) {
            (Ok(Some(code)), Kind::IssueReset(id)) => {
                out.question = Some(Question {
                    text: format!("The code for {id}: {code}"),
                    detail: "It is not shown again. They give it to the app to choose a new password: POST /reset_pw, or \
                             tidings member new-password."
                        .to_owned(),
                    choices: Vec::new(),
                    decline: "close",
                });
            }
            (Ok(Some(fetched)), Kind::FetchSource) => out.done(fetched),
            (Ok(_), _) => {
                if let Some(text) = change.done.take() {
                    out.done(text);
                }
            }
            (Err(problem), Kind::Export(path, sheet)) if problem.exists => {
                let (text, act) = (format!("Overwrite {}?", path.display()), export(path, sheet, true));
                out.ask(text, "Its current content will be lost.", "overwrite it", act);
            }
            (Err(problem), kind) => {
                // An unsaved draft must not be lost, so the program continues.
                self.quitting &= !matches!(kind, Kind::ShareDraft);
                out.error(problem);
            }
        }
        let result = result.as_ref().map(Option::as_deref);
        if let Some(Overlay::SecondFactor(dialog)) = &mut self.overlay {
            dialog.change_done(&change, result);
        }
        for screen in &mut self.screens {
            screen.change_done(&change, result, &self.ctx, out);
        }
    }
}

fn export(path: &Path, sheet: &Arc<Sheet>, replace: bool) -> Act {
    let (path, sheet) = (path.to_owned(), Arc::clone(sheet));
    let done = format!("Wrote {} rows to {}.", sheet.rows.len(), path.display());
    let kind = Kind::Export(path.clone(), Arc::clone(&sheet));
    Act::new(None, kind, done, Work::new(move |_| sheet::write(&path, &sheet, replace).map(|()| None)))
}

#[cfg(test)]
mod tests;
