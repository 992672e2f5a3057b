//! Draws the editor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Paragraph, Widget as _};
use tidings_core::notice;

use super::{Editor, Pane, Text};
use crate::placing::Placing;
use crate::reach::Reach;
use crate::screen::{Ctx, reading};
use crate::text::width;
use crate::theme::Theme;
use crate::widget::input::draw_text;
use crate::widget::put;
use tidings_client::shown::number::number;

/// The areas of the editor.
pub(super) struct Areas {
    pub(super) head: Rect,
    pub(super) title: Rect,
    pub(super) post: Rect,
    pub(super) form: Rect,
    pub(super) foot: Rect,
}

impl Areas {
    pub(super) fn of(area: Rect) -> Self {
        let lines = [Constraint::Length(1), Constraint::Length(1), Constraint::Length(1)];
        let [head, title, _] = Layout::vertical(lines).areas(Rect { height: area.height.min(3), ..area });
        let below = Rect { y: area.y + 3.min(area.height), height: area.height.saturating_sub(4), ..area };
        let foot = Rect { y: below.bottom(), height: 1.min(area.height.saturating_sub(3)), ..area };
        let title = Rect { x: title.x + 7.min(title.width), width: title.width.saturating_sub(7), ..title };
        let form = Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(3), ..area };
        Self { head, title, post: below, form, foot }
    }
}

impl Editor {
    pub(super) fn paint(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let areas = Areas::of(area);
        let Text { title, post, placing, .. } = self.text();
        let reach = self.reach(ctx);
        let state = reach.state();
        let what = match &self.notice {
            _ if self.saving.is_some() => "Saving …",
            _ if self.pane == Pane::Form => "When, where and to whom",
            _ if self.shared.is_some() => "A draft of all administrators",
            Some(_) => "Edit the notice",
            None => "A new notice",
        };
        put(areas.head, buf, what, Theme::strong());
        let right = u16::try_from(width(state)).unwrap_or_default();
        if areas.head.width > right + u16::try_from(width(what)).unwrap_or_default() {
            let is_seen = matches!(reach, Reach::Now(_));
            let style = if is_seen { ctx.theme.good() } else { Theme::faint() };
            buf.set_string(areas.head.right() - right, areas.head.y, state, style);
        }
        if self.pane == Pane::Form {
            self.form.draw(areas.form, buf, ctx);
            return self.draw_foot(areas.foot, buf, ctx, &title, &post, &placing);
        }
        if self.pane == Pane::Preview {
            let rest = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
            let rest = rest.intersection(area);
            let mut facts = vec![state.to_owned(), ctx.stamp(self.date.unwrap_or(ctx.now))];
            facts.extend(placing.facts());
            let lines = reading(&title, &facts.join(" · "), &post, rest.width.into());
            let most = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(rest.height);
            Paragraph::new(lines).scroll((self.scroll.min(most), 0)).render(rest, buf);
            return;
        }
        if areas.title.height > 0 {
            let style = if self.in_title { Theme::strong() } else { Theme::faint() };
            buf.set_stringn(area.x, areas.title.y, "Title", area.width.into(), style);
        }
        draw_text(&self.title, areas.title, buf, self.in_title);
        if areas.post.y > area.y + 2 && area.height > 2 {
            let rule = "─".repeat(area.width.into());
            buf.set_string(area.x, areas.post.y - 1, rule, Theme::faint());
        }
        draw_text(&self.post, areas.post, buf, !self.in_title);
        self.draw_foot(areas.foot, buf, ctx, &title, &post, &placing);
    }

    /// Draws the lengths and their limits, and when and where the notice is visible, or the reason why it was not saved.
    fn draw_foot(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx, title: &str, post: &str, placing: &Placing) {
        if let Some(problem) = &self.problem {
            return put(area, buf, &format!("✗ {}", problem.text), ctx.theme.bad());
        }
        let mut x = area.x;
        let fields = [("title", title, notice::TITLE), ("text", post, notice::POST)];
        for (name, text, bounds) in fields {
            let length = notice::length(text);
            let over = length > bounds.max;
            let sign = if over { " too long!" } else { "" };
            let shown = format!("{name} {}/{}{sign}   ", number(length), number(bounds.max));
            let style = if over { ctx.theme.bad() } else { Theme::faint() };
            let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
            put(rest, buf, &shown, style);
            x = x.saturating_add(u16::try_from(width(&shown)).unwrap_or_default()).min(area.right());
        }
        let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
        put(rest, buf, &placing.facts().join(" · "), Theme::faint());
    }
}
