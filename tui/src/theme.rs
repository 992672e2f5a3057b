//! Styles: the terminal's own sixteen colours, which are readable on light and on dark backgrounds, or
//! none if `NO_COLOR` is set. A word or a sign always repeats the meaning of a colour.

use ratatui::style::{Color, Modifier, Style};

/// The styles of all screens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    has_colours: bool,
}

impl Theme {
    /// Returns the styles, with or without colours.
    pub(crate) const fn new(has_colours: bool) -> Self {
        Self { has_colours }
    }

    /// Returns whether there are colours.
    pub(crate) const fn has_colours(self) -> bool {
        self.has_colours
    }

    /// Returns the style of a QR code, which has its colours whatever those of the terminal are.
    pub(crate) const fn black_on_white(self) -> Style {
        if self.has_colours { Style::new().fg(Color::Black).bg(Color::White) } else { Style::new() }
    }

    const fn ink(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Returns the style of headings and emphasis.
    pub(crate) const fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of labels, rules and hints.
    pub(crate) const fn faint() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Returns the style of the selected row and the open screen.
    pub(crate) const fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of bars, keys and other controls.
    pub(crate) const fn accent(self) -> Style {
        self.ink(Color::Cyan)
    }

    /// Returns the style of success and growth.
    pub(crate) const fn good(self) -> Style {
        self.ink(Color::Green)
    }

    /// Returns the style of failures and destructive choices.
    pub(crate) const fn bad(self) -> Style {
        self.ink(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of items that need an administrator's attention.
    pub(crate) const fn attention(self) -> Style {
        self.ink(Color::Magenta)
    }
}
