//! The completion of commands in a shell. The scripts of the shells are short: they ask the program itself, with the hidden
//! command `__complete`, which knows the commands and finds ids and names where the command would work.
//!
//! Completing must not disturb: it asks no questions, changes nothing, and on any error finds nothing.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::failure::Failure;
use crate::output;

mod find;

use find::Kind;

/// The scripts of the shells that ask the program.
pub(crate) const SCRIPTS: [(&str, &str); 3] = [
    ("bash", include_str!("complete/tidings.bash")),
    ("zsh", include_str!("complete/tidings.zsh")),
    ("fish", include_str!("complete/tidings.fish")),
];

/// The arguments that are ids or names of records: the command, the name of the argument, and the kind of the record.
const ARGUMENTS: &[(&str, &str, Kind)] = &[
    ("", "acting", Kind::Member),
    ("", "profile", Kind::Profile),
    ("profile remove", "name", Kind::Profile),
    ("init", "admin", Kind::Member),
    ("login", "id", Kind::Member),
    ("member sign-in", "id", Kind::Member),
    ("member show", "id", Kind::Member),
    ("member reset", "id", Kind::Member),
    ("member lists", "id", Kind::Member),
    ("member nickname", "id", Kind::Member),
    ("member auto-login", "id", Kind::Member),
    ("member password", "id", Kind::Member),
    ("member reset-password", "id", Kind::Member),
    ("member forgotten", "id", Kind::Member),
    ("member sessions", "id", Kind::Member),
    ("member sign-out", "id", Kind::Member),
    ("member reset-otp", "id", Kind::Member),
    ("member otp", "id", Kind::Member),
    ("member remove-passkey", "id", Kind::Passkey),
    ("member reset-sign-ins", "id", Kind::Member),
    ("member role", "id", Kind::Member),
    ("member role", "scopes", Kind::Scope),
    ("member export", "id", Kind::Member),
    ("member remove", "id", Kind::Member),
    ("member list", "after", Kind::Member),
    ("invitation add", "role", Kind::Scope),
    ("invitation remove", "id", Kind::Invitation),
    ("admin grant", "id", Kind::Member),
    ("admin revoke", "id", Kind::Member),
    ("admin check", "id", Kind::Member),
    ("blacklist add", "id", Kind::Member),
    ("blacklist remove", "id", Kind::Member),
    ("analysis log", "member", Kind::Member),
    ("audit list", "actor", Kind::Member),
    ("key add", "scope", Kind::Scope),
    ("key revoke", "key", Kind::Key),
    ("webhook remove", "webhook", Kind::Webhook),
    ("webhook rotate", "webhook", Kind::Webhook),
    ("webhook test", "webhook", Kind::Webhook),
    ("webhook retry", "delivery", Kind::Delivery),
    ("mail retry", "mail", Kind::Mail),
    ("source show", "source", Kind::Source),
    ("source edit", "source", Kind::Source),
    ("source edit", "topic", Kind::Topic),
    ("source add", "topic", Kind::Topic),
    ("source remove", "source", Kind::Source),
    ("source pause", "source", Kind::Source),
    ("source fetch", "source", Kind::Source),
    ("feed source", "source", Kind::Source),
    ("notice show", "id", Kind::Notice),
    ("notice edit", "id", Kind::Notice),
    ("notice remove", "id", Kind::Notice),
    ("notice reads", "id", Kind::Notice),
    ("notice list", "topic", Kind::Topic),
    ("notice add", "topic", Kind::Topic),
    ("notice edit", "topic", Kind::Topic),
    ("notice draft save", "draft", Kind::Draft),
    ("notice draft save", "notice", Kind::Notice),
    ("notice draft save", "topic", Kind::Topic),
    ("notice draft show", "id", Kind::Draft),
    ("notice draft remove", "id", Kind::Draft),
    ("notice draft publish", "id", Kind::Draft),
    ("feedback send", "notice", Kind::Notice),
    ("feedback done", "id", Kind::Feedback),
    ("post edit", "id", Kind::Post),
    ("post show", "id", Kind::Post),
    ("post remove", "id", Kind::Post),
    ("post view", "id", Kind::Post),
    ("post like", "id", Kind::Post),
    ("post unlike", "id", Kind::Post),
    ("post hide", "id", Kind::Post),
    ("post list", "topic", Kind::Topic),
    ("post add", "topic", Kind::Topic),
    ("post edit", "topic", Kind::Topic),
    ("feed topic", "name", Kind::Topic),
    ("search run", "category", Kind::Topic),
];

/// How a shell passes the words of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Words {
    /// As they are typed, and separated at some characters.
    Bash,
    /// Without their quotes, except the word to complete.
    Zsh,
    /// As zsh.
    Fish,
}

/// The arguments of `__complete`.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The shell, which decides how words are quoted and separated
    #[arg(long, default_value = "bash")]
    shell: Words,
    /// The place of the word to complete, from 0
    index: usize,
    /// The words of the command line, the program first
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// Prints the completions of a word, each with its description after a tab.
pub(crate) fn run(
    Complete { shell, index, words }: &Complete,
    command: Command,
) -> Result<ExitCode, Failure> {
    let (words, index, cut) = match shell {
        Words::Bash => joined(words, *index),
        Words::Zsh | Words::Fish => (last_unquoted(words, *index), *index, 0),
    };
    // The word itself says nothing about where the command works.
    let mut command = with_completers(command, words.get(..index).unwrap_or_default());
    let here = std::env::current_dir().ok();
    let found = complete(&mut command, words, index, here.as_deref()).unwrap_or_default();
    let shown = found.iter().filter(|candidate| !candidate.is_hide_set());
    let lines: Vec<String> = shown.filter_map(|candidate| line(candidate, cut)).collect();
    if !lines.is_empty() {
        output::print(lines.join("\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the line of a candidate, without its first `cut` bytes; `None` if a shell could not read it.
fn line(candidate: &CompletionCandidate, cut: usize) -> Option<String> {
    let value = candidate.get_value().to_str()?.get(cut..)?;
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.lines().next().unwrap_or_default().replace('\t', " ");
    (!value.contains(['\n', '\t'])).then(|| format!("{value}\t{help}"))
}

/// The characters at which bash separates a word that the shell itself takes as one.
const SEPARATORS: [char; 3] = ['=', ':', '@'];

/// Joins the words that bash separates, without their quotes. Returns them with the place of the word to complete, and how much
/// of its beginning bash does not replace.
fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, usize, usize) {
    let is_separator = |word: &OsString| {
        word.to_str().is_some_and(|word| !word.is_empty() && word.chars().all(|c| SEPARATORS.contains(&c)))
    };
    let (mut joined, mut cut): (Vec<OsString>, _) = (Vec::new(), 0);
    let mut rest = words.iter().take(index + 1).peekable();
    while let Some(word) = rest.next() {
        let mut whole = word.clone();
        cut = 0;
        while let Some(separator) = rest.next_if(|next| !joined.is_empty() && is_separator(next)) {
            whole.push(separator);
            cut = unquoted(&whole).len();
            whole.push(rest.next().map_or(OsStr::new(""), OsString::as_os_str));
        }
        joined.push(unquoted(&whole));
    }
    let place = joined.len().saturating_sub(1);
    (joined, place, cut)
}

/// Returns the words up to the one to complete, which alone has quotes.
fn last_unquoted(words: &[OsString], index: usize) -> Vec<OsString> {
    let unquote =
        |(place, word): (usize, &OsString)| if place == index { unquoted(word) } else { word.clone() };
    words.iter().take(index + 1).enumerate().map(unquote).collect()
}

/// Returns a word without its quotes, of which the last may be open.
fn unquoted(word: &OsStr) -> OsString {
    let Some(text) = word.to_str() else { return word.to_owned() };
    let (mut plain, mut quote) = (String::with_capacity(text.len()), None);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => plain.extend(rest.next()),
            ('\\', Some('"')) => {
                let escaped = rest.next_if(|next| ['$', '`', '"', '\\'].contains(next));
                plain.push(escaped.unwrap_or('\\'));
            }
            (c, _) => plain.push(c),
        }
    }
    plain.into()
}

/// Adds what finds ids and names to the arguments in [`ARGUMENTS`].
fn with_completers(mut command: Command, words: &[OsString]) -> Command {
    for (path, argument, kind) in ARGUMENTS {
        let words = words.to_vec();
        let find = move |current: &OsStr| find::candidates(&words, *kind, current);
        let path: Vec<&str> = path.split_whitespace().collect();
        command = with_completer(command, &path, argument, ArgValueCompleter::new(find));
    }
    command
}

fn with_completer(command: Command, path: &[&str], argument: &str, completer: ArgValueCompleter) -> Command {
    match path {
        [] => command.mut_arg(argument, |argument| argument.add(completer)),
        [name, inner @ ..] => {
            command.mut_subcommand(name, |command| with_completer(command, inner, argument, completer))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_words_that_bash_separates_are_joined() {
        let given = words(&["tidings", "--db", "=", "a.db", "post", "list", "--topic", "=", "Ru"]);
        let expected = words(&["tidings", "--db=a.db", "post", "list", "--topic=Ru"]);
        assert_eq!(joined(&given, 8), (expected, 4, 8));
        let expected = words(&["tidings", "--db=a.db", "post", "list", "--topic="]);
        assert_eq!(joined(&given, 7), (expected, 4, 8));
        assert_eq!(joined(&given, 0), (words(&["tidings"]), 0, 0));
        let given = words(&["tidings", "feed", "topic", "news", ":", "a", ":", "l"]);
        assert_eq!(joined(&given, 7), (words(&["tidings", "feed", "topic", "news:a:l"]), 3, 7));
        assert_eq!(joined(&given, 6), (words(&["tidings", "feed", "topic", "news:a:"]), 3, 7));
        assert_eq!(joined(&given, 3), (words(&["tidings", "feed", "topic", "news"]), 3, 0));
        let given = words(&["tidings", "--profile", "ann", "@", "ti"]);
        assert_eq!(joined(&given, 4), (words(&["tidings", "--profile", "ann@ti"]), 2, 4));
    }

    #[test]
    fn quotes_are_not_part_of_a_word() {
        for (typed, word) in [
            ("\"two w", "two w"),
            ("'two w", "two w"),
            ("two\\ w", "two w"),
            ("\"two words\"", "two words"),
            ("'it'\\''s", "it's"),
            ("\"a \\\"b\\\" \\c $", "a \"b\" \\c $"),
            ("\"news:l", "news:l"),
            ("한글", "한글"),
            ("\\", ""),
        ] {
            assert_eq!(unquoted(OsStr::new(typed)), OsStr::new(word), "{typed}");
        }
        let given = words(&["tidings", "it's", "\"two w"]);
        assert_eq!(last_unquoted(&given, 2), words(&["tidings", "it's", "two w"]));
    }

    #[test]
    fn each_id_of_a_command_is_completed() {
        /// Ids of records that do not exist yet, and names of files and feeds of other systems.
        const NEW: [&str; 2] = ["member sign-up", "member sign-in-up"];
        fn check(command: &Command, path: &str) {
            for argument in command.get_arguments().filter(|argument| argument.get_id() == "id") {
                let is_known =
                    ARGUMENTS.iter().any(|(known, name, _)| *known == path && argument.get_id() == *name);
                assert!(is_known || NEW.contains(&path), "{path}");
            }
            for inner in command.get_subcommands() {
                check(inner, format!("{path} {}", inner.get_name()).trim());
            }
        }
        check(&Cli::command(), "");
        // Each argument of the table exists: otherwise this panics.
        with_completers(Cli::command(), &[]).build();
        let mut table: Vec<_> = ARGUMENTS.iter().map(|(path, name, _)| (path, name)).collect();
        table.sort_unstable();
        assert!(table.windows(2).all(|pair| pair[0] != pair[1]), "{table:?}");
    }

    #[test]
    fn scripts_are_short() {
        assert!(SCRIPTS.iter().all(|(_, script)| script.len() < 60_000));
    }
}
