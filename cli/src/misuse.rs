//! A command line that clap cannot parse, or that asks for help.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use tidings_core::location::masked;
use tidings_tui::escape;

use crate::failure::{USAGE, misused};
use crate::global;
use crate::output::{self, Style};
use crate::raw_args;
use crate::settings::wrong_variable;

/// The similarity above which a name is suggested in place of an unknown one.
const SIMILAR: f64 = 0.5;
/// The word that begins a message.
const NAME: &str = "error:";

/// Prints the help or the error of a command line. Returns the exit status.
pub(crate) fn report(mut refused: clap::Error) -> ExitCode {
    let status = u8::try_from(refused.exit_code()).unwrap_or(USAGE);
    if status == 0 {
        // Help: a reader that has closed the pipe is not a failure.
        let _ = refused.print();
        return ExitCode::SUCCESS;
    }
    let for_programs = || raw_args::options().any(|argument| argument == "--json" || argument == "--ndjson");
    let print_object = |message: &str| {
        if for_programs() {
            // When the object cannot be written, the message still can.
            let _ = output::print(&misused(message));
        }
    };
    let colour = output::colours(global::color(), std::io::stderr().is_terminal());
    if let Some(message) = wrong_variable(&refused) {
        print_object(&message);
        let name = output::paint("tidings:", Style::Bad, colour);
        output::note(&format!("{name} {}", escape::block(&message)));
        return ExitCode::from(status);
    }
    only_near(&mut refused);
    on_lines(&mut refused);
    let text = refused.render().to_string();
    let text = masked(text.trim_end());
    print_object(&first_paragraph(&text));
    output::note(&with_name(&escape::block(&text), colour));
    ExitCode::from(status)
}

/// Returns what an error says before the usage and the hints, as one line.
fn first_paragraph(error: &str) -> String {
    match error.strip_prefix(NAME) {
        Some(said) => {
            let lines = said.lines().map(str::trim).take_while(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join(" ")
        }
        None => "a command is missing: see --help".to_owned(),
    }
}

/// Removes the suggestion of an option that has little in common with what was typed.
fn only_near(refused: &mut clap::Error) {
    let text = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let pair = text(ContextKind::InvalidArg).zip(text(ContextKind::SuggestedArg));
    if pair.is_some_and(|(typed, known)| similarity(typed, known).is_none()) {
        refused.remove(ContextKind::SuggestedArg);
        // The usage has the suggestion in it.
        refused.remove(ContextKind::Usage);
    }
}

/// Returns the similarity of two names, up to 1; `None` if one is hardly a typing error of the other.
pub(crate) fn similarity(typed: &str, known: &str) -> Option<f64> {
    Some(strsim::normalized_damerau_levenshtein(typed, known)).filter(|similarity| *similarity > SIMILAR)
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
    match message.strip_prefix(NAME) {
        Some(rest) => output::paint(NAME, Style::Bad, colour) + rest,
        // A missing command prints the help.
        None => message.to_owned(),
    }
}
