//! Programs of other projects that tests of `packaging` run, and the files there.

use std::fs;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    // All of them are taken before the first is free again.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// The variable that makes a missing program a failure. `.ci/run` sets it to `required`.
const REQUIRED: &str = "TIDINGS_TEST_PROGRAMS";

/// Returns whether a program is installed. If not, says that its test is left out.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new("which").arg(program).stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os(REQUIRED).is_none_or(|value| value != "required"), "{program} is not installed");
    leave_out(&format!("{program} is not installed"));
    false
}

/// The variable that makes a missing module of Python a failure. `.ci/run` sets it to `required`.
const MODULES_REQUIRED: &str = "TIDINGS_TEST_PYTHON";

/// Returns the directory with modules of Python that `.ci/run` installs, as `pip install --target` does.
pub(crate) fn python_modules() -> PathBuf {
    root().join("target/python")
}

/// Returns whether Python has a module. If not, says that its test is left out.
pub(crate) fn has_python_module(module: &str) -> bool {
    let mut import = Command::new("python3");
    import
        .args(["-c", &format!("import {module}")])
        .env("PYTHONPATH", python_modules())
        .stderr(Stdio::null());
    let found = import.status().is_ok_and(|status| status.success());
    let is_required = std::env::var_os(MODULES_REQUIRED).is_some_and(|value| value == "required");
    assert!(found || !is_required, "Python has no module {module}");
    if !found {
        leave_out(&format!("Python has no module {module}"));
    }
    found
}

/// The variable with the path of a static binary, as `packaging/static` builds it.
const STATIC: &str = "TIDINGS_TEST_STATIC";

/// Returns the static binary, for tests that run it where no other file is. If there is none, says that its test is left out.
pub(crate) fn static_binary() -> Option<PathBuf> {
    let Some(path) = std::env::var_os(STATIC) else {
        leave_out(&format!("{STATIC} names no static binary"));
        return None;
    };
    is_privileged().then(|| fs::canonicalize(path).expect(STATIC))
}

/// Returns whether tests may change the root directory and mount file systems, as root may outside of most containers. If
/// not, says that their test is left out.
pub(crate) fn is_privileged() -> bool {
    let mut mount = Command::new("unshare");
    mount.args(["--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
    let may = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !may {
        leave_out("this user may not mount file systems");
    }
    may
}

pub(crate) fn leave_out(why: &str) {
    // Unlike `eprintln!`, this is not captured. Nothing can be done if standard error is closed.
    let _ = writeln!(io::stderr(), "left out: {why}");
}

/// Returns the path of a file in `packaging`.
pub(crate) fn packaging(file: &str) -> PathBuf {
    root().join("packaging").join(file)
}

/// Returns the text of a file in `packaging`.
pub(crate) fn packaged(file: &str) -> String {
    fs::read_to_string(packaging(file)).unwrap()
}
