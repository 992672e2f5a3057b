use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tidings_core::analysis::{Live, LogEntry, LogLine, Sums};

use super::{Areas, Overview};
use crate::effect::query::{Health, Searches};
use crate::screen::Ctx;
use crate::text::{bytes, fit, width};
use crate::theme::Theme;
use crate::widget::chart::{self, Bars};
use crate::widget::{heading, put, put_at, put_wrapped};
use tidings_client::shown::number::{count, number};

impl Overview {
    pub(super) fn paint(&self, buf: &mut Buffer, areas: &Areas, ctx: &Ctx) {
        let Some(data) = &self.data else {
            let (text, style) = match self.pending.problem() {
                Some(problem) => (format!("✗ {}", problem.text), ctx.theme.bad()),
                None => ("Loading …".to_owned(), Theme::faint()),
            };
            buf.set_stringn(areas.figures.x, areas.figures.y, text, areas.figures.width.into(), style);
            return;
        };
        figures(&data.live, areas.figures, buf, ctx);
        if let Some(problem) = self.pending.problem() {
            // The figures are out of date.
            let line = fit(&format!("✗ {}", problem.text), areas.figures.width.into(), false);
            buf.set_string(areas.figures.x, areas.figures.y, line, ctx.theme.bad());
        }
        hours(&data.live, areas.hours, buf, ctx);
        month(&data.live, areas.month, buf, ctx);
        terms(&data.searches, areas.terms, buf, ctx);
        devices(&data.live, areas.devices, buf, ctx);
        health(&data.health, self.pace(), areas.health, buf, ctx);
        log(&data.log.log, self.scroll, areas.log, buf, ctx);
    }
}

const fn visits(sums: &Sums) -> i64 {
    sums.guest_visit + sums.member_visit
}

fn change(now: i64, before: i64, ctx: &Ctx) -> (String, Style) {
    match now - before {
        0 => ("=".to_owned(), Theme::faint()),
        more @ 1.. => (format!("▲ {}", number(more)), ctx.theme.good()),
        less => (format!("▼ {}", number(-less)), ctx.theme.attention()),
    }
}

fn figures(live: &Live, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let (today, before) = (&live.today, &live.yesterday);
    let figures = [
        ("Visitors", today.visitor, before.visitor),
        ("Visits", visits(today), visits(before)),
        ("Views", today.view, before.view),
        ("Likes", today.like, before.like),
        ("Searches", today.search, before.search),
    ];
    let until = ctx.time(ctx.now);
    let long = format!("Today until {until}; ▲ more, ▼ less than yesterday until {until}");
    let short = format!("Today; ▲▼ yesterday until {until}");
    let is_narrow = area.height >= 6;
    let title = if width(&long) <= area.width.into() { long } else { short };
    let area = heading(&title, area, buf);
    if is_narrow {
        for (y, (name, now, before)) in (0..area.height).zip(figures) {
            let (text, style) = change(now, before, ctx);
            put_at(area, (0, y), buf, name, Theme::faint());
            put_at(area, (9, y), buf, &fit(&number(now), 10, true), Theme::strong());
            put_at(area, (20, y), buf, &text, style);
            let begin = 21 + u16::try_from(width(&text)).unwrap_or_default();
            let text = format!("({} then)", number(before));
            if width(&text) <= area.width.saturating_sub(begin).into() {
                put_at(area, (begin, y), buf, &text, Theme::faint());
            }
        }
        return;
    }
    let wide = area.width / 6;
    let (members, guests) = (live.member_visitor, today.visitor - live.member_visitor);
    let (members, guests) = (count(members, "member"), count(guests, "guest"));
    let visitors = ["Visitors are".to_owned(), members, guests].map(|text| (text, Style::new()));
    let columns = figures.into_iter().map(|(name, now, before)| {
        [(name.to_owned(), Style::new()), (number(now), Theme::strong()), change(now, before, ctx)]
    });
    for (i, mut column) in (0_u16..).zip(columns.chain([visitors])) {
        column[0].1 = Theme::faint();
        let room = if i < 5 { wide.saturating_sub(1) } else { area.width - i * wide };
        let area = Rect { x: area.x + i * wide, width: room, ..area };
        for (y, (text, style)) in (0..).zip(column) {
            put_at(area, (0, y), buf, &text, style);
        }
    }
}

fn hours(live: &Live, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let most = live.hours.iter().chain(&live.hours_yesterday).copied().max().unwrap_or_default();
    let area = heading("Visitors by the hour", area, buf);
    let legend = format!("█ today ░ yesterday  ≤ {}", number(most));
    let left = area.right().saturating_sub(u16::try_from(width(&legend)).unwrap_or_default());
    if area.height > 0 && left > area.x + 21 {
        buf.set_string(left, area.y - 1, legend, Theme::faint());
    }
    if area.height < 2 {
        return;
    }
    let bars = Rect { height: area.height - 1, ..area };
    let pitch = chart::pitch(area.width, 24);
    let (wide, offset) = match pitch {
        1 => (1, 0),
        2 => (1, 1),
        _ => ((pitch - 1) / 2, (pitch - 1) / 2),
    };
    let yesterday = Bars {
        values: &live.hours_yesterday,
        most,
        pitch,
        offset,
        wide,
        fill: Some("░"),
        style: Theme::faint(),
    };
    yesterday.draw(bars, buf);
    let today = Bars { values: &live.hours, offset: 0, fill: None, style: ctx.theme.accent(), ..yesterday };
    today.draw(bars, buf);
    let y = area.bottom() - 1;
    for hour in [0_u16, 6, 12, 18] {
        let x = area.x + hour * pitch;
        if x < area.right() {
            buf.set_stringn(x, y, hour.to_string(), area.right().saturating_sub(x).into(), Theme::faint());
        }
    }
    let now = area.x + u16::try_from(live.hour).unwrap_or_default() * pitch;
    if now < area.right() && live.hour % 6 > 1 {
        buf.set_string(now, y, "▴", ctx.theme.accent());
    }
}

fn month(live: &Live, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let area = heading("The last 30 days", area, buf);
    if area.height < 2 {
        return;
    }
    let values: Vec<i64> = live.month.iter().map(|day| day.visitor).collect();
    let most = values.iter().copied().max().unwrap_or_default();
    let days = u16::try_from(values.len()).unwrap_or(1);
    let pitch = chart::pitch(area.width, days);
    // If not all days fit, the newest are shown.
    let shown = usize::from((area.width / pitch).min(days));
    let wide = if pitch > 2 { pitch - 1 } else { pitch };
    let bars = Rect { height: area.height - 1, ..area };
    let values = &values[values.len() - shown..];
    Bars { values, most, pitch, offset: 0, wide, fill: None, style: ctx.theme.accent() }.draw(bars, buf);
    let y = area.bottom() - 1;
    let first = live.month.get(live.month.len() - shown).map_or("", |day| &day.date[5..]);
    buf.set_stringn(area.x, y, first, area.width.into(), Theme::faint());
    let text = format!("most {}", number(most));
    let x = area.right().saturating_sub(u16::try_from(width(&text)).unwrap_or_default());
    if x > area.x + 6 {
        buf.set_string(x, y, text, Theme::faint());
    }
}

fn terms(Searches { terms, bursts }: &Searches, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let is_burst = |term: &str| bursts.iter().any(|burst| burst.term == term);
    let is_marked = terms.iter().any(|(term, _)| is_burst(term));
    let long = "Searched in 24 hours; ▲ more than usual";
    let title = if is_marked && width(long) <= area.width.into() { long } else { "Searched in 24 hours" };
    let area = heading(title, area, buf);
    if terms.is_empty() {
        put(area, buf, "nothing", Theme::faint());
    }
    let row =
        |(term, n): &(String, i64)| (if is_burst(term) { format!("▲ {term}") } else { term.clone() }, *n);
    chart::horizontal(area, buf, &terms.iter().map(row).collect::<Vec<_>>(), ctx.theme);
}

fn devices(live: &Live, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let devices = &live.devices;
    let area = heading("Devices", area, buf);
    let rows = [("pc", devices.pc), ("tablet", devices.tablet), ("mobile", devices.mobile)];
    chart::horizontal(area, buf, &rows.map(|(name, n)| (name.to_owned(), n)), ctx.theme);
}

fn health(health: &Health, pace: i64, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let area = heading("Database", area, buf);
    let rows = [
        ("size", bytes(health.database_bytes), false),
        // A WAL that is never checkpointed grows without bound.
        ("WAL", bytes(health.wal_bytes), health.wal_bytes > health.database_bytes.max(256 << 20)),
        ("changes", format!("{}/s", number(pace)), false),
        ("queue", health.waiting.to_string(), health.waiting > 1_000),
    ];
    if area.height < 4 {
        let all = rows.iter().map(|(name, value, _)| format!("{name} {value}")).collect::<Vec<_>>();
        return put_wrapped(area, buf, &all.join("  "), Style::new());
    }
    for (y, (name, value, high)) in (0..area.height).zip(rows) {
        let (value, style) =
            if high { (format!("{value} !"), ctx.theme.bad()) } else { (value, Style::new()) };
        put_at(area, (0, y), buf, name, Theme::faint());
        put_at(area, (8, y), buf, &value, style);
    }
}

fn log(lines: &[LogLine], scroll: usize, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let area = heading("Newest in the log", area, buf);
    if lines.is_empty() {
        put(area, buf, "There were no requests yet.", Theme::faint());
    }
    let shown = lines.iter().skip(scroll.min(lines.len().saturating_sub(area.height.into())));
    let shown: Vec<&LogLine> = shown.take(area.height.into()).collect();
    // The date is shown once for each day, and not at all if all lines are of today.
    let today = shown.iter().all(|line| ctx.day(line.entry.date) == ctx.day(ctx.now));
    let mut above = None;
    for (y, line) in (area.y..area.bottom()).zip(shown) {
        let time = if today { ctx.clock(line.entry.date) } else { ctx.dated(line.entry.date, above) };
        draw_line(&time, line, Rect { y, height: 1, ..area }, buf, ctx);
        above = Some(line.entry.date);
    }
}

fn draw_line(time: &str, line: &LogLine, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let who = if area.width >= 60 { 14 } else { 8 };
    let LogEntry { user_id, method, path, status, .. } = &line.entry;
    let text = format!("{time} {} {} {path}", fit(user_id, who, false), fit(method, 4, false));
    let room = usize::from(area.width.saturating_sub(4));
    buf.set_stringn(area.x, area.y, fit(&text, room, false), room, Style::new());
    let style = if line.is_failure() { ctx.theme.bad() } else { Theme::faint() };
    let x = area.right().saturating_sub(3).max(area.x);
    buf.set_stringn(x, area.y, status.to_string(), area.right().saturating_sub(x).into(), style);
}
