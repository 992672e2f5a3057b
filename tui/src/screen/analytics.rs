use crossterm::event::KeyEvent;
use jiff::ToSpan as _;
use jiff::civil::Date;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::query::{self, Figures};
use crate::keys::{self, Action, Table};
use crate::pending::Pending;
use crate::screen::{Ctx, Loaded, Out, Screen};
use crate::widget::Cycle as _;
use crate::widget::browser::{Areas, Browser, Handled};
use crate::widget::cursor::Cursor;
use crate::widget::input::Input;
use crate::widget::table::HEAD;

mod draw;
mod view;

use view::{Days, View};

#[derive(Default)]
pub(crate) struct Analytics {
    pending: Pending,
    days: Option<Days>,
    figures: Option<Figures>,
    view: View,
    list: Browser,
    /// The days that are being typed.
    go_to: Option<Input>,
    mistake: Option<&'static str>,
    seen: Option<i64>,
}

/// In days.
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
        let query = query::figures(days.first.to_string(), days.last.to_string());
        out.effect(self.pending.request(ctx.now, query));
    }

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
        let wanted = self.list.filter.text().to_lowercase();
        let mut rows = self.view.rows(figures);
        rows.retain(|row| wanted.is_empty() || row.name.to_lowercase().contains(&wanted));
        rows
    }

    fn show(&mut self, view: View) {
        (self.view, self.list.cursor) = (view, Cursor::default());
    }

    fn go_to(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        match Days::parse(text, Self::today(ctx)) {
            Ok(days) => {
                (self.go_to, self.mistake) = (None, None);
                self.choose(days, ctx, out);
            }
            Err(mistake) => self.mistake = Some(mistake),
        }
    }

    /// With the number of rows and the area of the table.
    fn table(&mut self, ctx: &Ctx) -> (&mut Browser, Areas) {
        self.list.listed = (0..self.rows().len()).collect();
        let Rect { y, height, .. } = ctx.body();
        let list = Rect { y: y + ABOVE, height: height.saturating_sub(ABOVE), ..ctx.body() };
        (&mut self.list, Areas { list, ..Areas::default() })
    }
}

impl Screen for Analytics {
    fn keys(&self) -> Vec<&'static Table> {
        if self.typing() { vec![&keys::INPUT] } else { vec![&keys::ANALYTICS, &keys::SCROLL] }
    }

    fn typing(&self) -> bool {
        self.go_to.is_some() || self.list.typing
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
        match action {
            Action::Back if self.go_to.take().is_some() => self.mistake = None,
            Action::Open if self.go_to.is_some() => {
                let text = self.go_to.as_ref().map_or("", Input::text).to_owned();
                self.go_to(&text, ctx, out);
            }
            Action::Earlier => self.step(-1, ctx, out),
            Action::Later => self.step(1, ctx, out),
            Action::Today => self.choose(Days::one(Self::today(ctx)), ctx, out),
            Action::Wider => self.wider(ctx, out),
            Action::NextView => self.show(self.view.next()),
            Action::PreviousView => self.show(self.view.previous()),
            Action::GoTo => self.go_to = Some(Input::default()),
            Action::Refresh => self.load(ctx, out),
            Action::Export => {
                if let Some(days) = self.days {
                    out.export = Some(self.view.sheet(days, &self.rows()));
                }
            }
            Action::Copy => {
                let rows = self.rows();
                if let Some(row) = self.list.cursor.selected(rows.len()).map(|i| &rows[i]) {
                    out.copy("the row", row.text());
                }
            }
            action => {
                let (list, areas) = self.table(ctx);
                return list.act(action, areas, 0) != Handled::No;
            }
        }
        true
    }

    fn key(&mut self, key: KeyEvent, _: &Ctx, _: &mut Out) {
        self.mistake = None;
        self.go_to.as_mut().unwrap_or(&mut self.list.filter).key(key);
    }

    fn paste(&mut self, text: &str, _: &Ctx, _: &mut Out) {
        self.mistake = None;
        self.go_to.as_mut().unwrap_or(&mut self.list.filter).paste(text);
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
            let (list, areas) = self.table(ctx);
            list.click(at, areas);
            list.reading = false;
        }
    }

    fn answer(&mut self, number: u64, answer: &mut Loaded, _: &Ctx, _: &mut Out) {
        if let Some(figures) = self.pending.take(number, answer) {
            self.figures = Some(figures);
        }
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel(&mut self) {
        self.pending.cancel();
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        self.paint(buf, area, ctx);
    }
}
