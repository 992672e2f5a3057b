//! Styles: the terminal's own sixteen colours, which are readable on light and on dark backgrounds, or the colours that
//! the administrator chose, or none if `NO_COLOR` is set. A word or a sign always repeats the meaning of a colour.

use ratatui::style::{Color, Modifier, Style};

/// The styles of all screens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    /// The colours; `None` for none.
    colours: Option<Colours>,
}

/// The colours that an administrator can choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colours {
    accent: Color,
    good: Color,
    bad: Color,
    attention: Color,
}

impl Default for Colours {
    fn default() -> Self {
        Self { accent: Color::Cyan, good: Color::Green, bad: Color::Red, attention: Color::Magenta }
    }
}

impl Colours {
    /// Changes a colour.
    ///
    /// # Errors
    /// The reason why there is no such colour.
    pub(crate) fn set(&mut self, name: &str, colour: &str) -> Result<(), String> {
        let field = match name {
            "accent" => &mut self.accent,
            "good" => &mut self.good,
            "bad" => &mut self.bad,
            "attention" => &mut self.attention,
            _ => return Err(format!("there is no style {name:?}; there are accent, good, bad, attention")),
        };
        *field = colour.parse().map_err(|_| {
            format!("there is no colour {colour:?}; colours look like blue, light-blue, #7aa2f7 or 111")
        })?;
        Ok(())
    }
}

impl Theme {
    /// Returns the styles with these colours, or with none.
    pub(crate) const fn new(colours: Option<Colours>) -> Self {
        Self { colours }
    }

    /// Returns whether there are colours.
    pub(crate) const fn has_colours(self) -> bool {
        self.colours.is_some()
    }

    /// Returns the style of a QR code, which has its colours whatever those of the terminal are.
    pub(crate) fn black_on_white(self) -> Style {
        self.colours.map_or_else(Style::new, |_| Style::new().fg(Color::Black).bg(Color::White))
    }

    fn ink(self, colour: fn(&Colours) -> Color) -> Style {
        self.colours.map_or_else(Style::new, |colours| Style::new().fg(colour(&colours)))
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
    pub(crate) fn accent(self) -> Style {
        self.ink(|colours| colours.accent)
    }

    /// Returns the style of success and growth.
    pub(crate) fn good(self) -> Style {
        self.ink(|colours| colours.good)
    }

    /// Returns the style of failures and destructive choices.
    pub(crate) fn bad(self) -> Style {
        self.ink(|colours| colours.bad).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of items that need an administrator's attention.
    pub(crate) fn attention(self) -> Style {
        self.ink(|colours| colours.attention)
    }
}
