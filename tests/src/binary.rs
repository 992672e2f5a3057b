//! The `tidings` binary that cargo has just built.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tidings_cluster::Engine;

use crate::database::location;

/// Cargo names the binary; otherwise it is in the build directory of the running test.
fn binary() -> PathBuf {
    if let Some(named) = env::var_os("CARGO_BIN_EXE_tidings") {
        return named.into();
    }
    let test = env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let binary = profile.join(format!("tidings{}", env::consts::EXE_SUFFIX));
    assert!(binary.exists(), "{} does not exist: run the tests with cargo test", binary.display());
    binary
}

/// Returns a command that runs the binary without the user's `TIDINGS_` variables and with an empty standard input. Only
/// `TIDINGS_STORE_REPLAY` remains, so that all tests can run in the mode that repeats every write.
pub fn command() -> Command {
    let mut command = Command::new(binary());
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TIDINGS_") && name != "TIDINGS_STORE_REPLAY" {
            command.env_remove(name);
        }
    }
    command.env("RUST_LOG", "info").env("NO_COLOR", "1").env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// Returns a command that runs the binary in a directory, on the database `tidings.db` in it. On PostgreSQL the variable
/// for the database names the one that stands for the file, so that a flag still overrides it.
pub fn command_in(directory: &Path) -> Command {
    let mut command = command();
    command.current_dir(directory);
    if Engine::chosen() == Engine::Postgres {
        command.env("TIDINGS_DB", location(&directory.join("tidings.db")));
    }
    command
}

#[derive(Debug)]
pub struct Output {
    /// The exit status; -1 if a signal ended the command.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    #[must_use]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// Asserts that `tidings check` found no fault, given its lines for people.
    ///
    /// The PostgreSQL server of the tests fails one check: its settings are fast and do not survive a crash.
    #[track_caller]
    pub fn assert_sound(&self) {
        let is_fault = |line: &&str| line.starts_with('✗') && !line.contains("  durability  ");
        let faults: Vec<&str> = self.stdout.lines().filter(is_fault).collect();
        assert!(matches!(self.status, 0 | 1) && self.stdout.contains("✓ ok"), "{self:?}");
        assert_eq!(faults, [] as [&str; 0]);
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

pub fn run(mut command: Command, input: impl AsRef<[u8]>) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_owned();
    // A command that fails early does not read all of its input, so a broken pipe is not an error here.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
