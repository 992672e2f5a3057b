//! `tidings`: the one binary. It parses, calls one operation of the core, and prints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tidings_core::{Builder, Tidings};

mod act;
mod admin;
mod analysis;
mod args;
mod backup;
mod bench;
mod blacklist;
mod check;
mod config;
mod demo;
mod describe;
mod failure;
mod feed;
mod feedback;
mod init;
mod input;
mod interrupt;
mod member;
mod notice;
mod output;
mod password;
mod post;
mod progress;
mod roster;
mod search;
mod serve;
mod session;
mod settings;
mod tui;
mod whole_file;
mod words;

use args::{Cli, Command, Global};
use failure::{Failure, cannot_open, no_database};
use member::Member;
use output::Output;
use post::Post;
use roster::Roster;
use session::Session;
use settings::Settings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match args::parse() {
        Ok(Cli { global, command }) => {
            let output = Output::new(&global);
            run(&global, command).unwrap_or_else(|failure| failure.report(&output))
        }
        Err(refused) => failure::misused(refused),
    }
}

fn run(global: &Global, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(settings) => serve::run(global, *settings),
        Command::Tui(screens) => tui::run(global, &screens),
        Command::Init(args) => init::run(&Session::create(global)?, &args),
        Command::Demo(args) => demo::run(&Session::create(global)?, &args),
        Command::Member(command @ Member::Import { .. }) => member::run(&Session::create(global)?, &command),
        Command::Member(command) => member::run(&Session::open(global)?, &command),
        Command::Admin(command) => admin::run(&Session::open(global)?, &command),
        Command::Blacklist(command) => blacklist::run(&Session::open(global)?, &command),
        Command::Notice(command) => notice::run(&Session::open(global)?, &command),
        Command::Feedback(command) => feedback::run(&Session::open(global)?, &command),
        Command::Post(command @ Post::Import { .. }) => post::run(&Session::create(global)?, &command),
        Command::Post(command) => post::run(&Session::open(global)?, &command),
        Command::Act(command) => act::run(&Session::create(global)?, &command),
        Command::Feed(command) => feed::run(&Session::open(global)?, &command),
        Command::Search(command) => search::run(&Session::open(global)?, &command),
        Command::Analysis(command) => analysis::run(&Session::open(global)?, &command),
        Command::Roster(command @ Roster::Import { .. }) => roster::run(&Session::create(global)?, &command),
        Command::Roster(command) => roster::run(&Session::open(global)?, &command),
        Command::Words(command) => words::run(&Session::open(global)?, &command),
        Command::Bench(command) => bench::run(&Session::open(global)?, &command),
        Command::Backup(args) => backup::run(global, &args),
        Command::Restore(args) => backup::restore(global, &args),
        Command::Check(args) => check::run(global, &args),
        Command::Config(settings) => config::run(global, *settings),
        Command::Completions(args) => describe::completions(&args),
        Command::Man(args) => describe::man(global, &args),
        Command::Openapi => describe::openapi(global),
    }
}

/// Opens the database with these settings, if it is there: whoever mistypes its name wants no new one.
fn open_with(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    // What cannot be looked at is told as what it is when it is opened.
    if matches!(path.try_exists(), Ok(false)) {
        return Err(no_database(path));
    }
    create_with(path, settings)
}

/// As [`open_with`], but creates the database if it does not exist.
fn create_with(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    builder(path, settings)?.open().map_err(|error| cannot_open(path, error))
}

/// Opens the database for a service, creates it if it does not exist, and starts the background work.
fn start_with(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    builder(path, settings)?.start().map_err(|error| cannot_open(path, error))
}

/// Returns a builder with these settings, and warns when only the key of the database exists.
fn builder(path: &Path, settings: &Settings) -> Result<Builder, Failure> {
    if let Some(key) = Tidings::key_without_database(path) {
        let (path, key) = (path.display(), key.display());
        output::note(&format!(
            "tidings: there is no database {path}, but its key {key}: a new, empty database is made. If there was one \
             before, stop this and put a backup in its place: tidings restore FILE"
        ));
    }
    Ok(Tidings::builder(path).config(settings.core()?))
}

/// The database file where it is all that is needed of the settings.
fn database_of(global: &Global) -> Result<PathBuf, Failure> {
    let settings = Settings::default().complete(global.config.as_deref())?;
    Ok(database(global, &settings))
}

/// Where the database is when nothing says so.
const DATABASE: &str = "./tidings.db";

/// The database file: the flag or variable, else what the TOML file names, else the default.
fn database(global: &Global, settings: &Settings) -> PathBuf {
    let named = global.db.as_deref().or(settings.db());
    named.map_or_else(|| PathBuf::from(DATABASE), Path::to_owned)
}
