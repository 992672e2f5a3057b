//! The forms that cover the list of a screen.

mod page;

pub(crate) use page::{Kind, Page, Request, Typed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    Yes,
    /// The frame handles the action.
    No,
    Closes,
}

/// Separated by commas.
pub(crate) fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
