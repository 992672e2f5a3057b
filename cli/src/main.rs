//! `tidings`: the program. It parses the command line, calls one operation of the core and prints the answer.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::ErrorKind;
use tidings_core::location::masked;

mod admin;
#[cfg(feature = "count-allocations")]
mod allocations;
mod analysis;
mod args;
mod atomic_file;
mod audit;
mod backup;
mod bench;
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
mod global;
mod help;
mod imported;
mod init;
mod input;
mod invitation;
mod key;
mod mail;
mod member;
mod notice;
mod otp;
mod output;
mod password;
mod post;
mod prelude;
mod profile;
mod progress;
mod ready;
mod search;
mod serve;
mod session;
mod settings;
mod source;
mod store;
mod tui;
mod webhook;
mod words;

use args::{Cli, Command};
use failure::{Exit, USAGE, misused};
use global::Global;
use imported::{Act, Roster};
use member::Member;
use output::Output;
use post::Post;
use profile::{credentials, login};
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
        Err(refused) => report(&refused),
    }
}

/// For a command line that clap cannot parse, or that asks for help.
fn report(refused: &clap::Error) -> ExitCode {
    let status = u8::try_from(refused.exit_code()).unwrap_or(USAGE);
    let is_for_programs =
        global::typed_options().any(|argument| argument == "--json" || argument == "--ndjson");
    let lacks_command = refused.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if status == 0 || (lacks_command && !is_for_programs) {
        // A reader that has closed the pipe is not a failure.
        let _ = refused.print();
        return ExitCode::from(status);
    }
    let message = if lacks_command {
        "a command is missing".to_owned()
    } else {
        // A database on a server may be named with its password.
        masked(refused.render().to_string().trim_end().trim_start_matches("error: "))
    };
    if is_for_programs {
        let first = message.split("\n\n").next().unwrap_or_default();
        let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
        // When the object cannot be written, the message still can.
        let _ = output::print(&misused(&line));
    }
    let colour = output::colours(global::color(), std::io::stderr().is_terminal());
    output::note_error(&message, colour);
    ExitCode::from(status)
}

fn run(global: &Global, command: Command) -> Exit {
    // Whether the command creates a database that does not exist, and the file that it reads.
    let (creates, input) = match &command {
        Command::Init(args) => (true, args.password.password_file.clone()),
        Command::Member(Member::Import { file, .. })
        | Command::Post(Post::Import { file, .. })
        | Command::Act(Act::Import { file, .. })
        | Command::Source(Source::Import { file })
        | Command::Roster(Roster::Import { file, .. }) => (true, Some(file.clone())),
        Command::Demo(_) | Command::Source(Source::Add { .. }) => (true, None),
        _ => (false, None),
    };
    let open = || if creates { Session::create(global, input.as_deref()) } else { Session::open(global) };
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
        Command::Init(args) => init::run(&open()?, &args),
        Command::Demo(args) => demo::run(&open()?, &args),
        Command::Member(command) => member::run(&open()?, global, &command),
        Command::Invitation(command) => invitation::run(&open()?, &command),
        Command::Otp(command) => otp::run(&open()?, &command),
        Command::Admin(command) => admin::run(&open()?, &command),
        Command::Blacklist(command) => admin::blacklist(&open()?, &command),
        Command::Key(command) => key::run(&open()?, &command),
        Command::Mail(command) => mail::run(&open()?, &command),
        Command::Webhook(command) => webhook::run(&open()?, &command),
        Command::Audit(command) => audit::run(&open()?, &command),
        Command::Notice(command) => notice::run(&open()?, &command),
        Command::Feedback(command) => feedback::run(&open()?, &command),
        Command::Post(command) => post::run(&open()?, &command),
        Command::Act(command) => imported::acts(&open()?, &command),
        Command::Front(command) => front::run(&open()?, &command),
        Command::Source(command) => source::run(&open()?, command),
        Command::Feed(command) => feed::run(&open()?, &command),
        Command::Search(command) => search::run(&open()?, &command),
        Command::Analysis(command) => analysis::run(&open()?, &command),
        Command::Roster(command) => imported::roster(&open()?, &command),
        Command::Words(command) => words::run(&open()?, &command),
        Command::Bench(command) => bench::run(&open()?, &command),
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
