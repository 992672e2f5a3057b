//! The typed client in `clients/typescript`: it compiles, and its own tests pass with the real binary.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use tidings_tests::{command, only_on_sqlite};

/// The variable that makes a missing program a failure. `.ci/run` sets it to `required`.
const REQUIRED: &str = "TIDINGS_TEST_CLIENT";
/// The oldest version of Node that runs the tests.
const NODE_MIN: u32 = 18;
/// The time limits of the installation and of the tests, in seconds. Other tests may keep the machine busy.
const INSTALL_MAX: &str = "120";
const TEST_MAX: &str = "600";

#[test]
fn the_typed_client_compiles_and_its_tests_pass() {
    only_on_sqlite!("the tests of the client start servers of their own");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("clients/typescript");
    if let Err(missing) = prepare(&directory) {
        leave_out(&missing);
        return;
    }
    let mut test = limited(TEST_MAX, &directory);
    let done = test.args(["npm", "test"]).env("TIDINGS", command().get_program()).output().unwrap();
    let shown = shown(&done);
    assert!(done.status.success(), "npm test: {}\n{shown}", done.status);
    assert!(shown.contains("# fail 0") && !shown.contains("# tests 0"), "{shown}");
    for (_, reason) in shown.lines().filter_map(|line| line.split_once("# SKIP ")) {
        leave_out(reason);
    }
}

/// Installs the packages of the client, unless they are installed.
///
/// # Errors
/// When Node or the packages are missing; the error says which.
fn prepare(directory: &Path) -> Result<(), String> {
    let node = Command::new("node").arg("--version").output().map_err(|_| "Node is not installed")?;
    let version = String::from_utf8_lossy(&node.stdout).into_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < NODE_MIN) {
        return Err(format!("Node {} is older than {NODE_MIN}", version.trim()));
    }
    let changed = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified());
    let wanted: SystemTime = changed(directory.join("package-lock.json")).unwrap();
    if changed(directory.join("node_modules/.package-lock.json")).is_ok_and(|installed| installed >= wanted) {
        return Ok(());
    }
    let mut install = limited(INSTALL_MAX, directory);
    install.args(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0"]);
    match install.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(_) => Err("its packages are not installed, and npm ci fails".to_owned()),
        Err(e) => Err(format!("npm ci does not run: {e}")),
    }
}

/// Says that tests are left out, or fails if they must not be.
fn leave_out(reason: &str) {
    assert!(std::env::var_os(REQUIRED).is_none_or(|value| value != "required"), "{reason}");
    // Unlike `eprintln!`, this is not captured. Nothing can be done if standard error is closed.
    let _ = writeln!(io::stderr(), "left out: tests of the typed client: {reason}");
}

/// Returns a command that runs its arguments in a directory, for a limited time.
fn limited(seconds: &str, directory: &Path) -> Command {
    let mut timeout = Command::new("timeout");
    timeout.args(["--kill-after=10", seconds]).current_dir(directory).stdin(Stdio::null());
    timeout
}

fn shown(done: &Output) -> String {
    [&*String::from_utf8_lossy(&done.stdout), &*String::from_utf8_lossy(&done.stderr)].concat()
}
