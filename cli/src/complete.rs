//! The completion of commands in a shell. The scripts of the shells are short: they ask the program itself, with the hidden
//! command `__complete`, which knows the commands and finds ids and names where the command would work.
//!
//! Completing must not disturb: it asks no questions, changes nothing, and on any error finds nothing.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::args::Cli;
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
    ("member sessions", "id", Kind::Member),
    ("member sign-out", "id", Kind::Member),
    ("member reset-otp", "id", Kind::Member),
    ("member export", "id", Kind::Member),
    ("member remove", "id", Kind::Member),
    ("member list", "after", Kind::Member),
    ("admin grant", "id", Kind::Member),
    ("admin revoke", "id", Kind::Member),
    ("admin check", "id", Kind::Member),
    ("blacklist add", "id", Kind::Member),
    ("blacklist remove", "id", Kind::Member),
    ("analysis log", "member", Kind::Member),
    ("audit list", "actor", Kind::Member),
    ("key revoke", "key", Kind::Key),
    ("webhook remove", "webhook", Kind::Webhook),
    ("webhook rotate", "webhook", Kind::Webhook),
    ("webhook test", "webhook", Kind::Webhook),
    ("webhook retry", "delivery", Kind::Delivery),
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

/// The arguments of `__complete`.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The place of the word to complete, from 0
    index: usize,
    /// The words of the command line, the program first
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// Prints the completions of a word, each with its description after a tab.
pub(crate) fn run(Complete { index, words }: &Complete) -> Result<ExitCode, Failure> {
    let (words, index, cut) = joined(words, *index);
    // The word itself says nothing about where the command works.
    let mut command = with_completers(Cli::command(), words.get(..index).unwrap_or_default());
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

/// Joins the words that bash separates at `=`. Returns them with the place of the word to complete, and how much of its
/// beginning bash does not replace.
fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, usize, usize) {
    let (mut joined, mut place, mut cut): (Vec<OsString>, _, _) = (Vec::new(), 0, 0);
    let mut rest = words.iter().take(index + 1).peekable();
    while let Some(word) = rest.next() {
        place = joined.len();
        cut = 0;
        let is_option = word.to_str().is_some_and(|word| word.starts_with("--") && word.len() > 2);
        if is_option && rest.next_if(|next| *next == OsStr::new("=")).is_some() {
            let mut whole = word.clone();
            whole.push("=");
            cut = whole.len();
            whole.push(rest.next().map_or(OsStr::new(""), OsString::as_os_str));
            joined.push(whole);
        } else {
            joined.push(word.clone());
        }
    }
    (joined, place, cut)
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
    use super::*;

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
