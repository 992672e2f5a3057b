//! How things look: the terminal's own sixteen colours, so that they are readable on a light and on a dark ground,
//! and without colours where `NO_COLOR` asks for it. No colour says what a word or a sign does not say as well.

use ratatui::style::{Color, Modifier, Style};

/// The styles of all screens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    colour: bool,
}

impl Theme {
    /// With colours or without.
    pub(crate) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    const fn ink(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Headings, and what stands out.
    pub(crate) const fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What stands back: labels, rules, hints.
    pub(crate) const fn faint() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The selected row, and the screen that is open.
    pub(crate) const fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Bars, keys, and what may be acted on.
    pub(crate) const fn accent(self) -> Style {
        self.ink(Color::Cyan)
    }

    /// What went well, or grew.
    pub(crate) const fn good(self) -> Style {
        self.ink(Color::Green)
    }

    /// What failed, or is destructive.
    pub(crate) const fn bad(self) -> Style {
        self.ink(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What waits for somebody.
    pub(crate) const fn attention(self) -> Style {
        self.ink(Color::Magenta)
    }
}
