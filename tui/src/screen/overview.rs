use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::query::{self, Health, Overview as Data};
use crate::keys::{self, Action, Table};
use crate::pending::Pending;
use crate::screen::{Ctx, Destination, Loaded, Out, Screen};

mod draw;

#[derive(Default)]
pub(crate) struct Overview {
    pending: Pending,
    data: Option<Data>,
    /// The previous reading, for the rate of changes.
    before: Option<Health>,
    /// The versions, and the minute, or the hour of a server, of the requested data.
    seen: Option<(Changes, i64)>,
    /// In lines of the log.
    scroll: usize,
}

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

impl Overview {
    /// Transactions per second that changed shown data, between the last two readings.
    fn pace(&self) -> i64 {
        let Some((now, before)) = self.data.as_ref().map(|data| data.health).zip(self.before) else {
            return 0;
        };
        let ms = (now.at - before.at).max(1);
        (now.revision - before.revision).max(0).saturating_mul(1_000) / ms
    }

    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        out.effect(self.pending.request(ctx.now, query::overview()));
    }
}

impl Screen for Overview {
    fn keys(&self) -> Vec<&'static Table> {
        vec![&keys::OVERVIEW]
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        // The comparison with yesterday changes every minute, but each request is a line in the log of a server.
        let span = if ctx.is_remote { HOUR_MS } else { MINUTE_MS };
        let seen = Some((*changes, ctx.now.as_millis() / span));
        if self.seen != seen && !self.pending.is_waiting() {
            self.seen = seen;
            self.load(ctx, out);
        }
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::Up => self.scroll = self.scroll.saturating_sub(1),
            Action::Down => {
                let lines = self.data.as_ref().map_or(0, |data| data.log.log.len());
                self.scroll = (self.scroll + 1).min(lines.saturating_sub(1));
            }
            Action::Back if self.scroll > 0 => self.scroll = 0,
            Action::Open => out.go = Some(Destination::Log(String::new())),
            Action::Filter => out.go = Some(Destination::LogFilter),
            Action::Refresh => self.load(ctx, out),
            _ => return false,
        }
        true
    }

    fn click(&mut self, at: Position, ctx: &Ctx, out: &mut Out) {
        if Areas::of(ctx.body()).log.contains(at) {
            out.go = Some(Destination::Log(String::new()));
        }
    }

    fn answer(&mut self, number: u64, answer: &mut Loaded, _: &Ctx, _: &mut Out) {
        if let Some(data) = self.pending.take::<Data>(number, answer) {
            self.before = self.data.replace(data).map(|data| data.health);
        }
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel(&mut self) {
        self.pending.cancel();
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        self.paint(buf, &Areas::of(area), ctx);
    }
}

/// A part without room has an empty area.
#[derive(Clone, Copy, Debug, Default)]
struct Areas {
    figures: Rect,
    hours: Rect,
    month: Rect,
    terms: Rect,
    devices: Rect,
    health: Rect,
    log: Rect,
}

impl Areas {
    fn of(area: Rect) -> Self {
        if area.height < 14 || area.width < 60 {
            return Self::narrow(area);
        }
        let rows = |heights: [u16; 3]| -> [Rect; 3] {
            Layout::vertical(heights.map(Constraint::Length)).spacing(1).areas(area)
        };
        let beside = |area: Rect| -> [Rect; 2] {
            Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).spacing(3).areas(area)
        };
        let middle = if area.width < 110 { (area.height / 4).max(5) } else { (area.height - 5) * 2 / 5 };
        let lower = area.height.saturating_sub(4 + middle + 2);
        let [figures, middle, lower] = rows([4, middle, lower]);
        let ([hours, month], [log, side]) = (beside(middle), beside(lower));
        let [terms, devices, health] = if area.width < 110 {
            let roomy = side.height > 12;
            Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(if side.height > 8 { 4 } else { 0 }),
                Constraint::Length(if roomy { 5 } else { 3 }),
            ])
            .spacing(u16::from(roomy))
            .areas(side)
        } else {
            let [terms, right] =
                Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(3).areas(side);
            let [devices, health] =
                Layout::vertical([Constraint::Length(4), Constraint::Fill(1)]).spacing(1).areas(right);
            [terms, devices, health]
        };
        Self { figures, hours, month, terms, devices, health, log }
    }

    /// On a small terminal: the figures, as many hours as fit, and the log if there is room.
    fn narrow(area: Rect) -> Self {
        let figures = Rect { height: area.height.min(6), ..area };
        let rest = Rect { y: figures.bottom(), height: area.height - figures.height, ..area };
        let log = if rest.height >= 9 { rest.height - 6 } else { 0 };
        let hours = Rect { height: rest.height - log, ..rest };
        Self { figures, hours, log: Rect { y: hours.bottom(), height: log, ..rest }, ..Self::default() }
    }
}
