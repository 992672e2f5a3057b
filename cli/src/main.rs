//! `tidings`: the program. It parses the command line, calls one operation of the core and prints the answer.

use std::process::ExitCode;

use clap::CommandFactory as _;

mod act;
mod admin;
#[cfg(feature = "count-allocations")]
mod allocations;
mod analysis;
mod args;
mod atomic_file;
mod audit;
mod backup;
mod bench;
mod blacklist;
mod candidates;
mod check;
mod complete;
mod config;
mod database;
mod demo;
mod describe;
mod export;
mod failure;
mod feed;
mod feedback;
mod front;
mod given;
mod global;
mod help;
mod imported;
mod init;
mod input;
mod interrupt;
mod invitation;
mod key;
mod mail;
mod member;
mod misuse;
mod next_steps;
mod notice;
mod otp;
mod output;
mod password;
mod post;
mod profile;
mod progress;
mod raw_args;
mod ready;
mod roster;
mod search;
mod serve;
mod session;
mod settings;
mod source;
mod steps;
mod store;
mod tui;
mod webhook;
mod words;

use act::Act;
use args::{Cli, Command};
use failure::Failure;
use global::Global;
use member::Member;
use output::Output;
use post::Post;
use profile::{credentials, login};
use roster::Roster;
use session::Session;
use source::Command as Source;

#[cfg(not(feature = "count-allocations"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    complete::answer_shell(Cli::command, candidates::find);
    #[cfg(feature = "count-allocations")]
    allocations::register();
    if serve::logs_json() {
        output::use_json_log();
    }
    match args::parse() {
        Ok(Cli { global, command }) => {
            let output = Output::new(&global);
            let signs_in = matches!(command, Command::Login(_) | Command::Logout(_) | Command::Profile(_));
            let explained =
                |failure| if signs_in { failure } else { credentials::explained(&global, failure) };
            run(&global, command).unwrap_or_else(|failure| output.failed(&explained(failure)))
        }
        Err(refused) => misuse::report(&refused),
    }
}

fn run(global: &Global, command: Command) -> Result<ExitCode, Failure> {
    let input = match &command {
        Command::Init(args) => args.password.password_file.clone(),
        Command::Member(Member::Import { file, .. })
        | Command::Post(Post::Import { file, .. })
        | Command::Act(Act::Import { file, .. })
        | Command::Source(Source::Import { file })
        | Command::Roster(Roster::Import { file, .. }) => Some(file.clone()),
        _ => None,
    };
    let create = || Session::create(global, input.as_deref());
    match command {
        Command::Serve(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Store(_)
        | Command::Check(_)
            if global.names_server() =>
        {
            Err(session::needs_database())
        }
        Command::Serve(settings) => serve::run(global, *settings),
        Command::Tui(screens) => tui::run(global, &screens),
        Command::Init(args) => init::run(&create()?, &args),
        Command::Demo(args) => demo::run(&create()?, &args),
        Command::Member(command @ Member::Import { .. }) => member::run(&create()?, global, &command),
        Command::Member(command) => member::run(&Session::open(global)?, global, &command),
        Command::Invitation(command) => invitation::run(&Session::open(global)?, &command),
        Command::Otp(command) => otp::run(&Session::open(global)?, &command),
        Command::Admin(command) => admin::run(&Session::open(global)?, &command),
        Command::Blacklist(command) => blacklist::run(&Session::open(global)?, &command),
        Command::Key(command) => key::run(&Session::open(global)?, &command),
        Command::Mail(command) => mail::run(&Session::open(global)?, &command),
        Command::Webhook(command) => webhook::run(&Session::open(global)?, &command),
        Command::Audit(command) => audit::run(&Session::open(global)?, &command),
        Command::Notice(command) => notice::run(&Session::open(global)?, &command),
        Command::Feedback(command) => feedback::run(&Session::open(global)?, &command),
        Command::Post(command @ Post::Import { .. }) => post::run(&create()?, &command),
        Command::Post(command) => post::run(&Session::open(global)?, &command),
        Command::Act(command) => act::run(&create()?, &command),
        Command::Front(command) => front::run(&Session::open(global)?, &command),
        Command::Source(command @ (Source::Add { .. } | Source::Import { .. })) => {
            source::run(&create()?, command)
        }
        Command::Source(command) => source::run(&Session::open(global)?, command),
        Command::Feed(command) => feed::run(&Session::open(global)?, &command),
        Command::Search(command) => search::run(&Session::open(global)?, &command),
        Command::Analysis(command) => analysis::run(&Session::open(global)?, &command),
        Command::Roster(command @ Roster::Import { .. }) => roster::run(&create()?, &command),
        Command::Roster(command) => roster::run(&Session::open(global)?, &command),
        Command::Words(command) => words::run(&Session::open(global)?, &command),
        Command::Bench(command) => bench::run(&Session::open(global)?, &command),
        Command::Backup(args) => backup::run(global, &args),
        Command::Restore(args) => backup::restore(global, &args),
        Command::Store(command) => store::run(global, &command),
        Command::Check(args) => check::run(global, &args),
        Command::Config(settings) => config::run(global, *settings),
        Command::Ready(settings) => ready::run(global, *settings),
        Command::Completions(args) => describe::completions(&args),
        Command::Man(args) => describe::man(global, &args, Cli::command()),
        Command::Openapi => describe::openapi(global),
        Command::Login(args) => login::run(global, &args),
        Command::Logout(args) => login::log_out(global, &args),
        Command::Profile(command) => profile::run(global, &command),
    }
}
