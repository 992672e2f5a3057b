use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget as _};
use tidings_client::Link;

use crate::layout::{self, Hint, LEAST, TITLES, footer, help, tabs};
use crate::screen::{Ctx, Message, Question, Tone};
use crate::state::{Overlay, State, Title};
use crate::text::{cut, cut_start, line, width, wrap};
use crate::theme::Theme;
use crate::widget::{put_at, put_wrapped};

pub(crate) fn draw(state: &State, frame: &mut Frame<'_>) {
    let (area, ctx) = (frame.area(), &state.ctx);
    let buf = frame.buffer_mut();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!(
            "This window has {} columns and {} rows. tidings needs {} and {}: make it larger, or press q to quit.",
            area.width, area.height, LEAST.0, LEAST.1
        );
        return put_wrapped(area, buf, &text, Style::new());
    }
    let areas = layout::areas(area);
    draw_tabs(state, areas.tabs, buf);
    draw_title(&state.title, areas.title, buf, ctx);
    state.screen().draw(areas.body, buf, ctx);
    draw_foot(state, areas.foot, buf);
    match &state.overlay {
        None => {}
        Some(Overlay::Help { scroll }) => draw_help(state, *scroll, area, buf),
        Some(Overlay::SecondFactor(dialog)) => dialog.draw(area, buf, ctx),
        Some(Overlay::Question(question)) => draw_question(state, question, area, buf),
        Some(Overlay::Export { input, sheet }) => {
            let inner = dialog(&format!("Export {} rows", sheet.rows.len()), area, 58, 5, buf, ctx);
            put_at(inner, (0, 0), buf, "File (.csv or .json):", Theme::faint());
            input.draw(Rect { y: inner.y + 1, height: 1, ..inner }.intersection(inner), buf, true);
            put_at(inner, (0, 2), buf, "Enter exports, Tab changes the format, Esc cancels.", Theme::faint());
        }
    }
}

fn draw_tabs(state: &State, area: Rect, buf: &mut Buffer) {
    let tabs = tabs(area, state.current, state.open_feedback());
    let mut end = area.x;
    for (i, (rect, tab)) in tabs.iter().enumerate() {
        let style =
            if i == state.current { Theme::selected().patch(Theme::strong()) } else { Theme::faint() };
        buf.set_stringn(rect.x, rect.y, tab, rect.width.into(), style);
        end = rect.right();
    }
    let clock = state.ctx.time(state.ctx.now);
    let named = format!("{} {clock}", state.zone_name);
    let room = usize::from(area.right().saturating_sub(end).saturating_sub(2));
    let shown = if width(&named) <= room { named } else { clock };
    if width(&shown) <= room {
        let x = area.right() - u16::try_from(width(&shown)).unwrap_or_default();
        buf.set_string(x, area.y, shown, Theme::faint());
    }
}

fn draw_title(title: &Title, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let Title { name, caller, link } = title;
    let room = usize::from(area.width);
    let Some(link) = link else {
        // The end of a path tells more than its beginning.
        buf.set_stringn(area.x, area.y, cut_start(&line(name), room), room, Theme::strong());
        return;
    };
    let name = caller.as_ref().map_or_else(|| name.to_string(), |caller| format!("{name} · {caller}"));
    let name = line(&name);
    let (long, short, style) = match link {
        Link::Connecting => ("connecting …".to_owned(), "…".to_owned(), Theme::faint()),
        Link::Live => ("● live".to_owned(), "●".to_owned(), ctx.theme.good()),
        Link::Polling => ("○ every 10 seconds".to_owned(), "○ 10 s".to_owned(), Theme::faint()),
        Link::SignedOut => ("✗ not signed in".to_owned(), "✗ not signed in".to_owned(), ctx.theme.bad()),
        Link::Lost { since, .. } => {
            let since = ctx.moment(*since);
            (format!("✗ not reachable since {since}"), format!("✗ since {since}"), ctx.theme.bad())
        }
    };
    let state = if width(&name) + 2 + width(&long) <= room { long } else { short };
    let left = room.saturating_sub(width(&state) + 2);
    buf.set_stringn(area.x, area.y, cut(&name, left), left, Theme::strong());
    let x = area.right().saturating_sub(u16::try_from(width(&state)).unwrap_or_default()).max(area.x);
    buf.set_stringn(x, area.y, state, room, style);
}

fn draw_foot(state: &State, area: Rect, buf: &mut Buffer) {
    let ctx = &state.ctx;
    if let Some(message) = &state.message {
        return draw_message(message, area, buf, ctx);
    }
    let mut area = area;
    if let Some(text) = state.progress() {
        let wide = u16::try_from(width(&text)).unwrap_or_default().min(area.width);
        buf.set_stringn(area.right() - wide, area.y, &text, wide.into(), ctx.theme.attention());
        area.width = area.width.saturating_sub(wide + 1);
    }
    for Hint { area, key, word, .. } in footer(area, &state.tables()) {
        let style = ctx.theme.accent().patch(Theme::strong());
        let (x, _) = buf.set_stringn(area.x, area.y, key, area.width.into(), style);
        let room = area.right().saturating_sub(x);
        buf.set_stringn(x, area.y, format!(" {word}"), room.into(), Theme::faint());
    }
}

/// In place of the footer; a long message also covers lines above it.
fn draw_message(message: &Message, foot: Rect, buf: &mut Buffer, ctx: &Ctx) {
    let (sign, style) = match message.tone {
        Tone::Note => ("·", ctx.theme.accent()),
        Tone::Done => ("✓", ctx.theme.good()),
        Tone::Failed => ("✗", ctx.theme.bad()),
    };
    let lines = wrap(&format!("{sign} {}", line(&message.text)), foot.width.into());
    let high = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(foot.y + foot.height);
    let area = Rect { y: foot.bottom() - high, height: high, ..foot };
    Clear.render(area, buf);
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        buf.set_stringn(area.x, y, line, area.width.into(), style);
    }
}

/// In the middle, with at most `columns` columns and `rows` rows. Returns the area within it.
fn dialog(title: &str, area: Rect, columns: u16, rows: u16, buf: &mut Buffer, ctx: &Ctx) -> Rect {
    let (wide, high) = (columns.min(area.width), rows.min(area.height));
    let (x, y) = (area.x + (area.width - wide) / 2, area.y + (area.height - high) / 2);
    let place = Rect::new(x, y, wide, high);
    Clear.render(place, buf);
    cut_wide(place, buf);
    let title = format!(" {} ", cut(&line(title), usize::from(wide).saturating_sub(4)));
    let block =
        Block::bordered().border_type(BorderType::Rounded).border_style(ctx.theme.accent()).title(title);
    let inner = block.inner(place);
    block.render(place, buf);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }.intersection(inner)
}

/// Wide characters that begin left of an area and reach into it would hide its first column.
fn cut_wide(area: Rect, buf: &mut Buffer) {
    let Some(x) = area.x.checked_sub(1) else { return };
    for y in area.top()..area.bottom() {
        if width(buf[(x, y)].symbol()) > 1 {
            buf[(x, y)].set_symbol(" ");
        }
    }
}

fn draw_question(state: &State, question: &Question, area: Rect, buf: &mut Buffer) {
    let ctx = &state.ctx;
    let columns = area.width.saturating_sub(4).min(64);
    let room = usize::from(columns.saturating_sub(4));
    let (text, detail) = (wrap(&question.text, room), wrap(&question.detail, room));
    let choices = question.choices.len() + 1;
    // The choices are always visible, however long the text is.
    let rows = u16::try_from(text.len() + detail.len() + choices + 3).unwrap_or(u16::MAX);
    let name = line(&state.title.name);
    let kind = if question.choices.is_empty() { "Note" } else { "Question" };
    let title = format!("{kind} · {}", cut_start(&name, usize::from(columns.saturating_sub(15))));
    let inner = dialog(&title, area, columns, rows, buf, ctx);
    let fits = usize::from(inner.height).saturating_sub(choices);
    let mut row = 0;
    let above = text
        .iter()
        .map(|line| (line, Theme::strong()))
        .chain(detail.iter().map(|line| (line, Theme::faint())));
    for (line, style) in above.take(fits) {
        put_at(inner, (0, row), buf, line, style);
        row += 1;
    }
    if usize::from(row) < fits {
        row += 1;
    }
    for choice in &question.choices {
        put_at(inner, (0, row), buf, &format!("{}  {}", choice.key, choice.label), ctx.theme.bad());
        row += 1;
    }
    put_at(inner, (0, row), buf, &format!("Esc  {}", question.decline), Style::new());
}

fn draw_help(state: &State, scroll: usize, area: Rect, buf: &mut Buffer) {
    let lines = help(&state.screen_tables());
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height.saturating_sub(2));
    let title = format!("Keys: {}", TITLES[state.current]);
    let inner = dialog(&title, area, 66, rows, buf, &state.ctx);
    let most = lines.len().saturating_sub(inner.height.into());
    let scroll = scroll.min(most);
    for (row, (line, title)) in (0..inner.height).zip(lines.iter().skip(scroll)) {
        put_at(inner, (0, row), buf, line, if *title { Theme::strong() } else { Style::new() });
    }
    if most > scroll {
        buf.set_string(inner.x, inner.bottom(), format!(" {} more ↓ ", most - scroll), Theme::faint());
    }
}
