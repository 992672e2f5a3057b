use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::cursor::{Cursor, rows_moved};
use super::input::Input;
use super::table::HEAD;
use crate::keys::Action;
use crate::text;
use crate::theme::Theme;

/// From this width on, the list and the text are side by side.
const BESIDE: u16 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    No,
    Yes,
    FilterChanged,
}

#[derive(Debug, Default)]
pub(crate) struct Browser {
    pub(crate) listed: Vec<usize>,
    pub(crate) cursor: Cursor,
    pub(crate) filter: Input,
    pub(crate) typing: bool,
    pub(crate) reading: bool,
    pub(crate) scroll: usize,
}

/// A part that is not shown has an empty area.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Areas {
    pub(crate) head: Rect,
    pub(crate) list: Rect,
    pub(crate) text: Rect,
}

impl Areas {
    fn rows(&self) -> u16 {
        self.list.height.saturating_sub(HEAD)
    }
}

impl Browser {
    /// The selected row is now at `place`; `None` if it is not listed.
    pub(crate) fn list(&mut self, listed: Vec<usize>, place: Option<usize>) {
        self.listed = listed;
        match place {
            Some(place) => self.cursor.select(place),
            // The row that was being read is gone, so the list is shown.
            None => self.reading = false,
        }
    }

    pub(crate) fn selected(&self) -> Option<usize> {
        self.cursor.selected(self.listed.len())
    }

    pub(crate) fn is_at_top(&self) -> bool {
        !self.reading && self.selected().is_none_or(|row| row == 0)
    }

    pub(crate) const fn type_filter(&mut self) {
        self.typing = true;
        self.reading = false;
    }

    pub(crate) const fn read(&mut self) {
        self.reading = true;
        self.scroll = 0;
    }

    /// `list_width` returns the width of the list beside the text.
    pub(crate) fn areas(&self, area: Rect, list_width: fn(u16) -> u16) -> Areas {
        let head = Rect { height: 1.min(area.height), ..area };
        let rest = Rect { y: area.y + head.height, height: area.height - head.height, ..area };
        if area.width >= BESIDE {
            let wide = list_width(area.width);
            let list = Rect { width: wide, ..rest };
            let text = Rect { x: rest.x + wide + 3, width: rest.width - wide - 3, ..rest };
            Areas { head, list, text }
        } else if self.reading {
            Areas { head, list: Rect::default(), text: rest }
        } else {
            Areas { head, list: rest, text: Rect::default() }
        }
    }

    /// `lines` is the length of the text of the selected row.
    pub(crate) fn act(&mut self, action: Action, areas: Areas, lines: usize) -> Handled {
        let page = if self.reading { areas.text.height } else { areas.rows() };
        match action {
            Action::Open if self.typing => self.typing = false,
            Action::Open if !self.reading && self.selected().is_some() => self.read(),
            Action::Back if self.typing || (!self.reading && !self.filter.is_empty()) => {
                self.typing = false;
                self.filter = Input::default();
                return Handled::FilterChanged;
            }
            Action::Back if self.reading => self.reading = false,
            Action::Filter => self.type_filter(),
            action => match rows_moved(action, page) {
                Some(by) => self.step(by, areas, lines),
                None => return Handled::No,
            },
        }
        Handled::Yes
    }

    fn step(&mut self, by: isize, areas: Areas, lines: usize) {
        if self.reading {
            let most = lines.saturating_sub(areas.text.height.into());
            self.scroll = self.scroll.min(most).saturating_add_signed(by).min(most);
        } else {
            self.cursor.step(by, self.listed.len());
            self.cursor.settle(self.listed.len(), areas.rows().into());
            self.scroll = 0;
        }
    }

    pub(crate) fn click(&mut self, at: Position, areas: Areas) {
        let (len, lines) = (self.listed.len(), usize::from(areas.rows()));
        if areas.list.contains(at) && at.y >= areas.list.y + HEAD {
            let row = self.cursor.view(len, lines).start + usize::from(at.y - areas.list.y - HEAD);
            if row < len && self.selected() == Some(row) && !self.reading {
                self.read();
            } else if row < len {
                self.reading = false;
                self.scroll = 0;
                self.cursor.settle(len, lines);
                self.cursor.select(row);
            }
        } else if areas.text.contains(at) && self.selected().is_some() && !self.reading {
            self.read();
        } else if areas.head.contains(at) {
            self.typing = true;
        }
    }

    pub(crate) fn draw_head(
        &self,
        area: Rect,
        buf: &mut Buffer,
        head: &str,
        problem: Option<&str>,
        theme: Theme,
    ) {
        let mut x = area.x;
        if self.typing || !self.filter.is_empty() {
            (x, _) = buf.set_stringn(x, area.y, "/ ", area.width.into(), Theme::strong());
            let wide = (area.width / 2).min(area.right().saturating_sub(x));
            let typed = u16::try_from(text::width(self.filter.text())).unwrap_or(wide).saturating_add(1);
            // A problem with the input needs the room more than the field.
            let wide = if problem.is_some() { wide.min(typed) } else { wide };
            self.filter.draw(Rect { x, width: wide, ..area }, buf, self.typing);
            x = x.saturating_add(if self.typing { wide + 1 } else { typed.min(wide) + 1 }).min(area.right());
        }
        let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
        match problem {
            Some(problem) => super::put(rest, buf, &format!("✗ {problem}"), theme.bad()),
            None => super::put(rest, buf, head, Theme::faint()),
        }
    }
}
