//! The keys of each action: those of the tables, or those that the administrator chose.

use std::collections::HashMap;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    ANALYTICS, AUDIT, Action, Binding, Chord, EDITOR, FEEDBACK, GLOBAL, HELP, INPUT, LIST, LOG, MEMBERS,
    NOTICES, OVERVIEW, POST_EDITOR, POSTS, QUESTION, SCROLL, SOURCES, Table,
};

/// The tables whose keys can be changed. The keys of dialogs and of fields cannot.
pub(crate) static TABLES: [&Table; 14] = [
    &GLOBAL,
    &SCROLL,
    &LIST,
    &OVERVIEW,
    &NOTICES,
    &EDITOR,
    &FEEDBACK,
    &MEMBERS,
    &POSTS,
    &POST_EDITOR,
    &ANALYTICS,
    &LOG,
    &AUDIT,
    &SOURCES,
];

/// The tables that apply at the same time.
pub(crate) static TOGETHER: [&[&Table]; 14] = [
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
    &[&POST_EDITOR],
    &[&INPUT],
    &[&HELP],
    &[&QUESTION],
];

/// The keys of each action.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keymap(Arc<HashMap<(&'static str, Action), Vec<Chord>>>);

impl Keymap {
    /// Returns the keys with changes: each has the names of a table and of an action, and the names of the keys.
    ///
    /// # Errors
    /// The number of the change that is wrong, and why.
    pub(crate) fn with(changes: &[(&str, &str, &[String])]) -> Result<Self, (usize, String)> {
        let mut keys = HashMap::new();
        let mut sources = HashMap::new();
        for (number, (table, action, names)) in changes.iter().enumerate() {
            let wrong = |rule: String| (number, rule);
            let (table, binding) = find_action(table, action).map_err(wrong)?;
            let chords: Result<Vec<Chord>, String> = names.iter().map(|name| chord(table, name)).collect();
            let chords = chords.map_err(wrong)?;
            if chords.is_empty() {
                return Err(wrong("it needs a key".to_owned()));
            }
            sources.insert((table.title, binding.action), number);
            keys.insert((table.title, binding.action), chords);
        }
        let keymap = Self(Arc::new(keys));
        match keymap.doubled() {
            None => Ok(keymap),
            Some((chord, one, other)) => {
                // One of the two was changed, as the keys of the tables differ from each other.
                let place = |(table, binding): Place| sources.get(&(table.title, binding.action)).copied();
                let (number, other) = place(other)
                    .map(|number| (number, one))
                    .or(place(one).map(|number| (number, other)))
                    .unwrap_or((0, one));
                Err((number, format!("{} is already the key of {}", chord.name(), full_name(other))))
            }
        }
    }

    /// Returns the keys of an action.
    pub(crate) fn chords<'k>(&'k self, table: &Table, binding: &'k Binding) -> &'k [Chord] {
        self.0.get(&(table.title, binding.action)).map_or(binding.chords, Vec::as_slice)
    }

    /// Returns the action of a key in the first table that binds it.
    pub(crate) fn find(&self, tables: &[&'static Table], event: &KeyEvent) -> Option<Action> {
        let chord = Chord::of(event);
        let mut keys = tables.iter().flat_map(|table| table.keys.iter().map(move |binding| (table, binding)));
        let found = keys.find(|(table, binding)| self.chords(table, binding).contains(&chord));
        found.map(|(_, binding)| binding.action)
    }

    /// Returns the name of the first key of an action, for texts that name it.
    pub(crate) fn name(&self, table: &Table, action: Action) -> String {
        let binding = table.keys.iter().find(|binding| binding.action == action);
        let chord = binding.and_then(|binding| self.chords(table, binding).first());
        chord.map(|chord| chord.name()).unwrap_or_default()
    }

    /// Returns a key that two actions have at the same time.
    fn doubled(&self) -> Option<(Chord, Place, Place)> {
        TOGETHER.iter().find_map(|tables| {
            let mut seen: HashMap<Chord, Place> = HashMap::new();
            for (table, binding) in
                tables.iter().flat_map(|t| t.keys.iter().map(move |binding| (*t, binding)))
            {
                for chord in self.chords(table, binding) {
                    if let Some(before) = seen.insert(*chord, (table, binding)) {
                        return Some((*chord, before, (table, binding)));
                    }
                }
            }
            None
        })
    }
}

/// An action in a table.
type Place = (&'static Table, &'static Binding);

fn full_name((table, binding): Place) -> String {
    match binding.action.name() {
        Some(action) => format!("{}.{action}", table.name()),
        None => format!("“{}” in {}", binding.help, table.name()),
    }
}

fn find_action(table: &str, action: &str) -> Result<Place, String> {
    let Some(found) = TABLES.iter().find(|one| one.name() == table) else {
        let names: Vec<_> = TABLES.iter().map(|table| table.name()).collect();
        return Err(format!("there are no keys of {table:?}; there are those of {}", names.join(", ")));
    };
    let binding = found.keys.iter().find(|binding| binding.action.name().as_deref() == Some(action));
    binding.map(|binding| (*found, binding)).ok_or_else(|| {
        let names: Vec<_> = found.keys.iter().filter_map(|binding| binding.action.name()).collect();
        format!("there is no action {action:?} of {table}; there are {}", names.join(", "))
    })
}

/// Reads the name of a key for an action of a table.
fn chord(table: &Table, name: &str) -> Result<Chord, String> {
    let read = Chord::parse(name).ok_or_else(|| {
        format!(
            "there is no key {name:?}; keys look like a, A, Ctrl-S, Alt-x, Space, Enter, PgUp, Left or F2"
        )
    })?;
    let is_typed = matches!(read, Chord(KeyCode::Char(_), held) if !held.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT));
    if is_typed && table.is_editor() {
        return Err(format!(
            "{name} is typed into the text: the editor needs a key with Ctrl or Alt, or F1 to F12"
        ));
    }
    Ok(read)
}

impl Table {
    /// Returns the name of the table in the settings.
    pub(crate) fn name(&self) -> String {
        self.title.to_lowercase().replace(' ', "-")
    }

    /// Returns whether its keys are pressed while a text is edited.
    fn is_editor(&self) -> bool {
        [EDITOR.title, POST_EDITOR.title].contains(&self.title)
    }
}

impl Chord {
    /// Reads the name of a key, such as `Ctrl-S`, `Shift-Left`, `Space`, `F5` or `G`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        const HELD: [(&str, KeyModifiers); 3] =
            [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];
        let (mut held, mut rest) = (KeyModifiers::NONE, name);
        while let Some((prefix, key)) = HELD.iter().find(|(prefix, _)| {
            rest.len() > prefix.len()
                && rest.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
        }) {
            held |= *key;
            rest = &rest[prefix.len()..];
        }
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            let c = match c {
                c if c.is_control() => return None,
                c if held.contains(KeyModifiers::CONTROL) => c.to_ascii_lowercase(),
                c if held.contains(KeyModifiers::SHIFT) => c.to_ascii_uppercase(),
                c => c,
            };
            return Some(Self(KeyCode::Char(c), held - KeyModifiers::SHIFT));
        }
        let code = match rest.to_ascii_lowercase().as_str() {
            "space" => KeyCode::Char(' '),
            "enter" => KeyCode::Enter,
            "tab" if held == KeyModifiers::SHIFT => return Some(Self(KeyCode::BackTab, KeyModifiers::NONE)),
            "tab" => KeyCode::Tab,
            "backspace" => KeyCode::Backspace,
            "delete" => KeyCode::Delete,
            "insert" => KeyCode::Insert,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            function => {
                let number = function.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n))?;
                KeyCode::F(number)
            }
        };
        Some(Self(code, held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(changes: &[(&str, &str, &str)]) -> Result<Keymap, (usize, String)> {
        let keys: Vec<Vec<String>> =
            changes.iter().map(|(_, _, keys)| keys.split_whitespace().map(str::to_owned).collect()).collect();
        let changes: Vec<_> = changes
            .iter()
            .zip(&keys)
            .map(|((table, action, _), keys)| (*table, *action, &keys[..]))
            .collect();
        Keymap::with(&changes)
    }

    #[test]
    fn the_keys_of_the_tables_differ_from_each_other() {
        assert!(Keymap::default().doubled().is_none());
    }

    #[test]
    fn every_name_of_a_key_is_read() {
        for name in ["Ctrl-S", "Space", "PgUp", "F1", "F12", "G", "g", "?", "Shift-Left", "Alt-x", "-", "가"]
        {
            let chord = Chord::parse(name).unwrap();
            assert_eq!(Chord::parse(&chord.name().replace('←', "Left")), Some(chord), "{name}");
        }
        assert_eq!(Chord::parse("ctrl-alt-S").unwrap().name(), "Ctrl-Alt-s".replace('s', "S"));
        assert_eq!(Chord::parse("shift-tab").unwrap().name(), "Shift-Tab");
        assert_eq!(Chord::parse("Shift-a"), Chord::parse("A"));
        for wrong in ["", "ctrl-", "F13", "F0", "hyper-a", "ab", "\n"] {
            assert_eq!(Chord::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_changed_key_replaces_those_of_the_table() {
        let keymap = changed(&[("notices", "new", "a Insert")]).unwrap();
        let find = |code| keymap.find(&[&NOTICES, &GLOBAL], &KeyEvent::from(code));
        assert_eq!(find(KeyCode::Char('a')), Some(Action::New));
        assert_eq!(find(KeyCode::Insert), Some(Action::New));
        assert_eq!(find(KeyCode::Char('n')), None);
        assert_eq!(keymap.name(&NOTICES, Action::New), "a");
        // Two keys can be exchanged.
        assert!(changed(&[("notices", "new", "e"), ("notices", "edit", "n")]).is_ok());
    }

    #[test]
    fn a_wrong_change_is_refused_with_its_number() {
        for (changes, number, rule) in [
            (vec![("notices", "nw", "a")], 0, "there is no action \"nw\" of notices; there are new, edit"),
            (
                vec![("nothing", "new", "a")],
                0,
                "there are no keys of \"nothing\"; there are those of everywhere",
            ),
            (vec![("notices", "new", "")], 0, "it needs a key"),
            (vec![("notices", "new", "Hyper-a")], 0, "there is no key \"Hyper-a\"; keys look like"),
            (
                vec![("log", "follow", "x"), ("notices", "new", "x")],
                1,
                "x is already the key of notices.remove",
            ),
            (vec![("everywhere", "quit", "n")], 0, "n is already the key of notices.new"),
            (vec![("notices", "new", "a a")], 0, "a is already the key of notices.new"),
            (vec![("notices", "new", "1")], 0, "1 is already the key of everywhere.overview"),
            (vec![("notices", "new", "Esc")], 0, "there is no key \"Esc\""),
            (vec![("editor", "save", "s")], 0, "s is typed into the text"),
            (vec![("everywhere", "back", "b")], 0, "there is no action \"back\" of everywhere"),
        ] {
            let (found, said) = changed(&changes).unwrap_err();
            assert_eq!(found, number, "{changes:?}");
            assert!(said.starts_with(rule), "{said}");
        }
    }

    #[test]
    fn the_documentation_names_every_action() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/terminal-ui.md")).unwrap();
        for table in TABLES {
            let names: Vec<String> = table
                .keys
                .iter()
                .filter_map(|binding| Some(format!("`{}`", binding.action.name()?)))
                .collect();
            let row = format!("| `{}` | {} |", table.name(), names.join(" "));
            assert!(page.contains(&row), "docs/terminal-ui.md lacks\n{row}");
        }
    }
}
