//! The key bindings: a table for all screens, one each for lists, scrolling and the editor, and one for each screen.
//! Key handling, the help and the footer all read these tables.

use KeyCode::{Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

mod action;

pub(crate) use action::Action;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chord(pub(crate) KeyCode, pub(crate) KeyModifiers);

const fn ch(c: char) -> Chord {
    Chord(KeyCode::Char(c), KeyModifiers::NONE)
}

const fn ctrl(c: char) -> Chord {
    Chord(KeyCode::Char(c), KeyModifiers::CONTROL)
}

const fn key(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::NONE)
}

impl Chord {
    /// The character of a letter already reflects Shift.
    pub(crate) fn of(event: &KeyEvent) -> Self {
        let held = match event.code {
            KeyCode::Char(_) | KeyCode::BackTab => event.modifiers - KeyModifiers::SHIFT,
            _ => event.modifiers,
        };
        Self(event.code, held & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT))
    }

    /// For the help.
    pub(crate) fn name(self) -> String {
        let name = match self.0 {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) if self.1.contains(KeyModifiers::CONTROL) => c.to_ascii_uppercase().to_string(),
            KeyCode::Char(c) => c.to_string(),
            Up => "↑".to_owned(),
            Down => "↓".to_owned(),
            Left => "←".to_owned(),
            Right => "→".to_owned(),
            PageUp => "PgUp".to_owned(),
            PageDown => "PgDn".to_owned(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            KeyCode::F(n) => format!("F{n}"),
            other => format!("{other:?}"),
        };
        let held =
            [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")];
        let held: String =
            held.iter().filter(|(key, _)| self.1.contains(*key)).map(|(_, name)| *name).collect();
        held + &name
    }
}

#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) chords: &'static [Chord],
    pub(crate) action: Action,
    /// For the help.
    pub(crate) help: &'static str,
    /// One word, for the footer; `""` excludes the binding from the footer.
    pub(crate) short: &'static str,
}

const fn bind(chords: &'static [Chord], action: Action, help: &'static str, short: &'static str) -> Binding {
    Binding { chords, action, help, short }
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [Binding],
}

/// The first table that binds the key counts.
pub(crate) fn find(tables: &[&'static Table], event: &KeyEvent) -> Option<Action> {
    let chord = Chord::of(event);
    let mut keys = tables.iter().flat_map(|table| table.keys);
    keys.find(|binding| binding.chords.contains(&chord)).map(|binding| binding.action)
}

macro_rules! table {
    ($title:literal, $($binding:expr),* $(,)?) => {
        Table { title: $title, keys: &[$($binding),*] }
    };
}

/// Not while text is being typed.
pub(crate) static GLOBAL: Table = table!(
    "Everywhere",
    bind(&[ch('?'), key(KeyCode::F(1))], Action::Help, "the keys of this screen", "help"),
    bind(&[ch('1')], Action::Screen(0), "Overview", ""),
    bind(&[ch('2')], Action::Screen(1), "Notices", ""),
    bind(&[ch('3')], Action::Screen(2), "Feedback", ""),
    bind(&[ch('4')], Action::Screen(3), "Members", ""),
    bind(&[ch('5')], Action::Screen(4), "Posts", ""),
    bind(&[ch('6')], Action::Screen(5), "Analytics", ""),
    bind(&[ch('7')], Action::Screen(6), "Log", ""),
    bind(&[ch('8')], Action::Screen(7), "Audit", ""),
    bind(&[ch('9')], Action::Screen(8), "Sources", ""),
    bind(&[key(Tab)], Action::NextScreen, "the next screen", ""),
    bind(&[key(KeyCode::BackTab)], Action::PreviousScreen, "the previous screen", ""),
    bind(&[key(Esc)], Action::Back, "back", ""),
    bind(&[ctrl('l'), key(KeyCode::F(5))], Action::Refresh, "reload and redraw", ""),
    bind(&[ch('O')], Action::SecondFactor, "your second factor on a server", ""),
    bind(&[ctrl('z')], Action::Suspend, "suspend (fg resumes)", ""),
    bind(&[ch('q'), ctrl('c')], Action::Quit, "quit", "quit"),
);

pub(crate) static SCROLL: Table = table!(
    "Moving",
    bind(&[key(Up), ch('k')], Action::Up, "up", ""),
    bind(&[key(Down), ch('j')], Action::Down, "down", ""),
    bind(&[key(PageUp), ctrl('b')], Action::PageUp, "a page up", ""),
    bind(&[key(PageDown), ctrl('f')], Action::PageDown, "a page down", ""),
    bind(&[key(Home), ch('g')], Action::Top, "the first row", ""),
    bind(&[key(End), ch('G')], Action::Bottom, "the last row", ""),
    bind(&[ch('/')], Action::Filter, "filter", "filter"),
    bind(&[ch('E')], Action::Export, "export the table as CSV or JSON", "export"),
    bind(&[ch('y')], Action::Copy, "copy", ""),
);

/// For a list whose items have a text.
pub(crate) static LIST: Table = table!(
    "Reading",
    bind(&[key(Enter), key(Right), ch('l')], Action::Open, "read what is selected", "read"),
    bind(&[key(Left), ch('h')], Action::Back, "back to the list", ""),
);

/// While a line is being typed.
pub(crate) static INPUT: Table = table!(
    "Typing",
    bind(&[key(Enter)], Action::Open, "accept", "accept"),
    bind(&[key(Esc)], Action::Back, "cancel", "cancel"),
    bind(&[key(Up)], Action::Up, "up", ""),
    bind(&[key(Down)], Action::Down, "down", ""),
    bind(&[key(PageUp)], Action::PageUp, "a page up", ""),
    bind(&[key(PageDown)], Action::PageDown, "a page down", ""),
    bind(&[ctrl('c')], Action::Quit, "quit", ""),
);

pub(crate) static HELP: Table = table!(
    "Help",
    bind(&[key(Esc), ch('?'), ch('q'), key(KeyCode::F(1)), key(Enter)], Action::Back, "close", "close"),
    bind(&[key(Up), ch('k')], Action::Up, "up", ""),
    bind(&[key(Down), ch('j')], Action::Down, "down", ""),
    bind(&[key(PageUp)], Action::PageUp, "a page up", ""),
    bind(&[key(PageDown), ch(' ')], Action::PageDown, "a page down", ""),
    bind(&[ctrl('c')], Action::Quit, "quit", ""),
);

pub(crate) static QUESTION: Table = table!("Question", bind(&[key(Esc), ch('n')], Action::No, "no", "no"));

pub(crate) static OVERVIEW: Table = table!(
    "Overview",
    bind(&[ch('r')], Action::Refresh, "reload", "refresh"),
    bind(&[key(Up), ch('k')], Action::Up, "up in the log", ""),
    bind(&[key(Down), ch('j')], Action::Down, "down in the log", ""),
    bind(&[key(Enter)], Action::Open, "open the log", "log"),
    bind(&[ch('/')], Action::Filter, "filter the newest lines of the log", "filter"),
);

pub(crate) static NOTICES: Table = table!(
    "Notices",
    bind(&[ch('n')], Action::New, "write a notice", "new"),
    bind(&[ch('e')], Action::Edit, "edit, or resume a draft", "edit"),
    bind(&[ch(' ')], Action::Toggle, "show or hide", "show/hide"),
    bind(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
    bind(&[ch('p')], Action::Publish, "publish a draft of all administrators (asks)", ""),
    bind(&[ch('s')], Action::Sort, "sort by date, title, views or state", "sort"),
);

/// The keys of a form with a text.
pub(crate) static EDITOR: Table = table!(
    "Editor",
    bind(&[ctrl('s')], Action::Save, "save", "save"),
    bind(&[key(Esc)], Action::Back, "close (asks, and can save a draft of a notice)", "close"),
    bind(&[key(Tab)], Action::NextField, "the next field", "field"),
    bind(&[key(KeyCode::BackTab)], Action::PreviousField, "the previous field", ""),
    bind(&[ctrl('o')], Action::OpenEditor, "the text in $VISUAL or $EDITOR", "editor"),
    bind(&[ctrl('c')], Action::CopyText, "copy what is selected", ""),
    bind(&[ctrl('x')], Action::CutText, "cut what is selected", ""),
    bind(&[ctrl('v')], Action::PasteText, "paste", ""),
    bind(&[ctrl('z')], Action::Suspend, "suspend (fg resumes)", ""),
    bind(&[key(KeyCode::F(1))], Action::Help, "these keys", ""),
    bind(
        &[Chord(Left, KeyModifiers::SHIFT), Chord(Right, KeyModifiers::SHIFT)],
        Action::Type,
        "select; also by words with Ctrl, and with Home and End",
        "",
    ),
    bind(&[ctrl('u')], Action::Type, "clear a field; in the text, undo", ""),
    bind(&[ctrl('r')], Action::Type, "redo in the text", ""),
    bind(&[ctrl('w')], Action::Type, "delete the word before", ""),
    bind(&[ctrl('k')], Action::Type, "delete to the end of the line", ""),
);

pub(crate) static FEEDBACK: Table = table!(
    "Feedback",
    bind(&[ch(' '), ch('d')], Action::Done, "done, or open again", "done/open"),
    bind(&[ch('a')], Action::Toggle, "open items, or all", "all"),
    bind(&[ch('t')], Action::Kind, "the next type, or all types", "type"),
    bind(&[ch('N')], Action::GoTo, "go to the notice it refers to", ""),
);

pub(crate) static MEMBERS: Table = table!(
    "Members",
    bind(&[ch('b')], Action::Blacklist, "add to or remove from the blacklist (asks)", "blacklist"),
    bind(&[ch('a')], Action::Admin, "grant or revoke administrator (asks)", "admin"),
    bind(&[ch('r')], Action::Role, "set what the member may administer", ""),
    bind(
        &[ch('f')],
        Action::Kind,
        "administrators, blacklisted members, members with a role, or all",
        "state"
    ),
    bind(&[ch('P')], Action::Password, "set a new password (asks)", ""),
    bind(&[ch('C')], Action::ResetCode, "issue a code for a new password (asks)", ""),
    bind(&[ch('R')], Action::Reset, "reset the measured interest (asks)", "reset"),
    bind(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
    bind(&[ch('v')], Action::NextView, "facts, likes, views, searches, feeds, log", "view"),
    bind(&[ch('V')], Action::PreviousView, "the previous view", ""),
    bind(&[ch('L')], Action::GoTo, "go to the member's log", ""),
);

pub(crate) static POSTS: Table = table!(
    "Posts",
    bind(&[ch('n')], Action::New, "add a post", "new"),
    bind(&[ch('e')], Action::Edit, "edit", "edit"),
    bind(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
    bind(&[ch('f')], Action::Kind, "popular posts, or the newest", "feed"),
    bind(&[ch('t')], Action::GoTo, "the newest of a topic or tag (type its name)", "topic"),
    bind(&[ch('r')], Action::Refresh, "reload the list", ""),
);

pub(crate) static ANALYTICS: Table = table!(
    "Analytics",
    bind(&[key(Left), ch('h')], Action::Earlier, "a day (or a whole range) earlier", "earlier"),
    bind(&[key(Right), ch('l')], Action::Later, "a day (or a whole range) later", "later"),
    bind(&[ch('t')], Action::Today, "today", "today"),
    bind(&[ch('d'), key(Enter)], Action::GoTo, "go to a day or a range", "day/range"),
    bind(&[ch('w')], Action::Wider, "a day, 7 days, 30 days, 365 days", "wider"),
    bind(&[ch('v'), ch(' ')], Action::NextView, "hours, days, students, terms, devices", "view"),
    bind(&[ch('V')], Action::PreviousView, "the previous view", ""),
);

pub(crate) static LOG: Table = table!(
    "Log",
    bind(&[ch('f')], Action::Follow, "follow new lines", "follow"),
    bind(&[ch('r')], Action::Kind, "the next result, or all results", "result"),
    bind(&[ch('m')], Action::More, "load older lines", "more"),
);

pub(crate) static AUDIT: Table = table!(
    "Audit",
    bind(&[ch('v')], Action::Verify, "verify that no record was changed or removed", "verify"),
    bind(&[ch('m')], Action::More, "load older records", "more"),
);

pub(crate) static SOURCES: Table = table!(
    "Sources",
    bind(&[ch('n')], Action::New, "add a source, and fetch it", "new"),
    bind(&[ch('e')], Action::Edit, "edit", "edit"),
    bind(&[ch('f')], Action::Fetch, "fetch now, and tell what arrived", "fetch"),
    bind(&[ch(' ')], Action::Toggle, "pause, or fetch again", "pause"),
    bind(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
);

#[cfg(test)]
pub(crate) mod tests;
