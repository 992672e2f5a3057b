//! A command line that clap cannot parse, or that asks for help.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use tidings_core::location::masked;

use crate::failure::{USAGE, misused};
use crate::global;
use crate::output;

pub(crate) fn report(refused: &clap::Error) -> ExitCode {
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
