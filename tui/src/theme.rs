//! Styles: the terminal's own sixteen colours, which are readable on every background, or none if `NO_COLOR` is set. A word or
//! a sign always repeats the meaning of a colour.

use ratatui::style::{Color, Modifier, Style};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    has_colours: bool,
}

impl Theme {
    pub(crate) const fn new(has_colours: bool) -> Self {
        Self { has_colours }
    }

    pub(crate) const fn has_colours(self) -> bool {
        self.has_colours
    }

    /// A QR code has its colours whatever those of the terminal are.
    pub(crate) const fn black_on_white(self) -> Style {
        if self.has_colours { Style::new().fg(Color::Black).bg(Color::White) } else { Style::new() }
    }

    const fn ink(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(crate) const fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) const fn faint() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) const fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) const fn accent(self) -> Style {
        self.ink(Color::Cyan)
    }

    pub(crate) const fn good(self) -> Style {
        self.ink(Color::Green)
    }

    pub(crate) const fn bad(self) -> Style {
        self.ink(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) const fn attention(self) -> Style {
        self.ink(Color::Magenta)
    }
}
