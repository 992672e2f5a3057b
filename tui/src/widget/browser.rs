//! A filtered list with a cursor, next to the text of the selected item or covered by it.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget as _};

use super::cursor::Cursor;
use super::input::Input;
use super::table::{self, Cell, Column, HEAD};
use crate::keys::Action;
use crate::text;
use crate::theme::Theme;

/// The width from which the list and the text are shown side by side.
const BESIDE: u16 = 100;

/// An item of a list.
pub(crate) trait Item {
    /// Returns the identifier: the selection stays on the item with the same identifier.
    fn id(&self) -> &str;

    /// Returns whether the item contains a text, given in lower case.
    fn holds(&self, text: &str) -> bool;
}

/// Returns whether any of the texts contains another text, given in lower case.
pub(crate) fn any_holds(texts: &[&str], text: &str) -> bool {
    texts.iter().any(|one| one.to_lowercase().contains(text))
}

/// The text that is shown when no item matches the filter.
pub(crate) const NO_MATCH: &str = "Nothing matches the filter. Esc clears it.";

/// Whether a browser handled an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    No,
    Yes,
    /// The action changed the text of the filter, so the list must be updated.
    FilterChanged,
}

/// A list with a filter and the text of the selected item.
#[derive(Debug)]
pub(crate) struct Browser<T> {
    items: Vec<T>,
    /// The indices of the listed items, in the order of the list.
    listed: Vec<usize>,
    cursor: Cursor,
    pub(crate) filter: Input,
    typing: bool,
    reading: bool,
    scroll: usize,
    /// Whether the items were set, so that no items means that there are none.
    is_loaded: bool,
    /// Returns the width of the list beside the text, within a given width.
    list_width: fn(u16) -> u16,
}

/// The areas of a browser.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Areas {
    pub(crate) head: Rect,
    pub(crate) list: Rect,
    pub(crate) text: Rect,
}

impl<T> Default for Browser<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            listed: Vec::new(),
            cursor: Cursor::default(),
            filter: Input::default(),
            typing: false,
            reading: false,
            scroll: 0,
            is_loaded: false,
            list_width: |width| width * 9 / 20,
        }
    }
}

impl<T: Item> Browser<T> {
    /// Returns an empty list that has this width beside the text, within a given width.
    pub(crate) fn with_width(list_width: fn(u16) -> u16) -> Self {
        Self { list_width, ..Self::default() }
    }

    /// Replaces the items, and lists in the given order the items that `keeps` accepts and the filter matches.
    pub(crate) fn set(
        &mut self,
        items: Vec<T>,
        keeps: impl Fn(&T) -> bool,
        order: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) {
        let selected = self.selected().map(|item| item.id().to_owned());
        self.items = items;
        self.is_loaded = true;
        self.list(selected.as_deref(), keeps, order);
    }

    /// Lists the same items again, as [`Browser::set`] does.
    pub(crate) fn arrange(
        &mut self,
        keeps: impl Fn(&T) -> bool,
        order: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) {
        let selected = self.selected().map(|item| item.id().to_owned());
        self.list(selected.as_deref(), keeps, order);
    }

    fn list(
        &mut self,
        selected: Option<&str>,
        keeps: impl Fn(&T) -> bool,
        order: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) {
        let wanted = self.filter.text().to_lowercase();
        let found = |item: &T| keeps(item) && (wanted.is_empty() || item.holds(&wanted));
        let mut listed: Vec<usize> = (0..self.items.len()).filter(|i| found(&self.items[*i])).collect();
        listed.sort_by(|a, b| order(&self.items[*a], &self.items[*b]));
        let place = listed.iter().position(|i| Some(self.items[*i].id()) == selected);
        self.listed = listed;
        match place {
            Some(place) => self.cursor.select(place),
            // The item that was being read is gone, so the list is shown.
            None => self.reading = false,
        }
    }

    /// Returns all items, including those that are not listed.
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the listed items.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &T> {
        self.listed.iter().map(|i| &self.items[*i])
    }

    /// Returns whether the list is shown with its first row selected, or is empty.
    pub(crate) fn is_at_top(&self) -> bool {
        !self.reading && self.cursor.selected(self.listed.len()).is_none_or(|row| row == 0)
    }

    /// Selects the first row.
    pub(crate) fn select_first(&mut self) {
        self.cursor = Cursor::default();
    }

    /// Starts typing the filter.
    pub(crate) const fn type_filter(&mut self) {
        self.typing = true;
        self.reading = false;
    }

    /// Returns the number of items listed after the selected one.
    pub(crate) fn behind(&self) -> usize {
        self.cursor.selected(self.listed.len()).map_or(0, |row| self.listed.len() - 1 - row)
    }

    /// Returns the selected item.
    pub(crate) fn selected(&self) -> Option<&T> {
        self.cursor.selected(self.listed.len()).map(|row| &self.items[self.listed[row]])
    }

    /// Selects the item with this identifier. Returns whether it is listed.
    pub(crate) fn select(&mut self, id: &str) -> bool {
        let place = self.listed.iter().position(|i| self.items[*i].id() == id);
        if let Some(place) = place {
            self.cursor.select(place);
            self.scroll = 0;
        }
        place.is_some()
    }

    /// Returns whether the filter is being typed.
    pub(crate) const fn typing(&self) -> bool {
        self.typing
    }

    /// Returns whether the text of the selected item is open.
    pub(crate) const fn reading(&self) -> bool {
        self.reading
    }

    /// Opens the text of the selected item.
    pub(crate) const fn read(&mut self) {
        self.reading = true;
        self.scroll = 0;
    }

    /// Returns the areas within `area`. A part that is not shown has an empty area.
    pub(crate) fn areas(&self, area: Rect) -> Areas {
        let head = Rect { height: 1.min(area.height), ..area };
        let rest = Rect { y: area.y + head.height, height: area.height - head.height, ..area };
        if area.width >= BESIDE {
            let wide = (self.list_width)(area.width);
            let list = Rect { width: wide, ..rest };
            let text = Rect { x: rest.x + wide + 3, width: rest.width - wide - 3, ..rest };
            Areas { head, list, text }
        } else if self.reading {
            Areas { head, list: Rect::default(), text: rest }
        } else {
            Areas { head, list: rest, text: Rect::default() }
        }
    }

    /// Handles an action within `area`, where the text of the selected item has `lines` lines.
    pub(crate) fn act(&mut self, action: Action, area: Rect, lines: usize) -> Handled {
        let areas = self.areas(area);
        let page = if self.reading { areas.text.height } else { areas.list.height.saturating_sub(HEAD) };
        let page = isize::try_from(page).unwrap_or(1).max(1);
        match action {
            Action::Up => self.step(-1, areas, lines),
            Action::Down => self.step(1, areas, lines),
            Action::PageUp => self.step(-page, areas, lines),
            Action::PageDown => self.step(page, areas, lines),
            Action::Top => self.step(-ALL, areas, lines),
            Action::Bottom => self.step(ALL, areas, lines),
            Action::Open if self.typing => self.typing = false,
            Action::Open if !self.reading && self.selected().is_some() => self.read(),
            Action::Back if self.typing => {
                self.typing = false;
                self.filter = Input::default();
                return Handled::FilterChanged;
            }
            Action::Back if self.reading => self.reading = false,
            Action::Back if !self.filter.is_empty() => {
                self.filter = Input::default();
                return Handled::FilterChanged;
            }
            Action::Filter => self.type_filter(),
            _ => return Handled::No,
        }
        Handled::Yes
    }

    fn step(&mut self, by: isize, areas: Areas, lines: usize) {
        if self.reading {
            let most = lines.saturating_sub(areas.text.height.into());
            self.scroll = self.scroll.min(most).saturating_add_signed(by).min(most);
        } else {
            self.cursor.step(by, self.listed.len());
            self.cursor.settle(self.listed.len(), areas.list.height.saturating_sub(HEAD).into());
            self.scroll = 0;
        }
    }

    /// Handles a key that is typed into the filter.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Handled {
        if self.filter.key(key) { Handled::FilterChanged } else { Handled::Yes }
    }

    /// Selects the clicked row, or opens it if it is already selected.
    pub(crate) fn click(&mut self, at: Position, area: Rect) {
        let areas = self.areas(area);
        if areas.list.contains(at) && at.y >= areas.list.y + HEAD {
            let lines = usize::from(areas.list.height.saturating_sub(HEAD));
            let row =
                self.cursor.view(self.listed.len(), lines).start + usize::from(at.y - areas.list.y - HEAD);
            if row < self.listed.len() {
                if self.cursor.selected(self.listed.len()) == Some(row) && !self.reading {
                    self.read();
                } else {
                    self.reading = false;
                    self.scroll = 0;
                    self.cursor.settle(self.listed.len(), lines);
                    self.cursor.select(row);
                }
            }
        } else if areas.text.contains(at) && self.selected().is_some() && !self.reading {
            self.read();
        } else if areas.head.contains(at) {
            self.typing = true;
        }
    }

    /// Draws the browser.
    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, look: &Appearance<'_, T>) {
        let areas = self.areas(area);
        self.draw_head(areas.head, buf, look);
        if self.listed.is_empty() {
            let below = Rect { y: areas.head.bottom() + 1, height: area.height.saturating_sub(2), ..area };
            // What could not be loaded may be there.
            let is_known = self.is_loaded && look.problem.is_none();
            let empty = if is_known { look.empty } else { "" };
            for (y, line) in (below.y..below.bottom()).zip(text::wrap(empty, area.width.into())) {
                buf.set_string(below.x, y, line, Theme::faint());
            }
            return;
        }
        if areas.list.width > 0 {
            let item = |i: usize| &self.items[self.listed[i]];
            let row = |i: usize, above: Option<usize>| (look.row)(item(i), above.map(item));
            table::draw(areas.list, buf, look.columns, self.listed.len(), Some(&self.cursor), row);
        }
        if areas.list.width > 0 && areas.text.width > 0 {
            for y in areas.text.y..areas.text.bottom() {
                let symbol = if self.reading { "┃" } else { "│" };
                buf.set_string(areas.text.x - 2, y, symbol, Theme::faint());
            }
        }
        if let Some(item) = self.selected().filter(|_| areas.text.width > 0) {
            let lines = (look.text)(item, areas.text.width.into());
            let most = lines.len().saturating_sub(areas.text.height.into());
            let from = self.scroll.min(most);
            let shown: Vec<Line<'_>> = lines.into_iter().skip(from).collect();
            Paragraph::new(shown).render(areas.text, buf);
        }
    }

    fn draw_head(&self, area: Rect, buf: &mut Buffer, look: &Appearance<'_, T>) {
        let mut x = area.x;
        if self.typing || !self.filter.is_empty() {
            (x, _) = buf.set_stringn(x, area.y, "/ ", area.width.into(), Theme::strong());
            let wide = (area.width / 2).min(area.right().saturating_sub(x));
            let typed = u16::try_from(text::width(self.filter.text())).unwrap_or(wide).saturating_add(1);
            // A problem with what is typed needs the room more than the field.
            let wide = if look.problem.is_some() { wide.min(typed) } else { wide };
            self.filter.draw(Rect { x, y: area.y, width: wide, height: area.height }, buf, self.typing);
            x = x.saturating_add(if self.typing { wide + 1 } else { typed.min(wide) + 1 }).min(area.right());
        }
        let room = usize::from(area.right().saturating_sub(x));
        let (head, style) = match &look.problem {
            Some(problem) => (format!("✗ {problem}"), look.theme.bad()),
            None => (look.head.clone(), Theme::faint()),
        };
        buf.set_stringn(x, area.y, text::cut(&text::line(&head), room), room, style);
    }
}

/// A number of rows that no list exceeds.
const ALL: isize = isize::MAX;

/// The content of a browser, and its presentation.
pub(crate) struct Appearance<'l, T> {
    pub(crate) theme: Theme,
    /// The line above the list.
    pub(crate) head: String,
    /// The reason why the list could not be loaded, shown instead of the head.
    pub(crate) problem: Option<String>,
    /// The text that is shown instead of an empty list.
    pub(crate) empty: &'l str,
    pub(crate) columns: &'l [Column],
    /// Returns the cells of an item, which may depend on the visible item above it.
    pub(crate) row: &'l dyn Fn(&T, Option<&T>) -> Vec<Cell>,
    /// Returns the text of an item in the given number of columns.
    pub(crate) text: &'l dyn Fn(&T, usize) -> Vec<Line<'static>>,
}
