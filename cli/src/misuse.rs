//! A command line that clap cannot parse, or that asks for help.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::error::ContextValue;
use tidings_core::answer;
use tidings_core::location::masked;
use tidings_tui::escape;

use crate::failure::USAGE;
use crate::global;
use crate::output::{self, Style};
use crate::raw_args;
use crate::settings::wrong_variable;

/// Prints the help or the error of a command line. Returns the exit status.
pub(crate) fn report(mut refused: clap::Error) -> ExitCode {
    let status = u8::try_from(refused.exit_code()).unwrap_or(USAGE);
    if status == 0 {
        // Help: a reader that has closed the pipe is not a failure.
        let _ = refused.print();
        return ExitCode::SUCCESS;
    }
    let for_programs = || raw_args::options().any(|argument| argument == "--json" || argument == "--ndjson");
    if for_programs() {
        // When the object cannot be written, the message still can.
        let _ = output::print(&answer::refusal("bad request"));
    }
    let colour = output::colours(global::color(), std::io::stderr().is_terminal());
    if let Some(message) = wrong_variable(&refused) {
        let name = output::paint("tidings:", Style::Bad, colour);
        output::note(&format!("{name} {}", escape::block(&message)));
        return ExitCode::from(status);
    }
    on_lines(&mut refused);
    let text = refused.render().to_string();
    output::note(&with_name(&escape::block(&masked(text.trim_end())), colour));
    ExitCode::from(status)
}

/// Escapes typed text, so that it cannot look like lines of the message.
fn on_lines(refused: &mut clap::Error) {
    let fit = |value: &ContextValue| match value {
        ContextValue::String(typed) => Some(ContextValue::String(escape::line(typed).into_owned())),
        ContextValue::Strings(typed) => {
            Some(ContextValue::Strings(typed.iter().map(|typed| escape::line(typed).into_owned()).collect()))
        }
        _ => None,
    };
    let fitted: Vec<_> = refused.context().filter_map(|(kind, value)| Some((kind, fit(value)?))).collect();
    for (kind, value) in fitted {
        refused.insert(kind, value);
    }
}

/// Highlights the word that begins the message.
fn with_name(message: &str, colour: bool) -> String {
    const NAME: &str = "error:";
    match message.strip_prefix(NAME) {
        Some(rest) => output::paint(NAME, Style::Bad, colour) + rest,
        // A missing command prints the help.
        None => message.to_owned(),
    }
}
