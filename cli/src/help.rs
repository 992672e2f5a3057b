//! The short help of the program itself, for `-h`: the commands in groups.

use std::fmt::Write as _;

use clap::Command;

use crate::global;

/// In the order of the help. Each command is in exactly one group.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Start", &["init", "serve", "tui", "demo"]),
    ("Content", &["notice", "front", "feedback", "post", "source", "feed", "search", "words"]),
    ("People", &["member", "invitation", "mail", "otp", "admin", "blacklist", "roster", "act"]),
    ("Figures", &["analysis", "audit", "bench"]),
    ("Programs", &["key", "webhook"]),
    ("Servers", &["ready", "login", "logout", "profile"]),
    ("Database", &["backup", "restore", "store", "check", "config"]),
    ("This program", &["completions", "man", "openapi"]),
];

/// In a narrower terminal, the description of an option is below it, not beside it.
const NARROW: u16 = 60;

pub(crate) fn with_groups(command: Command) -> Command {
    let is_narrow = terminal_size::terminal_size().is_some_and(|(width, _)| width.0 < NARROW);
    let command = command.next_line_help(is_narrow);
    if global::typed_options().any(|argument| argument == "--help" || argument == "help") {
        return command;
    }
    let template = short(&command);
    command.help_template(template)
}

fn short(command: &Command) -> String {
    let (heading, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    let width = GROUPS.iter().map(|(group, _)| group.len()).max().unwrap_or_default();
    for (group, names) in GROUPS {
        let pad = " ".repeat(width - group.len());
        let _ = writeln!(text, "  {heading}{group}{heading:#}{pad}  {literal}{}{literal:#}", names.join(" "));
    }
    let _ = write!(
        text,
        "\nCommands work on a database (--db PATH|URL) or on a server (--server URL).\n\
         {literal}tidings --help{literal:#} describes all commands, {literal}tidings COMMAND --help{literal:#} one of them."
    );
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn each_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn the_short_help_fits_a_terminal_of_24_lines() {
        let mut command = Cli::command();
        let template = short(&command);
        command = command.help_template(template);
        let help = command.render_help().to_string();
        assert!(help.lines().count() < 24, "{help}");
        // The description of the program is wrapped by clap.
        assert!(help.lines().skip(1).all(|line| line.chars().count() <= 80), "{help}");
    }
}
