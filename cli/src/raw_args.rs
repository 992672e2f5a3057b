//! The command line as typed, for what must be known even if clap cannot parse it.

use std::ffi::OsString;

/// Returns the arguments that can be options: those before `--`.
pub(crate) fn options() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|argument| argument != "--")
}
