//! The command line as typed, for options that apply even if clap cannot parse it.

use std::ffi::OsString;

/// Returns the arguments before `--`, which can be options.
pub(crate) fn options() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|argument| argument != "--")
}
