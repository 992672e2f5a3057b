//! The key bindings: a table for all screens, one each for lists, scrolling and the editor, and one for each screen.
//! Key handling, the help and the footer all read these tables.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

mod action;
pub(crate) mod keymap;

pub(crate) use action::Action;
pub(crate) use keymap::Keymap;

/// A key with its modifiers.
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
    /// Returns the chord of a pressed key. The character of a letter already reflects Shift.
    pub(crate) fn of(event: &KeyEvent) -> Self {
        let held = match event.code {
            KeyCode::Char(_) | KeyCode::BackTab => event.modifiers - KeyModifiers::SHIFT,
            _ => event.modifiers,
        };
        Self(event.code, held & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT))
    }

    /// Returns the name of the chord in the help.
    pub(crate) fn name(self) -> String {
        let name = match self.0 {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) if self.1.contains(KeyModifiers::CONTROL) => c.to_ascii_uppercase().to_string(),
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
        let held =
            [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")];
        let held: String =
            held.iter().filter(|(key, _)| self.1.contains(*key)).map(|(_, name)| *name).collect();
        held + &name
    }
}

/// An action and the keys that are bound to it.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) chords: &'static [Chord],
    pub(crate) action: Action,
    /// The description of the action, for the help.
    pub(crate) help: &'static str,
    /// The description in one word, for the footer; `""` excludes the binding from the footer.
    pub(crate) short: &'static str,
}

const fn binding(
    chords: &'static [Chord],
    action: Action,
    help: &'static str,
    short: &'static str,
) -> Binding {
    Binding { chords, action, help, short }
}

/// A table of bindings with a title.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [Binding],
}

/// The keys of every screen, except while text is being typed.
pub(crate) static GLOBAL: Table = Table {
    title: "Everywhere",
    keys: &[
        binding(&[ch('?'), key(KeyCode::F(1))], Action::Help, "the keys of this screen", "help"),
        binding(&[ch('1')], Action::Screen(0), "Overview", ""),
        binding(&[ch('2')], Action::Screen(1), "Notices", ""),
        binding(&[ch('3')], Action::Screen(2), "Feedback", ""),
        binding(&[ch('4')], Action::Screen(3), "Members", ""),
        binding(&[ch('5')], Action::Screen(4), "Posts", ""),
        binding(&[ch('6')], Action::Screen(5), "Analytics", ""),
        binding(&[ch('7')], Action::Screen(6), "Log", ""),
        binding(&[ch('8')], Action::Screen(7), "Audit", ""),
        binding(&[key(KeyCode::Tab)], Action::NextScreen, "the next screen", ""),
        binding(&[key(KeyCode::BackTab)], Action::PreviousScreen, "the previous screen", ""),
        binding(&[key(KeyCode::Esc)], Action::Back, "back", ""),
        binding(&[ctrl('l'), key(KeyCode::F(5))], Action::Refresh, "reload and redraw", ""),
        binding(&[ch('O')], Action::SecondFactor, "your second factor on a server", ""),
        binding(&[ctrl('z')], Action::Suspend, "suspend (fg resumes)", ""),
        binding(&[ch('q'), ctrl('c')], Action::Quit, "quit", "quit"),
    ],
};

/// The keys in a list or a text.
pub(crate) static SCROLL: Table = Table {
    title: "Moving",
    keys: &[
        binding(&[key(KeyCode::Up), ch('k')], Action::Up, "up", ""),
        binding(&[key(KeyCode::Down), ch('j')], Action::Down, "down", ""),
        binding(&[key(KeyCode::PageUp), ctrl('b')], Action::PageUp, "a page up", ""),
        binding(&[key(KeyCode::PageDown), ctrl('f')], Action::PageDown, "a page down", ""),
        binding(&[key(KeyCode::Home), ch('g')], Action::Top, "the first row", ""),
        binding(&[key(KeyCode::End), ch('G')], Action::Bottom, "the last row", ""),
        binding(&[ch('/')], Action::Filter, "filter", "filter"),
        binding(&[ch('E')], Action::Export, "export the table as CSV or JSON", "export"),
        binding(&[ch('y')], Action::Copy, "copy", ""),
    ],
};

/// The keys in a list whose items have a text.
pub(crate) static LIST: Table = Table {
    title: "Reading",
    keys: &[
        binding(
            &[key(KeyCode::Enter), key(KeyCode::Right), ch('l')],
            Action::Open,
            "read what is selected",
            "read",
        ),
        binding(&[key(KeyCode::Left), ch('h')], Action::Back, "back to the list", ""),
    ],
};

/// The keys while a line is being typed.
pub(crate) static INPUT: Table = Table {
    title: "Typing",
    keys: &[
        binding(&[key(KeyCode::Enter)], Action::Open, "accept", "accept"),
        binding(&[key(KeyCode::Esc)], Action::Back, "cancel", "cancel"),
        binding(&[key(KeyCode::Up)], Action::Up, "up", ""),
        binding(&[key(KeyCode::Down)], Action::Down, "down", ""),
        binding(&[key(KeyCode::PageUp)], Action::PageUp, "a page up", ""),
        binding(&[key(KeyCode::PageDown)], Action::PageDown, "a page down", ""),
        binding(&[ctrl('c')], Action::Quit, "quit", ""),
    ],
};

/// The keys in the help.
pub(crate) static HELP: Table = Table {
    title: "Help",
    keys: &[
        binding(
            &[key(KeyCode::Esc), ch('?'), ch('q'), key(KeyCode::F(1)), key(KeyCode::Enter)],
            Action::Back,
            "close",
            "close",
        ),
        binding(&[key(KeyCode::Up), ch('k')], Action::Up, "up", ""),
        binding(&[key(KeyCode::Down), ch('j')], Action::Down, "down", ""),
        binding(&[key(KeyCode::PageUp)], Action::PageUp, "a page up", ""),
        binding(&[key(KeyCode::PageDown), ch(' ')], Action::PageDown, "a page down", ""),
        binding(&[ctrl('c')], Action::Quit, "quit", ""),
    ],
};

/// The keys while a question is open.
pub(crate) static QUESTION: Table =
    Table { title: "Question", keys: &[binding(&[key(KeyCode::Esc), ch('n')], Action::No, "no", "no")] };

pub(crate) static OVERVIEW: Table = Table {
    title: "Overview",
    keys: &[
        binding(&[ch('r')], Action::Refresh, "reload", "refresh"),
        binding(&[key(KeyCode::Up), ch('k')], Action::Up, "up in the log", ""),
        binding(&[key(KeyCode::Down), ch('j')], Action::Down, "down in the log", ""),
        binding(&[key(KeyCode::Enter)], Action::Open, "open the log", "log"),
        binding(&[ch('/')], Action::Filter, "filter the newest lines of the log", "filter"),
    ],
};

pub(crate) static NOTICES: Table = Table {
    title: "Notices",
    keys: &[
        binding(&[ch('n')], Action::New, "write a notice", "new"),
        binding(&[ch('e')], Action::Edit, "edit, or resume a draft", "edit"),
        binding(&[ch(' ')], Action::Toggle, "show or hide", "show/hide"),
        binding(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
        binding(&[ch('p')], Action::Publish, "publish a draft of all administrators (asks)", ""),
        binding(&[ch('s')], Action::Sort, "sort by date, title, views or state", "sort"),
    ],
};

pub(crate) static EDITOR: Table = Table {
    title: "Editor",
    keys: &[
        binding(&[ctrl('s')], Action::Save, "save", "save"),
        binding(&[key(KeyCode::Esc)], Action::Back, "close (asks, and can save a draft)", "close"),
        binding(
            &[ctrl('o')],
            Action::Placing,
            "schedule: dates, topic, pinned, members only, and back",
            "schedule",
        ),
        binding(&[ctrl('p')], Action::Preview, "preview, and back", "preview"),
        binding(&[ctrl('t')], Action::Toggle, "shown or hidden once saved", "show/hide"),
        binding(&[key(KeyCode::Tab), key(KeyCode::BackTab)], Action::NextField, "title, text", "field"),
        binding(&[ctrl('c')], Action::CopyText, "copy what is selected", ""),
        binding(&[ctrl('x')], Action::CutText, "cut what is selected", ""),
        binding(&[ctrl('v')], Action::PasteText, "paste", ""),
        binding(&[ctrl('z')], Action::Suspend, "suspend (fg resumes)", ""),
        binding(&[key(KeyCode::F(1))], Action::Help, "these keys", ""),
        binding(
            &[Chord(KeyCode::Left, KeyModifiers::SHIFT), Chord(KeyCode::Right, KeyModifiers::SHIFT)],
            Action::Type,
            "select; also by words with Ctrl, and with Home and End",
            "",
        ),
        binding(&[ctrl('u')], Action::Type, "undo; in the title, clear it", ""),
        binding(&[ctrl('r')], Action::Type, "redo", ""),
        binding(&[ctrl('w')], Action::Type, "delete the word before", ""),
        binding(&[ctrl('k')], Action::Type, "delete to the end of the line", ""),
    ],
};

pub(crate) static FEEDBACK: Table = Table {
    title: "Feedback",
    keys: &[
        binding(&[ch(' '), ch('d')], Action::Done, "done, or open again", "done/open"),
        binding(&[ch('a')], Action::Toggle, "open items, or all", "all"),
        binding(&[ch('t')], Action::Kind, "the next type, or all types", "type"),
        binding(&[ch('N')], Action::GoTo, "go to the notice it refers to", ""),
    ],
};

pub(crate) static MEMBERS: Table = Table {
    title: "Members",
    keys: &[
        binding(&[ch('b')], Action::Blacklist, "add to or remove from the blacklist (asks)", "blacklist"),
        binding(&[ch('a')], Action::Admin, "grant or revoke administrator (asks)", "admin"),
        binding(&[ch('f')], Action::Kind, "administrators, blacklisted members, or all", "state"),
        binding(&[ch('P')], Action::Password, "set a new password (asks)", ""),
        binding(&[ch('R')], Action::Reset, "reset the measured interest (asks)", "reset"),
        binding(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
        binding(&[ch('v')], Action::NextView, "facts, likes, views, searches, feeds, log", "view"),
        binding(&[ch('V')], Action::PreviousView, "the previous view", ""),
        binding(&[ch('L')], Action::GoTo, "go to the member's log", ""),
    ],
};

pub(crate) static POSTS: Table = Table {
    title: "Posts",
    keys: &[
        binding(&[ch('n')], Action::New, "add a post", "new"),
        binding(&[ch('e')], Action::Edit, "edit", "edit"),
        binding(&[ch('x'), key(KeyCode::Delete)], Action::Remove, "remove (asks)", "remove"),
        binding(&[ch('f')], Action::Kind, "popular posts, or the newest", "feed"),
        binding(&[ch('t')], Action::GoTo, "the newest of a topic or tag (type its name)", "topic"),
        binding(&[ch('r')], Action::Refresh, "reload the list", ""),
    ],
};

pub(crate) static POST_EDITOR: Table = Table {
    title: "Post editor",
    keys: &[
        binding(&[ctrl('s')], Action::Save, "save", "save"),
        binding(&[key(KeyCode::Esc)], Action::Back, "close (asks)", "close"),
        binding(&[key(KeyCode::Tab)], Action::NextField, "the next field", "field"),
        binding(&[key(KeyCode::BackTab)], Action::PreviousField, "the previous field", ""),
        binding(&[ctrl('z')], Action::Suspend, "suspend (fg resumes)", ""),
        binding(&[key(KeyCode::F(1))], Action::Help, "these keys", ""),
        binding(&[ctrl('u')], Action::Type, "clear a field; in the text, undo", ""),
        binding(&[ctrl('r')], Action::Type, "redo in the text", ""),
    ],
};

pub(crate) static ANALYTICS: Table = Table {
    title: "Analytics",
    keys: &[
        binding(
            &[key(KeyCode::Left), ch('h')],
            Action::Earlier,
            "a day (or a whole range) earlier",
            "earlier",
        ),
        binding(&[key(KeyCode::Right), ch('l')], Action::Later, "a day (or a whole range) later", "later"),
        binding(&[ch('t')], Action::Today, "today", "today"),
        binding(&[ch('d'), key(KeyCode::Enter)], Action::GoTo, "go to a day or a range", "day/range"),
        binding(&[ch('w')], Action::Wider, "a day, 7 days, 30 days, 365 days", "wider"),
        binding(&[ch('v'), ch(' ')], Action::NextView, "hours, days, students, terms, devices", "view"),
        binding(&[ch('V')], Action::PreviousView, "the previous view", ""),
    ],
};

pub(crate) static LOG: Table = Table {
    title: "Log",
    keys: &[
        binding(&[ch('f')], Action::Follow, "follow new lines", "follow"),
        binding(&[ch('r')], Action::Kind, "the next result, or all results", "result"),
        binding(&[ch('m')], Action::More, "load older lines", "more"),
    ],
};

pub(crate) static AUDIT: Table = Table {
    title: "Audit",
    keys: &[
        binding(&[ch('v')], Action::Verify, "verify that no record was changed or removed", "verify"),
        binding(&[ch('m')], Action::More, "load older records", "more"),
    ],
};

#[cfg(test)]
mod tests;
