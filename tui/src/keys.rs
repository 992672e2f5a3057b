//! The key bindings. Key handling, the help and the footer all read these tables.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Password,
    ResetCode,
    Role,
    CopyText,
    CutText,
    PasteText,
    OpenEditor,
    ShareDraft,
    Publish,
    DiscardDraft,
    No,
    /// A key of the text editor itself, listed here for the help only.
    Type,
}

pub(crate) fn name(event: &KeyEvent) -> String {
    let name = match event.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if event.modifiers.contains(KeyModifiers::CONTROL) => {
            c.to_ascii_uppercase().to_string()
        }
        // Typed, not pressed.
        KeyCode::Char(c @ '←'..='↓') => format!("{c:?}"),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Up => "↑".to_owned(),
        KeyCode::Down => "↓".to_owned(),
        KeyCode::Left => "←".to_owned(),
        KeyCode::Right => "→".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::BackTab => "Shift-Tab".to_owned(),
        KeyCode::F(n) => format!("F{n}"),
        other => format!("{other:?}"),
    };
    // The character of a letter already reflects Shift.
    let held = match event.code {
        KeyCode::Char(_) | KeyCode::BackTab => event.modifiers - KeyModifiers::SHIFT,
        _ => event.modifiers,
    };
    let names =
        [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")];
    names.into_iter().filter(|(key, _)| held.contains(*key)).map(|(_, name)| name).chain([&*name]).collect()
}

#[derive(Debug)]
pub(crate) struct Binding {
    /// The names of the keys, separated by spaces.
    pub(crate) keys: &'static str,
    pub(crate) action: Action,
    pub(crate) help: &'static str,
    /// One word, for the footer; `""` excludes the binding from the footer.
    pub(crate) short: &'static str,
}

const fn bind(keys: &'static str, action: Action, help: &'static str, short: &'static str) -> Binding {
    Binding { keys, action, help, short }
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [Binding],
}

/// The first table that binds the key counts.
pub(crate) fn find(tables: &[&'static Table], event: &KeyEvent) -> Option<Action> {
    let name = name(event);
    let mut keys = tables.iter().flat_map(|table| table.keys);
    keys.find(|binding| binding.keys.split(' ').any(|key| key == name)).map(|binding| binding.action)
}

macro_rules! table {
    ($title:literal, $($binding:expr),* $(,)?) => {
        Table { title: $title, keys: &[$($binding),*] }
    };
}

/// Not while text is being typed.
pub(crate) static GLOBAL: Table = table!(
    "Everywhere",
    bind("? F1", Action::Help, "the keys of this screen", "help"),
    bind("1", Action::Screen(0), "Overview", ""),
    bind("2", Action::Screen(1), "Notices", ""),
    bind("3", Action::Screen(2), "Feedback", ""),
    bind("4", Action::Screen(3), "Members", ""),
    bind("5", Action::Screen(4), "Posts", ""),
    bind("6", Action::Screen(5), "Analytics", ""),
    bind("7", Action::Screen(6), "Log", ""),
    bind("8", Action::Screen(7), "Audit", ""),
    bind("9", Action::Screen(8), "Sources", ""),
    bind("Tab", Action::NextScreen, "the next screen", ""),
    bind("Shift-Tab", Action::PreviousScreen, "the previous screen", ""),
    bind("Esc", Action::Back, "back", ""),
    bind("Ctrl-L F5", Action::Refresh, "reload and redraw", ""),
    bind("O", Action::SecondFactor, "your second factor on a server", ""),
    bind("Ctrl-Z", Action::Suspend, "suspend (fg resumes)", ""),
    bind("q Ctrl-C", Action::Quit, "quit", "quit"),
);

pub(crate) static SCROLL: Table = table!(
    "Moving",
    bind("↑ k", Action::Up, "up", ""),
    bind("↓ j", Action::Down, "down", ""),
    bind("PgUp Ctrl-B", Action::PageUp, "a page up", ""),
    bind("PgDn Ctrl-F", Action::PageDown, "a page down", ""),
    bind("Home g", Action::Top, "the first row", ""),
    bind("End G", Action::Bottom, "the last row", ""),
    bind("/", Action::Filter, "filter", "filter"),
    bind("E", Action::Export, "export the table as CSV or JSON", "export"),
    bind("y", Action::Copy, "copy", ""),
);

pub(crate) static LIST: Table = table!(
    "Reading",
    bind("Enter → l", Action::Open, "read what is selected", "read"),
    bind("← h", Action::Back, "back to the list", ""),
);

pub(crate) static INPUT: Table = table!(
    "Typing",
    bind("Enter", Action::Open, "accept", "accept"),
    bind("Esc", Action::Back, "cancel", "cancel"),
    bind("↑", Action::Up, "up", ""),
    bind("↓", Action::Down, "down", ""),
    bind("PgUp", Action::PageUp, "a page up", ""),
    bind("PgDn", Action::PageDown, "a page down", ""),
    bind("Ctrl-C", Action::Quit, "quit", ""),
);

pub(crate) static HELP: Table = table!(
    "Help",
    bind("Esc ? q F1 Enter", Action::Back, "close", "close"),
    bind("↑ k", Action::Up, "up", ""),
    bind("↓ j", Action::Down, "down", ""),
    bind("PgUp", Action::PageUp, "a page up", ""),
    bind("PgDn Space", Action::PageDown, "a page down", ""),
    bind("Ctrl-C", Action::Quit, "quit", ""),
);

pub(crate) static QUESTION: Table = table!("Question", bind("Esc n", Action::No, "no", "no"));

pub(crate) static OVERVIEW: Table = table!(
    "Overview",
    bind("r", Action::Refresh, "reload", "refresh"),
    bind("↑ k", Action::Up, "up in the log", ""),
    bind("↓ j", Action::Down, "down in the log", ""),
    bind("Enter", Action::Open, "open the log", "log"),
    bind("/", Action::Filter, "filter the newest lines of the log", "filter"),
);

pub(crate) static NOTICES: Table = table!(
    "Notices",
    bind("n", Action::New, "write a notice", "new"),
    bind("e", Action::Edit, "edit, or resume a draft", "edit"),
    bind("Space", Action::Toggle, "show or hide", "show/hide"),
    bind("x Delete", Action::Remove, "remove (asks)", "remove"),
    bind("p", Action::Publish, "publish a draft of all administrators (asks)", ""),
    bind("s", Action::Sort, "sort by date, title, views or state", "sort"),
);

pub(crate) static EDITOR: Table = table!(
    "Editor",
    bind("Ctrl-S", Action::Save, "save", "save"),
    bind("Esc", Action::Back, "close (asks, and can save a draft of a notice)", "close"),
    bind("Tab", Action::Down, "the next field", "field"),
    bind("Shift-Tab", Action::Up, "the previous field", ""),
    bind("Ctrl-O", Action::OpenEditor, "the text in $VISUAL or $EDITOR", "editor"),
    bind("Ctrl-C", Action::CopyText, "copy what is selected", ""),
    bind("Ctrl-X", Action::CutText, "cut what is selected", ""),
    bind("Ctrl-V", Action::PasteText, "paste", ""),
    bind("Ctrl-Z", Action::Suspend, "suspend (fg resumes)", ""),
    bind("F1", Action::Help, "these keys", ""),
    bind("Shift-← Shift-→", Action::Type, "select; also by words with Ctrl, and with Home and End", "",),
    bind("Ctrl-U", Action::Type, "clear a field; in the text, undo", ""),
    bind("Ctrl-R", Action::Type, "redo in the text", ""),
    bind("Ctrl-W", Action::Type, "delete the word before", ""),
    bind("Ctrl-K", Action::Type, "delete to the end of the line", ""),
);

pub(crate) static FEEDBACK: Table = table!(
    "Feedback",
    bind("Space d", Action::Done, "done, or open again", "done/open"),
    bind("a", Action::Toggle, "open items, or all", "all"),
    bind("t", Action::Kind, "the next type, or all types", "type"),
    bind("N", Action::GoTo, "go to the notice it refers to", ""),
);

pub(crate) static MEMBERS: Table = table!(
    "Members",
    bind("b", Action::Blacklist, "add to or remove from the blacklist (asks)", "blacklist"),
    bind("a", Action::Admin, "grant or revoke administrator (asks)", "admin"),
    bind("r", Action::Role, "set what the member may administer", ""),
    bind("f", Action::Kind, "administrators, blacklisted members, members with a role, or all", "state"),
    bind("P", Action::Password, "set a new password (asks)", ""),
    bind("C", Action::ResetCode, "issue a code for a new password (asks)", ""),
    bind("R", Action::Reset, "reset the measured interest (asks)", "reset"),
    bind("x Delete", Action::Remove, "remove (asks)", "remove"),
    bind("v", Action::NextView, "facts, likes, views, searches, feeds, log", "view"),
    bind("V", Action::PreviousView, "the previous view", ""),
    bind("L", Action::GoTo, "go to the member's log", ""),
);

pub(crate) static POSTS: Table = table!(
    "Posts",
    bind("n", Action::New, "add a post", "new"),
    bind("e", Action::Edit, "edit", "edit"),
    bind("x Delete", Action::Remove, "remove (asks)", "remove"),
    bind("f", Action::Kind, "popular posts, or the newest", "feed"),
    bind("t", Action::GoTo, "the newest of a topic or tag (type its name)", "topic"),
    bind("r", Action::Refresh, "reload the list", ""),
);

pub(crate) static ANALYTICS: Table = table!(
    "Analytics",
    bind("← h", Action::Earlier, "a day (or a whole range) earlier", "earlier"),
    bind("→ l", Action::Later, "a day (or a whole range) later", "later"),
    bind("t", Action::Today, "today", "today"),
    bind("d Enter", Action::GoTo, "go to a day or a range", "day/range"),
    bind("w", Action::Wider, "a day, 7 days, 30 days, 365 days", "wider"),
    bind("v Space", Action::NextView, "hours, days, students, terms, devices", "view"),
    bind("V", Action::PreviousView, "the previous view", ""),
);

pub(crate) static LOG: Table = table!(
    "Log",
    bind("f", Action::Follow, "follow new lines", "follow"),
    bind("r", Action::Kind, "the next result, or all results", "result"),
    bind("m", Action::More, "load older lines", "more"),
);

pub(crate) static AUDIT: Table = table!(
    "Audit",
    bind("v", Action::Verify, "verify that no record was changed or removed", "verify"),
    bind("m", Action::More, "load older records", "more"),
);

pub(crate) static SOURCES: Table = table!(
    "Sources",
    bind("n", Action::New, "add a source, and fetch it", "new"),
    bind("e", Action::Edit, "edit", "edit"),
    bind("f", Action::Fetch, "fetch now, and tell what arrived", "fetch"),
    bind("Space", Action::Toggle, "pause, or fetch again", "pause"),
    bind("x Delete", Action::Remove, "remove (asks)", "remove"),
);

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The tables that apply at the same time.
    pub(crate) static TOGETHER: [&[&Table]; 13] = [
        &[&OVERVIEW, &GLOBAL],
        &[&NOTICES, &LIST, &SCROLL, &GLOBAL],
        &[&FEEDBACK, &LIST, &SCROLL, &GLOBAL],
        &[&MEMBERS, &LIST, &SCROLL, &GLOBAL],
        &[&POSTS, &LIST, &SCROLL, &GLOBAL],
        &[&LOG, &LIST, &SCROLL, &GLOBAL],
        &[&AUDIT, &LIST, &SCROLL, &GLOBAL],
        &[&SOURCES, &LIST, &SCROLL, &GLOBAL],
        &[&ANALYTICS, &SCROLL, &GLOBAL],
        &[&EDITOR],
        &[&INPUT],
        &[&HELP],
        &[&QUESTION],
    ];

    #[test]
    fn no_two_actions_have_the_same_key_at_the_same_time() {
        for tables in TOGETHER {
            let mut seen = HashSet::new();
            for key in tables.iter().flat_map(|table| table.keys).flat_map(|binding| binding.keys.split(' '))
            {
                assert!(seen.insert(key), "{key} in {}", tables[0].title);
            }
        }
    }

    #[test]
    fn keys_are_named_as_people_know_them() {
        let (none, control, shift) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::SHIFT);
        for (code, held, expected) in [
            (KeyCode::Char('s'), control, "Ctrl-S"),
            (KeyCode::Char(' '), none, "Space"),
            (KeyCode::PageUp, none, "PgUp"),
            (KeyCode::F(1), none, "F1"),
            (KeyCode::Left, shift, "Shift-←"),
            (KeyCode::Char('G'), none, "G"),
            (KeyCode::Char('G'), shift, "G"),
        ] {
            assert_eq!(name(&KeyEvent::new(code, held)), expected);
        }
    }
}
