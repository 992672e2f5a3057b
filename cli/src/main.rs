//! `tidings`: the one binary. It parses, calls one operation of the core, and prints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser as _;
use tidings_core::Tidings;

mod admin;
mod analysis;
mod args;
mod init;
mod output;
mod password;
mod post;
mod roster;
mod search;
mod serve;
mod settings;
mod words;

use args::{Cli, Command, Global};
use output::{Failure, cannot_open};
use settings::Settings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    let json = global.json;
    run(&global, command).unwrap_or_else(|failure| failure.report(json))
}

fn run(global: &Global, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(settings) => serve::run(global, *settings),
        Command::Init(args) => init::run(&open(global)?, global, &args),
        Command::Post(command) => post::run(&open(global)?, global, &command),
        Command::Search(command) => search::run(&open(global)?, global, &command),
        Command::Words(command) => words::run(&open(global)?, global, &command),
        Command::Admin(command) => admin::run(&open(global)?, global, &command),
        Command::Analysis(command) => analysis::run(&open(global)?, global, &command),
        Command::Roster(command) => roster::run(&open(global)?, global, &command),
    }
}

/// Opens the database with the settings of the environment and the file.
fn open(global: &Global) -> Result<Tidings, Failure> {
    let settings = Settings::default().complete(global.config.as_deref())?;
    open_with(&database(global, &settings), &settings)
}

fn open_with(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    let builder = Tidings::builder(path).config(settings.core()?);
    builder.open().map_err(|error| cannot_open(path, error))
}

/// The database file: the flag or variable, else what the TOML file names, else the default.
fn database(global: &Global, settings: &Settings) -> PathBuf {
    let named = global.db.as_deref().or(settings.db());
    named.map_or_else(|| PathBuf::from("./tidings.db"), Path::to_owned)
}
