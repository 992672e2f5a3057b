use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget as _};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use super::{Browse, Listing};
use crate::effect::{Act, Change, Changed, Kind};
use crate::keys::{self, Action, Table};
use crate::screen::form::{Handled as FormHandled, Page};
use crate::screen::{Ctx, Destination, Loaded, Out, Screen};
use crate::theme::Theme;
use crate::widget::browser::Handled;
use crate::widget::{put_wrapped, table};

impl<B: Browse> Screen for B {
    fn keys(&self) -> Vec<&'static Table> {
        match &self.base().form {
            Some(form) => form.keys(),
            None if self.typing() => vec![&keys::INPUT],
            None => vec![B::KEYS, &keys::LIST, &keys::SCROLL],
        }
    }

    fn typing(&self) -> bool {
        self.base().form.is_some() || self.base().list.typing
    }

    fn refresh(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let versions = Some((B::VERSIONS)(changes));
        let has_changed = self.base().seen != versions;
        if self.is_due(has_changed, changes, ctx) && !self.base().pending.is_waiting() {
            self.base_mut().seen = versions;
            self.reload(ctx, out);
        }
        // A failed request is not repeated before something has changed.
        let Listing { detail, stale, .. } = self.base();
        if !detail.is_waiting() && (*stale || detail.problem().is_none()) {
            self.load_detail(ctx, out);
        }
    }

    fn act(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        if let Some(form) = &mut self.base_mut().form {
            let handled = form.act(action, ctx, out);
            if handled == FormHandled::Closes {
                self.base_mut().form = None;
            }
            return handled != FormHandled::No;
        }
        let row = self.base().selected().cloned();
        match action {
            Action::Refresh => self.reload(ctx, out),
            Action::Export => out.export = Some(self.sheet(ctx)),
            Action::Copy => {
                let (name, text) = B::COPIED;
                row.as_ref().into_iter().for_each(|row| out.copy(name, text(row)));
            }
            action if B::SETTLES.contains(&action) && self.base().to_select.is_some() => {
                out.say("One moment: the list is being loaded again.");
            }
            action if self.own_action(action, row.clone(), ctx, out) => {}
            action => {
                let areas = self.areas(ctx.body());
                let lines = row.map_or(0, |row| self.text(&row, areas.text.width.into(), ctx).len());
                match self.base_mut().list.act(action, areas, lines) {
                    Handled::No => return false,
                    Handled::Yes => {}
                    Handled::FilterChanged => self.filter_changed(ctx, out),
                }
            }
        }
        self.load_detail(ctx, out);
        self.selection_changed(ctx, out);
        true
    }

    fn key(&mut self, key: KeyEvent, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = &mut self.base_mut().form {
            return form.key(key);
        }
        if self.base_mut().list.filter.key(key) {
            self.filter_changed(ctx, out);
        }
    }

    fn paste(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = &mut self.base_mut().form {
            return form.paste(text);
        }
        if self.base_mut().list.filter.paste(text) {
            self.filter_changed(ctx, out);
        }
    }

    fn edited(&mut self, text: &str) {
        if let Some(form) = &mut self.base_mut().form {
            form.edited(text);
        }
    }

    fn click(&mut self, at: Position, ctx: &Ctx, out: &mut Out) {
        if let Some(form) = &mut self.base_mut().form {
            return form.click(at, ctx.body());
        }
        let areas = self.areas(ctx.body());
        self.base_mut().list.click(at, areas);
        self.load_detail(ctx, out);
        self.selection_changed(ctx, out);
    }

    fn answer(&mut self, number: u64, answer: &mut Loaded, ctx: &Ctx, out: &mut Out) {
        let Listing { pending, detail, .. } = self.base_mut();
        if let Some(list) = pending.take(number, answer) {
            self.loaded(list, ctx, out);
            self.load_detail(ctx, out);
        } else if let Some(rest) = detail.take(number, answer) {
            self.detail_loaded(rest, ctx);
        }
        self.settled(number, answer, out);
    }

    fn change_done(&mut self, change: &Change, result: Changed, ctx: &Ctx, out: &mut Out) {
        let form = &mut self.base_mut().form;
        form.take_if(|form| form.change_done(change, result));
        if change.tab != Some(B::TAB) {
            return;
        }
        if let (Kind::Save | Kind::ShareDraft | Kind::AddSource(_), Ok(Some(id))) = (&change.kind, result) {
            self.base_mut().to_select = Some(id.to_owned());
        }
        self.changed(change, result, ctx, out);
        self.reload(ctx, out);
    }

    fn go(&mut self, to: Destination, ctx: &Ctx, out: &mut Out) {
        self.opened(to, ctx, out);
    }

    fn open_items(&self) -> usize {
        self.waiting_items()
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        let Listing { pending, detail, form, .. } = self.base();
        pending.is_slow(now) || detail.is_slow(now) || form.as_ref().is_some_and(|form| form.is_slow(now))
    }

    fn cancel(&mut self) {
        self.cancelled();
        let base = self.base_mut();
        base.to_select = None;
        base.pending.cancel();
        base.detail.cancel();
    }

    fn unsaved(&self) -> bool {
        self.base().form.as_ref().is_some_and(Page::is_changed)
    }

    fn draft(&mut self, ctx: &Ctx) -> Option<Act> {
        self.base_mut().form.as_mut()?.draft(ctx)
    }

    fn draw(&self, area: Rect, buf: &mut Buffer, ctx: &Ctx) {
        let Listing { rows, list, pending, form, is_loaded, .. } = self.base();
        if let Some(form) = form {
            return form.draw(area, buf, ctx);
        }
        let (areas, problem) = (self.areas(area), self.problem());
        let is_loading = pending.is_waiting() && rows.is_empty();
        let head = if is_loading && B::LOADS_ABOVE { "Loading …".to_owned() } else { self.head(ctx) };
        list.draw_head(areas.head, buf, &head, problem, ctx.theme);
        if list.listed.is_empty() {
            let empty = match (is_loading, B::LOADS_ABOVE) {
                // Rows that could not be loaded may exist.
                _ if !is_loaded || problem.is_some() => return,
                (true, true) => return,
                (true, false) => "Loading …",
                _ if B::FILTERS && !list.filter.is_empty() => "Nothing matches the filter. Esc clears it.",
                _ => self.empty(),
            };
            let below = Rect { y: areas.head.bottom() + 1, height: area.height.saturating_sub(2), ..area };
            return put_wrapped(below, buf, empty, Theme::faint());
        }
        if areas.list.width > 0 {
            let listed = |place: usize| &rows[list.listed[place]];
            let (columns, cells): (Vec<_>, Vec<_>) = self.columns(ctx).iter().copied().unzip();
            let row = |place: usize, above: Option<usize>| {
                cells.iter().map(|cell| cell(self, listed(place), above.map(listed), ctx)).collect()
            };
            table::draw(areas.list, buf, &columns, list.listed.len(), &list.cursor, row);
            for y in areas.text.y..areas.text.bottom() {
                let symbol = if list.reading { "┃" } else { "│" };
                buf.set_string(areas.text.x - 2, y, symbol, Theme::faint());
            }
        }
        if let Some(row) = self.base().selected().filter(|_| areas.text.width > 0) {
            let lines = self.text(row, areas.text.width.into(), ctx);
            let from = list.scroll.min(lines.len().saturating_sub(areas.text.height.into()));
            let shown: Vec<Line<'_>> = lines.into_iter().skip(from).collect();
            Paragraph::new(shown).render(areas.text, buf);
        }
    }
}
