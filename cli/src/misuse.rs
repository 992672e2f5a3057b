//! A command line that clap cannot parse, or that asks for help.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tidings_client::shown::escape;
use tidings_core::location::masked;

use crate::failure::{USAGE, misused};
use crate::given::similarity;
use crate::global;
use crate::output;
use crate::raw_args;

/// The word with which clap begins a message, and the one with which it begins a suggestion.
const NAMES: [&str; 2] = ["error: ", "tip: "];

/// Prints the help or the error of a command line. Returns the exit status.
pub(crate) fn report(mut refused: clap::Error) -> ExitCode {
    let status = u8::try_from(refused.exit_code()).unwrap_or(USAGE);
    if status == 0 {
        // Help: a reader that has closed the pipe is not a failure.
        let _ = refused.print();
        return ExitCode::SUCCESS;
    }
    if refused.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !is_for_programs() {
        // A command without its subcommand: the help says more than an error.
        let _ = refused.print();
        return ExitCode::from(status);
    }
    only_near(&mut refused);
    on_lines(&mut refused);
    let message = masked(&in_lines(&refused.render().to_string()));
    if is_for_programs() {
        // When the object cannot be written, the message still can.
        let _ = output::print(&misused(message.lines().next().unwrap_or_default()));
    }
    let colour = output::colours(global::color(), std::io::stderr().is_terminal());
    output::note_error(&message, colour);
    ExitCode::from(status)
}

/// Returns whether the output is for programs, even if clap cannot parse the command line.
fn is_for_programs() -> bool {
    raw_args::options().any(|argument| argument == "--json" || argument == "--ndjson")
}

/// Returns what an error of clap says, in the form of all errors: the message in one line, and hints in lines of their own.
fn in_lines(error: &str) -> String {
    let mut paragraphs = error.trim_end().split("\n\n").map(|paragraph| {
        paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let Some(message) = first.strip_prefix(NAMES[0]) else {
        return "a command is missing\nhint: tidings --help lists the commands".to_owned();
    };
    let mut lines = vec![message.to_owned()];
    for paragraph in paragraphs {
        if let Some(tip) = paragraph.strip_prefix(NAMES[1]) {
            lines.push(format!("hint: {tip}"));
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            lines.push(format!("hint: the usage is: {usage}"));
        } else if !paragraph.starts_with("For more information") {
            lines.extend(Some(format!("hint: {paragraph}")).filter(|_| !paragraph.is_empty()));
        }
    }
    lines.join("\n")
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
