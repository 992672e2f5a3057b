//! Programs of other projects that tests of `packaging` run, and the files there.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that makes a missing program a failure. `.ci/run` sets it to `required`.
const REQUIRED: &str = "TIDINGS_TEST_PROGRAMS";

/// Returns whether a program is installed. If not, says that its test is left out.
///
/// # Panics
/// When the program must not be missing.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new("which").arg(program).stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os(REQUIRED).is_none_or(|value| value != "required"), "{program} is not installed");
    // Unlike `eprintln!`, this is not captured. Nothing can be done if standard error is closed.
    let _ = writeln!(io::stderr(), "left out: {program} is not installed");
    false
}

/// The variable with the path of a static binary, as `packaging/static` builds it.
const STATIC: &str = "TIDINGS_TEST_STATIC";

/// Returns the static binary, for tests as root that run it where no other file is. If there is none, says that its test is
/// left out.
///
/// # Panics
/// When the variable names a file that does not exist.
pub(crate) fn static_binary() -> Option<PathBuf> {
    let missing = match std::env::var_os(STATIC) {
        None => format!("{STATIC} names no static binary"),
        Some(_) if !rustix::process::geteuid().is_root() => {
            "only root can change the root directory".to_owned()
        }
        Some(path) => return Some(fs::canonicalize(path).expect(STATIC)),
    };
    // As above.
    let _ = writeln!(io::stderr(), "left out: {missing}");
    None
}

/// Returns the path of a file in `packaging`.
pub(crate) fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("packaging").join(file)
}

/// Returns the text of a file in `packaging`.
pub(crate) fn packaged(file: &str) -> String {
    fs::read_to_string(packaging(file)).unwrap()
}
