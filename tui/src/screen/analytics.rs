//! Analytics: the figures of a day or of a range of days.

use crossterm::event::KeyEvent;
use jiff::ToSpan as _;
use jiff::civil::Date;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Answer, Figures, Query};
use crate::keys::{self, Action, Table};
use crate::pending::Pending;
use crate::screen::{Ctx, Loaded, Out, Screen};
use crate::widget::cursor::{Cursor, rows_moved};
use crate::widget::cycle::Cycle as _;
use crate::widget::input::Input;
use crate::widget::table::HEAD;

mod days;
mod draw;
mod view;

use days::Days;
use view::View;

#[derive(Debug, Default)]
pub(crate) struct Analytics {
    pending: Pending,
    days: Option<Days>,
    figures: Option<Box<Figures>>,
    view: View,
    cursor: Cursor,
    filter: Input,
    typing: Option<Typing>,
    go_to: Input,
    /// The error in the typed days.
    mistake: Option<&'static str>,
    /// The version of the counters that was requested last.
    seen: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typing {
    Filter,
    Days,
}

/// In days, for the key `w`.
const WIDTHS: [i32; 4] = [1, 7, 30, 365];
const ABOVE: u16 = 2;

impl Analytics {
    fn today(ctx: &Ctx) -> Date {
        ctx.day(ctx.now).parse().unwrap_or_default()
    }

    fn choose(&mut self, days: Days, ctx: &Ctx, out: &mut Out) {
        self.days = Some(days);
        self.load(ctx, out);
    }

    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        let days = *self.days.get_or_insert_with(|| Days::one(Self::today(ctx)));
        let query = Query::Period { first: days.first.to_string(), last: days.last.to_string() };
        out.effect(self.pending.request(ctx.now, query));
    }

    /// Moves by the length of the range, but not into the future.
    fn step(&mut self, by: i32, ctx: &Ctx, out: &mut Out) {
        let Some(days) = self.days else { return };
        let moved = days.moved(by);
        if moved.first > Self::today(ctx) {
            return out.say("There are no figures for the future.");
        }
        self.choose(moved, ctx, out);
    }

    fn wider(&mut self, ctx: &Ctx, out: &mut Out) {
        let Some(days) = self.days else { return };
        let next = WIDTHS.into_iter().find(|width| *width > days.len()).unwrap_or(WIDTHS[0]);
        let first = days.last.checked_sub((next - 1).days()).unwrap_or(days.last);
        if days.len() == 1 && self.view == View::Hours {
            self.view = View::Days;
        }
        self.choose(Days { first, last: days.last }, ctx, out);
    }

    fn rows(&self) -> Vec<view::Row> {
        let Some(figures) = &self.figures else { return Vec::new() };
        let wanted = self.filter.text().to_lowercase();
        let mut rows = self.view.rows(figures);
        rows.retain(|row| wanted.is_empty() || row.name.to_lowercase().contains(&wanted));
        rows
    }

    fn show(&mut self, view: View) {
        (self.view, self.cursor) = (view, Cursor::default());
    }

    fn field(&mut self) -> Option<&mut Input> {
        self.typing.map(|typing| if typing == Typing::Filter { &mut self.filter } else { &mut self.go_to })
    }

    fn act_typing(&mut self, typing: Typing, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match (typing, action) {
            (Typing::Filter, Action::Open) => self.typing = None,
            (Typing::Filter, Action::Back) => {
                self.typing = None;
                self.filter = Input::default();
            }
            (Typing::Days, Action::Back) => {
                self.typing = None;
                self.mistake = None;
            }
            (Typing::Days, Action::Open) => match Days::parse(self.go_to.text(), Self::today(ctx)) {
                Ok(days) => {
                    self.typing = None;
                    self.mistake = None;
                    self.choose(days, ctx, out);
                }
                Err(mistake) => self.mistake = Some(mistake),
            },
            _ => return self.moved(action, ctx),
        }
        true
    }

    fn moved(&mut self, action: Action, ctx: &Ctx) -> bool {
        let (len, lines) = (self.rows().len(), ctx.body().height.saturating_sub(ABOVE + HEAD));
        let by = rows_moved(action, lines);
        if let Some(by) = by {
            self.cursor.step(by, len);
            self.cursor.settle(len, lines.into());
        }
        by.is_some()
    }
}

impl Screen for Analytics {
    fn keys(&self) -> Vec<&'static Table> {
        if self.typing.is_some() { vec![&keys::INPUT] } else { vec![&keys::ANALYTICS, &keys::SCROLL] }
    }

    fn typing(&self) -> bool {
        self.typing.is_some()
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        // Past days rarely change, so they are loaded again on request only, and after a failure.
        let live =
            self.pending.problem().is_some() || self.days.is_none_or(|days| days.last >= Self::today(ctx));
        let due = self.seen.is_none() || (live && self.seen != Some(changes.counts));
        if due && !self.pending.is_waiting() {
            self.seen = Some(changes.counts);
            self.load(ctx, out);
        }
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        if let Some(typing) = self.typing {
            return self.act_typing(typing, action, ctx, out);
        }
        match action {
            Action::Earlier => self.step(-1, ctx, out),
            Action::Later => self.step(1, ctx, out),
            Action::Today => self.choose(Days::one(Self::today(ctx)), ctx, out),
            Action::Wider => self.wider(ctx, out),
            Action::NextView => self.show(self.view.next()),
            Action::PreviousView => self.show(self.view.previous()),
            Action::GoTo => {
                self.typing = Some(Typing::Days);
                self.go_to = Input::default();
            }
            Action::Filter => self.typing = Some(Typing::Filter),
            Action::Back if !self.filter.is_empty() => self.filter = Input::default(),
            Action::Refresh => self.load(ctx, out),
            Action::Export => {
                if let Some(days) = self.days {
                    out.export = Some(self.view.sheet(days, &self.rows()));
                }
            }
            Action::Copy => {
                let rows = self.rows();
                if let Some(row) = self.cursor.selected(rows.len()).map(|i| &rows[i]) {
                    out.copy("the row", row.text());
                }
            }
            action => return self.moved(action, ctx),
        }
        true
    }

    fn key(&mut self, key: KeyEvent, _: &Ctx, _: &mut Out) {
        self.mistake = None;
        self.field().map(|field| field.key(key));
    }

    fn paste(&mut self, text: &str, _: &Ctx, _: &mut Out) {
        self.mistake = None;
        self.field().map(|field| field.paste(text));
    }

    fn click(&mut self, at: Position, ctx: &Ctx, out: &mut Out) {
        let body = ctx.body();
        if at.y == body.y {
            if let Some(view) = draw::views(body, self.days).into_iter().find(|(rect, _)| rect.contains(at)) {
                self.show(view.1);
            } else if at.x < body.x + draw::DAYS_WIDE / 2 {
                self.step(-1, ctx, out);
            } else {
                self.step(1, ctx, out);
            }
        } else if at.y >= body.y + ABOVE + HEAD {
            let len = self.rows().len();
            let lines = usize::from(body.height.saturating_sub(ABOVE + HEAD));
            let row = self.cursor.view(len, lines).start + usize::from(at.y - body.y - ABOVE - HEAD);
            if row < len {
                self.cursor.settle(len, lines);
                self.cursor.select(row);
            }
        }
    }

    fn answer(&mut self, number: u64, answer: &mut Loaded, _: &Ctx, _: &mut Out) {
        if let Some(Answer::Figures(figures)) = self.pending.take(number, answer) {
            self.figures = Some(figures);
        }
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel(&mut self) -> bool {
        self.pending.cancel()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        self.paint(frame.buffer_mut(), area, ctx);
    }
}
