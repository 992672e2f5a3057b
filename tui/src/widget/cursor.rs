use std::ops::Range;

use crate::keys::Action;

/// A page has `page` lines. `None` if the action does not move the selection.
pub(crate) fn rows_moved(action: Action, page: u16) -> Option<isize> {
    let page = isize::try_from(page).unwrap_or(1).max(1);
    Some(match action {
        Action::Up => -1,
        Action::Down => 1,
        Action::PageUp => -page,
        Action::PageDown => page,
        Action::Top => -isize::MAX,
        Action::Bottom => isize::MAX,
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    selected: usize,
    /// The first visible row at the last call of [`Cursor::settle`].
    first: usize,
}

impl Cursor {
    pub(crate) fn selected(&self, len: usize) -> Option<usize> {
        len.checked_sub(1).map(|last| self.selected.min(last))
    }

    pub(crate) const fn select(&mut self, row: usize) {
        self.selected = row;
    }

    pub(crate) fn step(&mut self, by: isize, len: usize) {
        let from = self.selected(len).unwrap_or_default();
        self.selected = from.saturating_add_signed(by).min(len.saturating_sub(1));
    }

    pub(crate) fn view(&self, len: usize, lines: usize) -> Range<usize> {
        let selected = self.selected(len).unwrap_or_default();
        let lowest = (selected + 1).saturating_sub(lines);
        let highest = len.saturating_sub(lines).min(selected);
        let first = self.first.clamp(lowest.min(highest), highest);
        first..(first + lines).min(len)
    }

    /// The list does not scroll while the selection moves within the stored rows.
    pub(crate) fn settle(&mut self, len: usize, lines: usize) {
        self.first = self.view(len, lines).start;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_view_moves_only_when_the_selection_leaves_it() {
        let mut cursor = Cursor::default();
        for (by, view) in [(1, 0..3), (1, 0..3), (1, 1..4), (-1, 1..4), (-9, 0..3), (99, 7..10)] {
            cursor.step(by, 10);
            cursor.settle(10, 3);
            assert_eq!(cursor.view(10, 3), view, "{by}");
        }
    }

    proptest! {
        #[test]
        fn the_selected_row_is_in_view(steps in proptest::collection::vec((-9_isize..9, 0_usize..20, 0_usize..9), 1..20)) {
            let mut cursor = Cursor::default();
            for (by, len, lines) in steps {
                cursor.step(by, len);
                let view = cursor.view(len, lines);
                prop_assert!(view.end <= len && view.len() <= lines);
                if let Some(selected) = cursor.selected(len).filter(|_| lines > 0) {
                    prop_assert!(view.contains(&selected));
                    prop_assert!(view.len() == lines.min(len), "no line is empty while there are rows");
                }
                cursor.settle(len, lines);
            }
        }
    }
}
