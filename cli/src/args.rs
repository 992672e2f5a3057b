//! The command line as clap parses it; each group's commands stand in the group's own file.

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::global::{Color, Global, color};
use crate::{
    act, admin, analysis, backup, bench, blacklist, check, demo, describe, feed, feedback, init, member,
    notice, post, roster, search, settings, tui, words,
};

/// Accounts, notices, feedback, posts and newsfeeds for an app or a campus, over one SQLite file.
#[derive(Debug, Parser)]
#[command(name = "tidings", version, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the arguments.
///
/// # Errors
/// When they are wrong, or ask for help.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let choice = match color() {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let mut command = Cli::command().color(choice);
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the database, and an administrator
    #[command(after_help = "Example: tidings init --admin ann")]
    Init(init::Init),
    /// Serve the HTTP API
    #[command(
        after_help = "Example: tidings serve --listen 0.0.0.0:8080 --cors-origin https://app.example.org"
    )]
    Serve(Box<settings::Settings>),
    /// Open the administrators' screens in this terminal
    #[command(after_help = "Example: tidings tui --db campus.db")]
    Tui(tui::Screens),
    /// Fill an empty database with made-up members, posts and weeks of traffic, to try everything with
    #[command(after_help = "Example: tidings --db demo.db demo --days 60")]
    Demo(demo::Demo),
    /// Members
    #[command(subcommand)]
    Member(member::Member),
    /// Administrators
    #[command(subcommand)]
    Admin(admin::Admin),
    /// Members who may not sign in
    #[command(subcommand)]
    Blacklist(blacklist::Blacklist),
    /// What administrators tell everybody
    #[command(subcommand)]
    Notice(notice::Notice),
    /// What members write to the administrators
    #[command(subcommand)]
    Feedback(feedback::Feedback),
    /// Posts
    #[command(subcommand)]
    Post(post::Post),
    /// What members did elsewhere, before they moved in
    #[command(subcommand)]
    Act(act::Act),
    /// Newsfeeds
    #[command(subcommand)]
    Feed(feed::Feed),
    /// Searches
    #[command(subcommand)]
    Search(search::Search),
    /// What is counted of what happens, and the access log
    #[command(subcommand)]
    Analysis(analysis::Analysis),
    /// The university's members, who sign in by its verification
    #[command(subcommand)]
    Roster(roster::Roster),
    /// The words of posts, and which are similar
    #[command(subcommand)]
    Words(words::Words),
    /// How good the service is, measured on its own data
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Copy the database to a file, while servers and commands use it
    #[command(after_help = "Example: tidings backup /backups/tidings-$(date +%F).db")]
    Backup(backup::Backup),
    /// Put a backup in the place of the database, which is kept
    #[command(after_help = "Example: tidings restore /backups/tidings-2026-11-20.db")]
    Restore(backup::Restore),
    /// Look whether the database is sound, and its place fit for it
    #[command(after_help = "Examples:\n  tidings check\n  tidings check --repair --yes")]
    Check(check::Check),
    /// Show the settings in force, and where each comes from
    #[command(after_help = "Example: tidings config --listen 0.0.0.0:8080")]
    Config(Box<settings::Settings>),
    /// Print what a shell needs to complete commands
    #[command(
        after_help = "Examples:\n  tidings completions bash > /usr/share/bash-completion/completions/tidings\n  tidings completions zsh > \"${fpath[1]}/_tidings\"\n  tidings completions fish > ~/.config/fish/completions/tidings.fish"
    )]
    Completions(describe::Completions),
    /// Write the manual pages, one for each command
    #[command(after_help = "Example: tidings man /usr/local/share/man/man1")]
    Man(describe::Man),
    /// Print the OpenAPI document of the HTTP API, as the server answers it
    #[command(after_help = "Example: tidings openapi > openapi.json")]
    Openapi,
}
