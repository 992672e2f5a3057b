//! Styles: the terminal's own sixteen colours, which are readable on light and on dark backgrounds, or no colours if
//! `NO_COLOR` is set. A word or a sign always repeats the meaning of a colour.

use ratatui::style::{Color, Modifier, Style};

/// The styles of all screens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    colour: bool,
}

impl Theme {
    /// Returns the styles with or without colours.
    pub(crate) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    const fn ink(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Headings and emphasis.
    pub(crate) const fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Labels, rules and hints.
    pub(crate) const fn faint() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The selected row and the open screen.
    pub(crate) const fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Bars, keys and other controls.
    pub(crate) const fn accent(self) -> Style {
        self.ink(Color::Cyan)
    }

    /// Success and growth.
    pub(crate) const fn good(self) -> Style {
        self.ink(Color::Green)
    }

    /// Failures and destructive choices.
    pub(crate) const fn bad(self) -> Style {
        self.ink(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Items that need an administrator's attention.
    pub(crate) const fn attention(self) -> Style {
        self.ink(Color::Magenta)
    }
}
