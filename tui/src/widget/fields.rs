use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::input::Input;
use super::{put, put_at};
use crate::theme::Theme;

/// One field has the focus, unless something below the fields has it.
pub(crate) struct Fields {
    list: Vec<Field>,
    focus: usize,
    column: u16,
}

pub(crate) struct Field {
    label: &'static str,
    pub(crate) input: Input,
    pub(crate) problem: Option<String>,
    hint: &'static str,
    /// The text is yes or no, which Space and the arrows change.
    is_toggle: bool,
}

pub(crate) const YES: &str = "yes";
pub(crate) const NO: &str = "no";

impl Field {
    pub(crate) const fn new(label: &'static str, input: Input, hint: &'static str) -> Self {
        Self { label, input, problem: None, hint, is_toggle: false }
    }

    pub(crate) fn toggle(label: &'static str, is_set: bool) -> Self {
        Self { is_toggle: true, ..Self::new(label, Input::new(if is_set { YES } else { NO }), "") }
    }
}

impl Fields {
    pub(crate) fn new(list: Vec<Field>) -> Self {
        let labels = list.iter().map(|field| field.label.len() + 2);
        let column = labels.max().and_then(|wide| u16::try_from(wide).ok()).unwrap_or_default().max(12);
        Self { list, focus: 0, column }
    }

    pub(crate) fn is_set(&self, field: usize) -> bool {
        self.text(field) == YES
    }

    pub(crate) fn text(&self, field: usize) -> &str {
        self.list[field].input.text()
    }

    /// The number of fields if none is focused.
    pub(crate) const fn focus(&self) -> usize {
        self.focus
    }

    /// Focuses no field if there is none with this number.
    pub(crate) fn set_focus(&mut self, field: usize) {
        self.focus = field.min(self.list.len());
    }

    pub(crate) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn refuse(&mut self, field: usize, problem: impl Into<String>) {
        self.list[field].problem = Some(problem.into());
        self.focus = field;
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        let is_set = self.list.get(self.focus).is_some_and(|_| self.is_set(self.focus));
        match self.list.get_mut(self.focus) {
            Some(Field { is_toggle: true, input, problem, .. }) => {
                let flips = matches!(key.code, KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right);
                if flips {
                    *input = Input::new(if is_set { NO } else { YES });
                    *problem = None;
                }
                flips
            }
            _ => self.edit(|input| input.key(key)),
        }
    }

    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.edit(|input| input.paste(text))
    }

    fn edit(&mut self, change: impl FnOnce(&mut Input) -> bool) -> bool {
        let field = self.list.get_mut(self.focus).filter(|field| !field.is_toggle);
        let Some(field) = field else { return false };
        let changed = change(&mut field.input);
        if changed {
            // The input may solve the problem.
            field.problem = None;
        }
        changed
    }

    pub(crate) fn lines(&self) -> u16 {
        let problems = self.list.iter().filter(|field| field.problem.is_some()).count();
        u16::try_from(self.list.len() + problems).unwrap_or(u16::MAX)
    }

    /// Fields that do not fit are left out, but never the focused field.
    fn places(&self, area: Rect) -> Vec<(usize, Rect)> {
        let end = |field: usize| {
            let above = self.list.get(..=field).unwrap_or_default();
            above.len() + above.iter().filter(|field| field.problem.is_some()).count()
        };
        let last = self.focus.min(self.list.len().saturating_sub(1));
        let skipped = end(last).saturating_sub(area.height.into());
        let places = (0..self.list.len()).filter_map(|field| {
            let own = 1 + usize::from(self.list[field].problem.is_some());
            let row = u16::try_from((end(field) - own).checked_sub(skipped)?).ok()?;
            (row < area.height).then(|| (field, Rect { y: area.y + row, height: 1, ..area }))
        });
        places.collect()
    }

    pub(crate) fn click(&mut self, at: Position, area: Rect) -> bool {
        let clicked = self.places(area).into_iter().find(|(_, place)| place.contains(at));
        if let Some((field, _)) = clicked {
            self.focus = field;
        }
        clicked.is_some()
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, theme: Theme) {
        let at = self.column.min(area.width);
        for (field, place) in self.places(area) {
            let Field { label, problem, input, hint, is_toggle } = &self.list[field];
            let is_focused = field == self.focus;
            let row = place.y - area.y;
            put_at(area, (0, row), buf, label, if is_focused { Theme::strong() } else { Theme::faint() });
            let text = Rect { x: area.x + at, width: area.width - at, ..place };
            if *is_toggle {
                put(text, buf, input.text(), if is_focused { Theme::selected() } else { Theme::strong() });
            } else if is_focused || !input.is_empty() {
                input.draw(text, buf, is_focused);
            } else {
                put(text, buf, hint, Theme::faint());
            }
            if let Some(problem) = problem.as_ref().filter(|_| place.y + 1 < area.bottom()) {
                put_at(area, (at, row + 1), buf, &format!("✗ {problem}"), theme.bad());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_focused_field_is_visible_in_a_small_area() {
        let labels = ["Title", "Address", "Topics"].map(|label| Field::new(label, Input::default(), "none"));
        let mut fields = Fields::new(labels.into());
        let area = Rect::new(0, 0, 20, 2);
        let places = |fields: &Fields| -> Vec<(usize, u16)> {
            fields.places(area).iter().map(|(field, place)| (*field, place.y)).collect()
        };
        fields.refuse(0, "It is wrong.");
        assert_eq!(places(&fields), [(0, 0)]);
        fields.set_focus(2);
        assert_eq!(places(&fields), [(1, 0), (2, 1)]);
        assert!(fields.click(Position::new(3, 0), area));
        assert_eq!(fields.focus(), 1);
    }
}
