use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;

use super::view::{DAYS_HINT, Days, View};
use super::{ABOVE, Analytics};
use crate::screen::Ctx;
use crate::text::{cut, width};
use crate::theme::Theme;
use crate::widget::chart::{bar, horizontal};
use crate::widget::table::{self, Cell};
use crate::widget::{Cycle as _, heading, put, put_wrapped};
use tidings_client::shown::number::{count, number};

/// From this width on, other views are beside the table.
const BESIDE: u16 = 110;
pub(super) const DAYS_WIDE: u16 = 30;

/// The names are to the right of the days.
pub(super) fn views(area: Rect, days: Option<Days>) -> Vec<(Rect, View)> {
    let left = u16::try_from(width(&days.map(named).unwrap_or_default())).unwrap_or_default() + 2;
    let mut x = area.x.saturating_add(left);
    let place = |view: View| {
        let wide = u16::try_from(view.name().len() + 2).unwrap_or_default();
        let rect = Rect { x, y: area.y, width: wide, height: 1 }.intersection(area);
        x = x.saturating_add(wide);
        (rect, view)
    };
    View::ALL.iter().copied().map(place).collect()
}

fn named(days: Days) -> String {
    if days.first == days.last {
        format!("◀ {} {} ▶", days.first.strftime("%a"), days.first)
    } else {
        format!("◀ {}..{} ▶", days.first, days.last)
    }
}

impl Analytics {
    pub(super) fn paint(&self, buf: &mut Buffer, area: Rect, ctx: &Ctx) {
        self.draw_days(area, buf);
        let line = Rect { y: area.y + 1.min(area.height), height: 1, ..area }.intersection(area);
        self.draw_line(line, buf, ctx);
        let below =
            Rect { y: area.y + ABOVE, height: area.height.saturating_sub(ABOVE), ..area }.intersection(area);
        let below = self.draw_beside(below, buf, ctx);
        let rows = self.rows();
        if rows.is_empty() {
            let text = match (&self.figures, self.list.filter.is_empty()) {
                (None, _) => "Loading …",
                (_, true) => self.view.empty(),
                (_, false) => "Nothing matches the filter. Esc clears it.",
            };
            let below = Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below };
            return put_wrapped(below, buf, text, Theme::faint());
        }
        let columns = self.view.columns();
        let shown = columns.iter().filter(|column| column.from <= below.width);
        let fixed: u16 = shown.map(|column| column.width + 1).sum();
        let room = usize::from(below.width.saturating_sub(fixed).min(60));
        let most = rows.iter().map(|row| row.figures[0]).max().unwrap_or_default().max(1);
        let row = |i: usize, _: Option<usize>| {
            let row = &rows[i];
            let figures = row.figures.iter().map(|n| Cell::from(number(*n)));
            let bar = Cell::styled(bar(row.figures[0], most, room), ctx.theme.accent());
            [Cell::from(row.name.as_str())].into_iter().chain(figures).chain([bar]).collect()
        };
        table::draw(below, buf, &columns, rows.len(), &self.list.cursor, row);
    }

    fn draw_beside(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) -> Rect {
        let Some(figures) = self.figures.as_ref().filter(|_| area.width >= BESIDE) else { return area };
        let [table, side] =
            Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).spacing(3).areas(area);
        for y in side.y..side.bottom() {
            buf.set_string(side.x - 2, y, "│", Theme::faint());
        }
        let views =
            [View::Terms, View::Devices, View::Students].into_iter().filter(|view| *view != self.view);
        let parts: [Rect; 2] =
            Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).spacing(1).areas(side);
        for (view, part) in views.zip(parts) {
            let title = match view {
                View::Terms => "terms of the last 24 hours",
                view => view.name(),
            };
            let list = heading(title, part, buf);
            let rows: Vec<(String, i64)> =
                view.rows(figures).into_iter().map(|row| (row.name, row.figures[0])).collect();
            if rows.is_empty() {
                put(list, buf, "nothing", Theme::faint());
            }
            horizontal(list, buf, &rows, ctx.theme);
        }
        table
    }

    fn draw_days(&self, area: Rect, buf: &mut Buffer) {
        if area.height == 0 {
            return;
        }
        let days = self.days.map(named).unwrap_or_default();
        buf.set_stringn(area.x, area.y, &days, area.width.into(), Theme::strong());
        let views = views(area, self.days);
        // When not all names fit, only the name of the current view is shown.
        let fit = views.iter().all(|(rect, view)| usize::from(rect.width) == view.name().len() + 2);
        if fit {
            for (rect, view) in views {
                let style = if view == self.view { Theme::selected() } else { Theme::faint() };
                buf.set_stringn(rect.x, rect.y, format!(" {} ", view.name()), rect.width.into(), style);
            }
        } else if let Some((first, _)) = views.first() {
            let room = usize::from(area.right().saturating_sub(first.x));
            let name = format!(" {} ", self.view.name());
            if width(&name) <= room {
                buf.set_stringn(first.x, area.y, name, room, Theme::selected());
            }
        }
    }

    fn draw_line(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        if area.height == 0 {
            return;
        }
        let put = |x: u16, text: &str, style: Style, buf: &mut Buffer| {
            let room = usize::from(area.right().saturating_sub(x));
            buf.set_stringn(x, area.y, cut(text, room), room, style).0
        };
        let problem = self.pending.settled_problem().map(|problem| problem.text.as_str());
        let problem = self.mistake.or(problem);
        if let Some(go_to) = &self.go_to {
            let x = put(area.x, "Day or range: ", Theme::strong(), buf);
            let wide = 23.min(area.right().saturating_sub(x));
            go_to.draw(Rect { x, width: wide, ..area }, buf, true);
            let x = x.saturating_add(wide + 1).min(area.right());
            match problem {
                Some(problem) => put(x, &format!("✗ {problem}"), ctx.theme.bad(), buf),
                None => put(x, DAYS_HINT, Theme::faint(), buf),
            };
            return;
        }
        if let Some(problem) = problem {
            put(area.x, &format!("✗ {problem}"), ctx.theme.bad(), buf);
            return;
        }
        if self.list.typing || !self.list.filter.is_empty() {
            let x = put(area.x, "/ ", Theme::strong(), buf);
            let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
            self.list.filter.draw(rest, buf, self.list.typing);
            return;
        }
        let Some(period) = self.figures.as_ref().map(|figures| &figures.period) else { return };
        let sum =
            |of: fn(&tidings_core::analysis::DayFigures) -> i64| period.days.iter().map(of).sum::<i64>();
        let sums = [
            count(sum(|day| day.visitor), "visitor"),
            count(sum(|day| day.visit), "visit"),
            count(sum(|day| day.view), "view"),
            count(sum(|day| day.like), "like"),
            format!("{} searches", number(sum(|day| day.search))),
        ];
        let text = if self.view == View::Terms {
            "searched most in the last 24 hours, not on the chosen days".to_owned()
        } else {
            let of = match period.days.len() {
                0 | 1 => String::new(),
                // A visitor who came on several days is counted on each.
                days => format!("Sum of {days} days: "),
            };
            of + &sums.join(" · ")
        };
        put(area.x, &text, Theme::faint(), buf);
    }
}
