//! Dispatches keys, mouse events and pasted text to the overlay, the frame or the screen.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{Overlay, State};
use crate::effect::Effect;
use crate::keys::{self, Action};
use crate::layout::{self, TITLES, tab};
use crate::screen::{Choice, ChoiceEffect, Out, Question};
use crate::second_factor::SecondFactor;
use crate::sheet::Sheet;
use crate::widget::input::Input;

const WHEEL: usize = 3;

impl State {
    pub(super) fn key(&mut self, key: KeyEvent, out: &mut Out) {
        self.message = None;
        if self.ctx.size.0 < layout::LEAST.0 || self.ctx.size.1 < layout::LEAST.1 {
            // The terminal is too small to show the effect of other keys.
            match keys::find(&[&keys::GLOBAL], &key) {
                // The terminal is also too small for a question, so quitting saves the draft without asking.
                Some(Action::Quit) => self.stop(out),
                Some(Action::Suspend) => out.effect(Effect::Suspend),
                _ => {}
            }
            return;
        }
        if (self.overlay.is_some() || self.screen().typing()) && redraws(&key) {
            return out.effect(Effect::Redraw);
        }
        match self.overlay.take() {
            Some(Overlay::Help { scroll }) => self.key_in_help(scroll, key, out),
            Some(Overlay::Question(question)) => self.key_in_question(question, key, out),
            Some(Overlay::Export { input, sheet }) => self.key_in_export(input, sheet, key, out),
            Some(Overlay::SecondFactor(mut dialog)) => {
                let action = keys::find(&[&keys::INPUT], &key);
                if action == Some(Action::Quit) {
                    self.quit(out);
                } else if dialog.key(action, key, out) {
                    self.overlay = Some(Overlay::SecondFactor(dialog));
                }
            }
            None => match keys::find(&self.tables(), &key) {
                Some(Action::Type) | None if self.screen().typing() => {
                    self.screens[self.current].key(key, &self.ctx, out);
                }
                Some(action) => self.act(action, out),
                None => {}
            },
        }
    }

    fn act(&mut self, action: Action, out: &mut Out) {
        let slow = self.screen().is_slow(self.ctx.now);
        if action == Action::Back && slow && !self.screen().typing() {
            self.screens[self.current].cancel();
            return out.say("Cancelled; Ctrl-L reloads.");
        }
        let done = self.screens[self.current].act(action, &self.ctx, out);
        match action {
            Action::Refresh => out.effect(Effect::Redraw),
            _ if done => {}
            Action::Quit => self.quit(out),
            Action::Suspend => out.effect(Effect::Suspend),
            Action::SecondFactor if self.title.link.is_some() => {
                self.overlay = Some(Overlay::SecondFactor(Box::new(SecondFactor::new())));
            }
            Action::SecondFactor => {
                out.say("On a database, the operator has every right: a second factor is for members on a server.");
            }
            Action::Help => self.overlay = Some(Overlay::Help { scroll: 0 }),
            Action::Screen(screen) => self.open(screen, out),
            Action::NextScreen => self.open((self.current + 1) % TITLES.len(), out),
            Action::PreviousScreen => self.open((self.current + TITLES.len() - 1) % TITLES.len(), out),
            // With nothing open, there is nothing to go back from.
            _ => {}
        }
    }

    fn open(&mut self, screen: usize, out: &mut Out) {
        self.current = screen;
        self.refresh(out);
    }

    fn quit(&mut self, out: &mut Out) {
        if self.quitting {
            // Quitting twice does not wait for running changes.
            return out.effect(Effect::Quit);
        }
        let (what, detail, label) = if self.screens[tab::POSTS].unsaved() {
            ("post", "What you typed is lost; posts have no drafts.", "quit, and lose it")
        } else if self.screens[tab::NOTICES].unsaved() {
            let detail = "It becomes a draft of all administrators, listed among the notices.";
            ("notice", detail, "quit, and keep the draft")
        } else {
            self.quitting = true;
            return;
        };
        out.question = Some(Question {
            text: format!("Quit with a {what} that is not saved?"),
            detail: detail.into(),
            choices: vec![Choice { key: 'y', label, then: ChoiceEffect::Quit }],
            decline: "stay",
        });
    }

    fn key_in_help(&mut self, scroll: usize, key: KeyEvent, out: &mut Out) {
        let lines = layout::help(&self.screen_tables()).len();
        // The dialog has a border, and a free line above and below.
        let page = usize::from(self.ctx.size.1.saturating_sub(4));
        let most = lines.saturating_sub(page);
        let scroll = match keys::find(&[&keys::HELP], &key) {
            Some(Action::Back) => return,
            Some(Action::Quit) => return self.quit(out),
            Some(Action::Up) => scroll.saturating_sub(1),
            Some(Action::Down) => scroll + 1,
            Some(Action::PageUp) => scroll.saturating_sub(page),
            Some(Action::PageDown) => scroll + page,
            _ => scroll,
        };
        self.overlay = Some(Overlay::Help { scroll: scroll.min(most) });
    }

    fn key_in_question(&mut self, mut question: Question, key: KeyEvent, out: &mut Out) {
        match question.choices.iter().position(|choice| key.code == KeyCode::Char(choice.key)) {
            Some(chosen) => match question.choices.swap_remove(chosen).then {
                ChoiceEffect::Act(act) => out.act(act),
                ChoiceEffect::Action(action) => {
                    self.screens[self.current].act(action, &self.ctx, out);
                }
                ChoiceEffect::Quit => self.stop(out),
            },
            None if keys::find(&[&keys::QUESTION], &key).is_some() => {}
            None => self.overlay = Some(Overlay::Question(question)),
        }
    }

    fn key_in_export(&mut self, mut input: Box<Input>, sheet: Arc<Sheet>, key: KeyEvent, out: &mut Out) {
        match keys::find(&[&keys::INPUT], &key) {
            Some(Action::Back) => return,
            Some(Action::Quit) => return self.quit(out),
            Some(Action::Open) if !input.text().trim().is_empty() => {
                return out.act(super::export(Path::new(input.text().trim()), &sheet, false));
            }
            Some(_) => {}
            None if key.code == KeyCode::Tab => {
                let (stem, ending) = input.text().rsplit_once('.').unwrap_or((input.text(), ""));
                let other = if ending.eq_ignore_ascii_case("json") { "csv" } else { "json" };
                *input = Input::new(&format!("{stem}.{other}"));
            }
            None => drop(input.key(key)),
        }
        self.overlay = Some(Overlay::Export { input, sheet });
    }

    pub(super) fn paste(&mut self, text: &str, out: &mut Out) {
        match &mut self.overlay {
            Some(Overlay::Export { input, .. }) => drop(input.paste(text)),
            Some(Overlay::SecondFactor(dialog)) => dialog.paste(text),
            _ => {}
        }
        if self.overlay.is_none() && self.screen().typing() {
            self.screens[self.current].paste(text, &self.ctx, out);
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, out: &mut Out) {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(at, out),
            MouseEventKind::ScrollUp => self.wheel(KeyCode::Up, out),
            MouseEventKind::ScrollDown => self.wheel(KeyCode::Down, out),
            _ => {}
        }
    }

    fn wheel(&mut self, code: KeyCode, out: &mut Out) {
        let key = KeyEvent::from(code);
        for _ in 0..WHEEL {
            match self.overlay {
                Some(Overlay::Help { .. }) | None => self.key(key, out),
                Some(_) => {}
            }
        }
    }

    fn click(&mut self, at: Position, out: &mut Out) {
        self.message = None;
        let areas = layout::areas(Rect::new(0, 0, self.ctx.size.0, self.ctx.size.1));
        if let Some(overlay) = &self.overlay {
            // A click outside a question does not answer it.
            if let Overlay::Help { .. } = overlay {
                self.overlay = None;
            }
        } else if areas.tabs.contains(at) {
            let tabs = layout::tabs(areas.tabs, self.current, self.open_feedback());
            if let Some(screen) = tabs.iter().position(|(rect, _)| rect.contains(at)) {
                self.open(screen, out);
            }
        } else if areas.foot.contains(at) {
            let hints = layout::footer(areas.foot, &self.tables());
            if let Some(hint) = hints.into_iter().find(|hint| hint.area.contains(at)) {
                self.act(hint.action, out);
            }
        } else if areas.body.contains(at) {
            self.screens[self.current].click(at, &self.ctx, out);
            self.refresh(out);
        }
    }
}

/// A key that is no text reloads and redraws. While text is typed or a question is open, it only redraws.
fn redraws(key: &KeyEvent) -> bool {
    let held = KeyModifiers::CONTROL | KeyModifiers::ALT;
    let is_text = matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(held);
    !is_text && keys::find(&[&keys::GLOBAL], key) == Some(Action::Refresh)
}
