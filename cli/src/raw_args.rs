//! The command line as typed, for options that apply even if clap cannot parse it.

use std::ffi::OsString;

pub(crate) fn options() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|argument| argument != "--")
}

pub(crate) fn value(flag: &str) -> Option<String> {
    let mut arguments = options();
    while let Some(argument) = arguments.next() {
        match argument.to_str().and_then(|argument| argument.strip_prefix(flag)) {
            Some("") => return arguments.next()?.into_string().ok(),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            // Another option, or an argument.
            Some(_) | None => {}
        }
    }
    None
}
