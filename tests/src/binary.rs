//! The `tidings` binary that cargo has just built.

use std::env;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The binary: where cargo says, else beside the directory of the running test.
fn binary() -> PathBuf {
    if let Some(named) = env::var_os("CARGO_BIN_EXE_tidings") {
        return named.into();
    }
    let test = env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let binary = profile.join(format!("tidings{}", env::consts::EXE_SUFFIX));
    assert!(binary.exists(), "there is no {}: run the tests with cargo test", binary.display());
    binary
}

/// The binary as a command, with none of the settings of whoever runs the tests, and nothing on its input.
pub fn command() -> Command {
    let mut command = Command::new(binary());
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TIDINGS_") {
            command.env_remove(name);
        }
    }
    command.env("RUST_LOG", "info").env("NO_COLOR", "1").env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// What a command that has ended left behind.
#[derive(Debug)]
pub struct Output {
    /// Its exit status; -1 when a signal ended it.
    pub status: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Output {
    /// The output of a command that was expected to succeed.
    ///
    /// # Panics
    /// When it did not.
    #[must_use]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }

    /// The one JSON object on standard output.
    ///
    /// # Panics
    /// When there is none, or more.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Runs a command to its end, with `input` on its standard input.
///
/// # Panics
/// When it cannot be started.
pub fn run(mut command: Command, input: impl AsRef<[u8]>) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_owned();
    // A command that refuses early reads no input to its end: the pipe that breaks then is no failure.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
