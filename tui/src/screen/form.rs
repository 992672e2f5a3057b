//! The forms that cover the list of a screen.

mod page;

pub(crate) use page::{Kind, Page, Request, Typed};

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    Yes,
    /// The frame handles it.
    No,
    /// The form closes.
    Closes,
}

/// Returns the names that are typed into a field, separated by commas.
pub(crate) fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
