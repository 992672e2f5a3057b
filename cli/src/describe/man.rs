//! The manual pages, one for each command: what clap knows of it, and the environment, the files, the exit statuses and the
//! other pages.

use std::io;
use std::path::Path;

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use tidings_core::clock::Clock;

use crate::failure::EXIT_STATUSES;
use crate::settings::{self, DATABASE};

/// The variables that are neither settings nor options: their names, and what they do.
const VARIABLES: [(&str, &str); 8] = [
    (
        "TIDINGS_SERVER_KEY",
        "The API key or the access token for the server of --server, instead of a sign-in",
    ),
    ("RUST_LOG", "What the log of serve contains, such as debug [default: info]"),
    ("NO_COLOR", "If it is not empty, the output has no colours, unless --color says otherwise"),
    ("VISUAL", "The editor for notices"),
    ("EDITOR", "The editor for notices, if VISUAL names none [default: vi]"),
    ("TZ", "The time zone in which commands show times, and in which a new database counts days"),
    ("XDG_CONFIG_HOME", "The directory of tidings/profiles.toml [default: ~/.config]"),
    (
        "XDG_STATE_HOME",
        "The directory in which the terminal UI on a server keeps what was read [default: ~/.local/state]",
    ),
];

/// Writes the pages of a program and of its commands.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(command: Command, directory: &Path) -> io::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_with_inner(&command, None, directory)
}

fn write_with_inner(command: &Command, parent: Option<&str>, directory: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    for inner in shown(command) {
        write_with_inner(inner, Some(name), directory)?;
    }
    std::fs::write(directory.join(format!("{name}.1")), page(command, parent)?)
}

/// Returns the commands that have pages.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// Returns the date of the pages: that of `SOURCE_DATE_EPOCH`, which reproducible builds of packages set, or today.
fn date() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let given = given.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let now = || jiff::Timestamp::from_millisecond(Clock::system().now().as_millis()).unwrap_or_default();
    given.unwrap_or_else(now).strftime("%Y-%m-%d").to_string()
}

fn page(command: &Command, parent: Option<&str>) -> io::Result<Vec<u8>> {
    let date = date();
    let source = concat!("tidings ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual("Manual of tidings").source(source).date(&date);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    if let Some(examples) = command.get_after_help() {
        section(&mut roff, "EXAMPLES");
        let lines = examples.to_string();
        roff.control("nf", []);
        roff.text(
            lines.lines().flat_map(|line| [roman(line.to_owned()), Inline::LineBreak]).collect::<Vec<_>>(),
        );
        roff.control("fi", []);
    }
    environment(&mut roff, command, parent.is_none());
    files(&mut roff, parent.is_none());
    section(&mut roff, "EXIT STATUS");
    entries(
        &mut roff,
        EXIT_STATUSES.iter().map(|(status, meaning)| (status.to_string(), (*meaning).to_owned())),
    );
    section(&mut roff, "SEE ALSO");
    let inner = shown(command).filter_map(Command::get_display_name);
    let others = parent.into_iter().chain(parent.filter(|parent| *parent != "tidings").map(|_| "tidings"));
    roff.text(pages(&others.chain(inner).collect::<Vec<_>>()));
    roff.to_writer(&mut page)?;
    Ok(page)
}

fn section(roff: &mut Roff, title: &str) {
    roff.control("SH", [title]);
}

/// Adds names and what they mean.
fn entries(roff: &mut Roff, entries: impl Iterator<Item = (String, String)>) {
    for (name, meaning) in entries {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(meaning)]);
    }
}

/// Returns the names of pages, separated by commas.
fn pages(names: &[&str]) -> Vec<Inline> {
    let last = names.len().saturating_sub(1);
    let with_section = |(place, name): (usize, &&str)| {
        let end = if place == last { "(1)" } else { "(1), " };
        [bold((*name).to_owned()), roman(end)]
    };
    names.iter().enumerate().flat_map(with_section).collect()
}

/// Adds the variables: those of the command's own options, and on the page of the program all others.
fn environment(roff: &mut Roff, command: &Command, is_program: bool) {
    let of_options =
        |argument: &&Arg| argument.get_env().is_some() && (is_program || !argument.is_global_set());
    let options = command.get_arguments().filter(of_options).map(|argument| {
        let name = argument.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (name, argument.get_help().map(ToString::to_string).unwrap_or_default())
    });
    let mut variables: Vec<(String, String)> = options.collect();
    if is_program {
        let known: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        variables.extend(settings::variables().into_iter().filter(|(name, _)| !known.contains(name)));
        variables.extend(VARIABLES.map(|(name, meaning)| (name.to_owned(), meaning.to_owned())));
    }
    section(roff, "ENVIRONMENT");
    entries(roff, variables.into_iter());
    if !is_program {
        roff.control("PP", []);
        let mut text = vec![roman("The variables of every command and of the settings are in ")];
        text.extend(pages(&["tidings"]));
        text.push(roman("."));
        roff.text(text);
    }
}

fn files(roff: &mut Roff, is_program: bool) {
    section(roff, "FILES");
    let files = [
        (DATABASE.to_owned(), "The database, unless --db or TIDINGS_DB names another one"),
        (format!("{DATABASE}.key"), "The key that signs access tokens; it belongs to the database"),
        ("./tidings.toml".to_owned(), "Settings, unless --config or TIDINGS_CONFIG names another file"),
        ("~/.config/tidings/profiles.toml".to_owned(), "The servers that tidings login has signed in to"),
        ("~/.config/tidings/secrets.toml".to_owned(), "Their tokens and API keys"),
    ];
    let most = if is_program { files.len() } else { 3 };
    entries(roff, files.into_iter().take(most).map(|(name, meaning)| (name, meaning.to_owned())));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn the_page_of_the_program_has_every_setting_once() {
        let mut command = Cli::command();
        command.build();
        let page = String::from_utf8(page(&command, None).unwrap()).unwrap();
        for (variable, _) in settings::variables() {
            let line = format!("\\fB{variable}\\fR");
            assert_eq!(page.lines().filter(|known| **known == line).count(), 1, "{line}");
        }
        for title in ["ENVIRONMENT", "FILES", "EXIT STATUS", "SEE ALSO"] {
            assert!(page.contains(title), "{title}");
        }
    }
}
