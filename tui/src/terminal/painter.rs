//! Draws on a terminal that may disagree about the width of a character.
//!
//! Flags, joined emoji, and letters with vowels or marks are one character for readers and several code points for a terminal,
//! and terminals differ in how many columns such a cluster takes. A row that has or had a cluster is therefore cleared and drawn
//! as a whole, and the cursor is placed again after each cluster, so nothing of an earlier drawing remains.

use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::terminal::{DisableLineWrap, EnableLineWrap};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};

use crate::text::width;

/// The terminal, and what it shows.
pub(crate) struct Painter<W: Write> {
    backend: CrosstermBackend<W>,
    shown: Buffer,
}

impl<W: Write> Painter<W> {
    /// Returns the terminal at the end of `out`, which has this size and is empty.
    pub(crate) fn new(out: W, size: Size) -> Self {
        Self {
            backend: CrosstermBackend::new(out),
            shown: Buffer::empty(Rect::from((Position::ORIGIN, size))),
        }
    }

    fn row(&self, y: u16) -> &[Cell] {
        let area = self.shown.area;
        let start = usize::from(y) * usize::from(area.width);
        self.shown.content.get(start..start + usize::from(area.width)).unwrap_or_default()
    }

    fn has_clusters(&self, y: u16) -> bool {
        self.row(y).iter().any(is_cluster)
    }

    fn keep(&mut self, x: u16, y: u16, cell: &Cell) {
        if let Some(place) = self.shown.cell_mut((x, y)) {
            cell.clone_into(place);
        }
        // The columns that a wide character covers show nothing of their own.
        for x in (x + 1..).take(width(cell.symbol()).saturating_sub(1)) {
            if let Some(place) = self.shown.cell_mut((x, y)) {
                place.reset();
            }
        }
    }

    /// Clears a row and draws all of it.
    fn draw_row(&mut self, y: u16) -> io::Result<()> {
        let mut covered = 0;
        let cells: Vec<(u16, u16, Cell)> = (0..)
            .zip(self.row(y))
            .filter(|(x, cell)| {
                let is_visible = *x >= covered;
                if is_visible {
                    covered = x + u16::try_from(width(cell.symbol())).unwrap_or(1).max(1);
                }
                is_visible
            })
            .map(|(x, cell)| (x, y, cell.clone()))
            .collect();
        // What the terminal takes for wider than the row must not continue in the next one.
        queue!(self.backend, DisableLineWrap, MoveTo(0, y))?;
        self.backend.clear_region(ClearType::CurrentLine)?;
        for run in cells.split_inclusive(|(_, _, cell)| is_cluster(cell)) {
            self.backend.draw(run.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        }
        queue!(self.backend, EnableLineWrap)
    }
}

/// Returns whether a cell has a character of several code points.
fn is_cluster(cell: &Cell) -> bool {
    cell.symbol().chars().nth(1).is_some()
}

impl<W: Write> Backend for Painter<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let cells: Vec<(u16, u16, &Cell)> = content.collect();
        let mut sure = Vec::new();
        let mut unsure = Vec::new();
        for row in cells.chunk_by(|one, other| one.1 == other.1) {
            let y = row[0].1;
            let had_clusters = self.has_clusters(y);
            for (x, y, cell) in row {
                self.keep(*x, *y, cell);
            }
            if had_clusters || self.has_clusters(y) {
                unsure.push(y);
            } else {
                sure.extend_from_slice(row);
            }
        }
        if !sure.is_empty() {
            self.backend.draw(sure.into_iter())?;
        }
        unsure.into_iter().try_for_each(|y| self.draw_row(y))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.backend.hide_cursor()
    }

    /// Shows the cursor, and ignores a terminal that is gone: ratatui would report it on standard error, which may be gone, too.
    fn show_cursor(&mut self) -> io::Result<()> {
        let _ = self.backend.show_cursor();
        Ok(())
    }

    /// Returns the origin. The cursor is hidden and no position is needed, and a terminal may not answer the question.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.backend.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        if region == ClearType::All {
            let size = self.size()?;
            self.shown = Buffer::empty(Rect::from((Position::ORIGIN, size)));
        }
        self.backend.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.backend.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.backend.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is written for the change from one line to another, above a line that stays.
    fn written(before: &str, after: &str) -> String {
        let size = Size::new(12, 2);
        let lines = |text: &str| {
            let blanks = " ".repeat(12 - width(text));
            Buffer::with_lines([format!("{text}{blanks}"), "below".to_owned()])
        };
        let (before, after) = (lines(before), lines(after));
        let mut out = Vec::new();
        let mut painter = Painter::new(&mut out, size);
        let empty = Buffer::empty(before.area);
        painter.draw(empty.diff(&before).into_iter()).unwrap();
        painter.backend.write_all(b"THEN").unwrap();
        painter.draw(before.diff(&after).into_iter()).unwrap();
        String::from_utf8(out).unwrap().split_once("THEN").unwrap().1.replace('\u{1b}', "^")
    }

    const CLEARED: &str = "^[?7l^[1;1H^[2K";

    #[test]
    fn a_row_with_clusters_is_cleared_and_drawn_whole() {
        for cluster in ["🇰🇷", "👩‍👩‍👧", "กำ", "ปี", "कि", "1️⃣", "e\u{301}"]
        {
            let gone = written(cluster, "new");
            assert!(gone.starts_with(CLEARED) && gone.contains("new         "), "{cluster}: {gone}");
            let comes = written("old", cluster);
            assert!(comes.starts_with(CLEARED) && comes.contains(cluster), "{cluster}: {comes}");
            // After it, the cursor is placed again.
            let next = usize::from(width(cluster) > 1) + 2;
            let rest = comes.split_once(cluster).map(|(_, rest)| rest).unwrap_or_default();
            assert!(rest.contains(&format!("^[1;{next}H ")), "{cluster}: {comes}");
            assert!(!gone.contains("below") && !comes.contains("below"));
        }
    }

    #[test]
    fn other_rows_are_drawn_where_they_change() {
        for (before, after) in [("one", "two"), ("도서관", "열람실"), ("👍", "ok")] {
            let drawn = written(before, after);
            assert!(!drawn.contains("^[2K") && !drawn.contains("^[?7l"), "{drawn}");
        }
        assert!(!written("🇰🇷", "🇰🇷").contains("^[2K"));
    }
}
