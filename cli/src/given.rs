//! The arguments of a command as they were given, for messages that name them, and the names that are most like them.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use tidings_client::shown::escape;

/// The maximum length of a value in a message, in characters.
const VALUE_MAX: usize = 60;
/// The similarity above which a name is suggested in place of an unknown one.
const SIMILAR: f64 = 0.5;

/// The fields of operations whose arguments have other names.
const OTHER_NAMES: [(&str, &[&str]); 16] = [
    ("_id", &["id"]),
    ("expires", &["expires", "expiry"]),
    ("img", &["img", "image"]),
    ("kind", &["kind", "type"]),
    ("new_info_1", &["first"]),
    ("new_info_2", &["second"]),
    ("new_nickname", &["nickname"]),
    ("notice", &["notice", "id"]),
    ("num", &["limit"]),
    ("post", &["text", "post"]),
    ("prefix", &["id"]),
    ("scopes", &["scope", "role"]),
    ("search", &["text"]),
    ("user_id", &["id"]),
    ("visible_from", &["from"]),
    ("visible_until", &["until"]),
];

/// The arguments of a command, and the ones that were given.
pub(crate) struct Given {
    command: Command,
    matches: ArgMatches,
}

impl Given {
    /// Returns the arguments of the innermost command.
    pub(crate) fn of(program: &Command, matches: &ArgMatches) -> Self {
        let (mut command, mut inner) = (program, matches);
        while let Some((name, matches)) = inner.subcommand() {
            let Some(found) = command.find_subcommand(name) else { break };
            (command, inner) = (found, matches);
        }
        Self { command: command.clone(), matches: inner.clone() }
    }

    /// Returns the argument that a field of an operation comes from, and the value that was given for it.
    pub(crate) fn argument(&self, field: &str) -> Option<(String, String)> {
        let others =
            OTHER_NAMES.iter().find(|(name, _)| *name == field).map_or(&[][..], |(_, others)| others);
        let names = std::iter::once(field).chain(others.iter().copied());
        names.into_iter().find_map(|name| self.named(name))
    }

    /// Returns the only argument that was given a value, or the first and the last day of a period: what a rule is about that
    /// names no field.
    pub(crate) fn only_arguments(&self) -> Vec<(String, String)> {
        let has_value = |argument: &&Arg| !argument.is_global_set() && argument.get_action().takes_values();
        let own = self.command.get_arguments().filter(has_value);
        let given: Vec<_> = own.filter_map(|argument| Some((argument, self.value(argument)?))).collect();
        let is_period =
            given.iter().all(|(argument, _)| ["from", "to"].contains(&argument.get_id().as_str()));
        if given.len() > 1 && !is_period {
            return Vec::new();
        }
        given.into_iter().map(|(_, named)| named).collect()
    }

    fn named(&self, name: &str) -> Option<(String, String)> {
        let known = |argument: &&Arg| {
            let long = argument.get_long().map(|long| long.replace('-', "_"));
            argument.get_id() == name || long.as_deref() == Some(name)
        };
        self.value(self.command.get_arguments().find(known)?)
    }

    /// Returns the name of an argument and its value, if it was given one.
    fn value(&self, argument: &Arg) -> Option<(String, String)> {
        let id = argument.get_id().as_str();
        if self.matches.value_source(id) != Some(ValueSource::CommandLine) {
            return None;
        }
        let values = self.matches.try_get_raw(id).ok().flatten()?;
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        Some((argument.to_string(), shown(&values.join(", "))))
    }
}

/// Returns a value in quotes, in one line that is not too long.
pub(crate) fn shown(value: &str) -> String {
    let line = escape::line(value);
    if line.chars().count() <= VALUE_MAX {
        return format!("'{line}'");
    }
    let start: String = line.chars().take(VALUE_MAX).collect();
    format!("'{start}…'")
}

/// Returns the similarity of two names, up to 1; `None` if one is hardly a typing error of the other.
pub(crate) fn similarity(typed: &str, known: &str) -> Option<f64> {
    Some(strsim::normalized_damerau_levenshtein(typed, known)).filter(|similarity| *similarity > SIMILAR)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    fn argument(arguments: &[&str], field: &str) -> Option<(String, String)> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(arguments.iter().copied()).unwrap();
        Given::of(&command, &matches).argument(field)
    }

    #[test]
    fn the_argument_of_a_field_is_found_with_its_value() {
        let id = "6af902740000000100000005";
        for (arguments, field, expected) in [
            (&["tidings", "post", "list", "--limit", "0"][..], "limit", ("--limit <N>", "'0'")),
            (&["tidings", "notice", "edit", id, "--until", "x"], "visible_until", ("--until <D>", "'x'")),
            (&["tidings", "search", "run", "a\nb"], "search", ("<TEXT>", "'a\\nb'")),
            (&["tidings", "post", "edit", id, "--tag", "a", "--tag", "b"], "tag", ("--tag <T>", "'a, b'")),
            (&["tidings", "post", "edit", id, "--end-date", "x"], "end_date", ("--end-date <D>", "'x'")),
            (&["tidings", "member", "nickname", "ann", "x"], "new_nickname", ("<NICKNAME>", "'x'")),
            (&["tidings", "feedback", "send", "x", "--type", "y"], "type", ("--type <T>", "'y'")),
            (&["tidings", "front", "set", "--first", "x"], "new_info_1", ("--first <TEXT>", "'x'")),
            (&["tidings", "search", "run", "a", "--limit", "9"], "num", ("--limit <N>", "'9'")),
        ] {
            let (name, value) = argument(arguments, field).unwrap_or_else(|| panic!("{arguments:?}"));
            assert_eq!((&*name, &*value), expected, "{arguments:?}");
        }
        assert_eq!(argument(&["tidings", "post", "list"], "limit"), None);
        let long = "x".repeat(100);
        assert_eq!(shown(&long).chars().count(), VALUE_MAX + 3);
    }
}
