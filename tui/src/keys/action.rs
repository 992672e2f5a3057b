//! The actions of keys, and their names in the settings.

use crate::layout::TITLES;

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Quit,
    Suspend,
    SecondFactor,
    Help,
    Screen(usize),
    NextScreen,
    PreviousScreen,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    Filter,
    Refresh,
    More,
    New,
    Edit,
    Toggle,
    Remove,
    Sort,
    Kind,
    Export,
    Copy,
    Done,
    Fetch,
    Follow,
    Blacklist,
    Reset,
    Admin,
    Earlier,
    Later,
    Today,
    GoTo,
    Wider,
    NextView,
    PreviousView,
    Verify,
    Save,
    NextField,
    PreviousField,
    Password,
    ResetCode,
    Role,
    Preview,
    CopyText,
    CutText,
    PasteText,
    SaveDraft,
    ShareDraft,
    Publish,
    Placing,
    DiscardDraft,
    No,
    /// A key of the text editor itself, listed here for the help only.
    Type,
}

impl Action {
    /// Returns the name of the action in the settings; `None` if its key cannot be changed: Esc always goes back, and the
    /// keys of dialogs and of the text editor itself are fixed.
    pub(crate) fn name(self) -> Option<String> {
        match self {
            Self::Screen(screen) => TITLES.get(screen).map(|title| title.to_lowercase()),
            Self::Back | Self::No | Self::Type | Self::SaveDraft | Self::ShareDraft | Self::DiscardDraft => {
                None
            }
            // `PageUp` is `page-up`: renaming a variant changes the settings.
            action => {
                let dashed = |c: char| {
                    if c.is_uppercase() { format!("-{}", c.to_ascii_lowercase()) } else { c.into() }
                };
                Some(format!("{action:?}").chars().map(dashed).collect::<String>().split_off(1))
            }
        }
    }
}
