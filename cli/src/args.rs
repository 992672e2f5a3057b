//! The command line as clap parses it; each command group is in its own file.

use clap::error::ErrorKind;
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser};

use crate::global::{Color, color};
use crate::prelude::*;
use crate::profile::login;
use crate::{
    admin, analysis, audit, backup, bench, check, demo, describe, feed, feedback, front, help, imported,
    init, invitation, key, mail, member, notice, otp, post, profile, search, settings, source, store, tui,
    webhook, words,
};

/// Accounts, notices, feedback, posts and newsfeeds for an app or a campus, on SQLite or PostgreSQL.
#[derive(Debug, Parser)]
#[command(name = "tidings", version, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Also fails when the arguments ask for help or the version.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let choice = match color() {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let mut command = help::with_groups(Cli::command().color(choice));
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.map_err(|refused| settings::removed_flag(&mut command, refused))?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    cli.global.settle(&matches).map_err(|[one, other]| {
        let message = format!("{one} names a database, and {other} a server: leave one of them out");
        command.error(ErrorKind::ArgumentConflict, message)
    })?;
    Ok(cli)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create the database and its first administrator
    #[command(after_help = "Example: tidings init --admin ann")]
    Init(init::Init),
    /// Serve the HTTP API
    #[command(
        after_help = "Example: tidings serve --listen 0.0.0.0:8080 --cors-origin https://app.example.org\n\nEach setting is also a variable, such as TIDINGS_CORS_ORIGIN, and a key of the TOML file, such as cors-origin."
    )]
    Serve(Box<settings::Settings>),
    /// Open the administrators' terminal UI
    #[command(after_help = "Example: tidings tui --db campus.db")]
    Tui(tui::Screens),
    /// Fill an empty database with generated members, posts and weeks of traffic, to try tidings out
    #[command(after_help = "Example: tidings --db demo.db demo --days 60")]
    Demo(demo::Demo),
    /// Sign in to a server, so that commands with --server or --profile work there
    #[command(
        after_help = "Examples:\n  tidings login --server https://tidings.example.org ann\n  tidings login --server https://tidings.example.org --key-file importer.key"
    )]
    Login(login::Login),
    /// Sign out of a server
    #[command(
        after_help = "Examples:\n  tidings logout --server https://tidings.example.org\n  tidings logout --server https://tidings.example.org --everywhere\n  tidings logout --all"
    )]
    Logout(login::Logout),
    /// Manage the profiles, which are the sign-ins of tidings login
    #[command(subcommand)]
    Profile(profile::Command),
    /// Manage members
    #[command(subcommand)]
    Member(member::Member),
    /// Manage invitations, with whose codes people sign up
    #[command(subcommand)]
    Invitation(invitation::Invitation),
    /// Manage your own second factor
    #[command(subcommand)]
    Otp(otp::Otp),
    /// Manage administrators
    #[command(subcommand)]
    Admin(admin::Admin),
    /// Manage members who may not sign in
    #[command(subcommand)]
    Blacklist(admin::Blacklist),
    /// Manage API keys, with which programs administer
    #[command(subcommand)]
    Key(key::Key),
    /// Show the mail that was not sent, and send a test
    #[command(subcommand)]
    Mail(mail::Mail),
    /// Manage webhooks, which tell other systems about notices and feedback
    #[command(subcommand)]
    Webhook(webhook::Webhook),
    /// Show and verify what administrators, operators and API keys have done
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Manage notices, which administrators publish
    #[command(subcommand)]
    Notice(notice::Notice),
    /// Show and change the two lines of the front page
    #[command(subcommand)]
    Front(front::Front),
    /// Send and process feedback
    #[command(subcommand)]
    Feedback(feedback::Feedback),
    /// Manage posts
    #[command(subcommand)]
    Post(post::Post),
    /// Manage sources, the feeds of other sites whose entries become posts
    #[command(subcommand)]
    Source(source::Command),
    /// Import what members did in another system
    #[command(subcommand)]
    Act(imported::Act),
    /// Read newsfeeds
    #[command(subcommand)]
    Feed(feed::Feed),
    /// Search posts, and show searches
    #[command(subcommand)]
    Search(search::Search),
    /// Show the figures of the traffic, and the access log
    #[command(subcommand)]
    Analysis(analysis::Analysis),
    /// Manage the roster of the university, which verifies the sign-ins of its members
    #[command(subcommand)]
    Roster(imported::Roster),
    /// Manage the word model, which finds similar words
    #[command(subcommand)]
    Words(words::Words),
    /// Measure the quality of the recommended feed and of searches on the database
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Copy the database to a file while servers and commands use it
    #[command(after_help = "Example: tidings backup /backups/tidings-$(date +%F).db")]
    Backup(backup::Backup),
    /// Replace the database with a backup, keeping the old database
    #[command(after_help = "Example: tidings restore /backups/tidings-2026-11-20.db")]
    Restore(backup::Restore),
    /// Copy whole databases, also between SQLite and PostgreSQL
    #[command(subcommand)]
    Store(store::Store),
    /// Check the integrity of the database, its files and its disk
    #[command(after_help = "Examples:\n  tidings check\n  tidings check --repair --yes")]
    Check(check::Check),
    /// Show the settings in force and the source of each
    #[command(after_help = "Example: tidings config --listen 0.0.0.0:8080")]
    Config(Box<settings::Settings>),
    /// Ask the server on this machine, or another one, whether it can take requests
    #[command(
        after_help = "Examples:\n  tidings ready\n  tidings ready --listen 127.0.0.1:8081 && echo it works\n  tidings ready --server https://tidings.example.org"
    )]
    Ready(Box<settings::Settings>),
    /// Print a script that completes commands in a shell
    #[command(
        after_help = "Examples:\n  tidings completions bash > /usr/share/bash-completion/completions/tidings\n  tidings completions zsh > \"${fpath[1]}/_tidings\"\n  tidings completions fish > ~/.config/fish/completions/tidings.fish"
    )]
    Completions(describe::Completions),
    /// Write the manual pages, one per command
    #[command(after_help = "Example: tidings man /usr/local/share/man/man1")]
    Man(describe::Man),
    /// Print the OpenAPI document of the HTTP API, as the server sends it
    #[command(after_help = "Example: tidings openapi > openapi.json")]
    Openapi,
}
