//! A terminal emulator (tmux) that runs a shell, for tests of full-screen programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::wait::{WAIT_MAX, holds_within};

/// A terminal that runs a shell: a window of a private tmux server, which stops when the value is dropped.
pub struct Tmux {
    socket: PathBuf,
    // Dropped last, after the processes that run in it have ended.
    directory: TempDir,
}

impl Tmux {
    pub fn open(columns: u16, rows: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let terminal = Self { socket: directory.path().join("tmux"), directory };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = "exec env -u TIDINGS_DB -u NO_COLOR PS1='$ ' LC_ALL=C.UTF-8 sh -i";
        terminal.tmux(["-f", "/dev/null", "-u", "new-session", "-d", "-x", &columns, "-y", &rows, shell]);
        terminal.waits_for("$");
        terminal
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn tmux<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(args).current_dir(self.directory.path());
        let output = tmux.output().expect("these tests need tmux: install it");
        assert!(output.status.success(), "{tmux:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys by their names, such as `Enter`, `C-s` and `x`.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(["send-keys", "-t", ":"].iter().chain(keys));
    }

    pub fn types(&self, text: &str) {
        self.tmux(["send-keys", "-t", ":", "-l", text]);
    }

    /// Types a command into the shell and presses Enter.
    pub fn runs(&self, command: &str) {
        self.types(command);
        self.press(&["Enter"]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(["resize-window", "-t", ":", "-x", &columns, "-y", &rows]);
    }

    pub fn screen(&self) -> String {
        self.tmux(["capture-pane", "-p", "-t", ":"])
    }

    #[track_caller]
    pub fn waits_for(&self, text: &str) {
        let seen = holds_within(WAIT_MAX, || self.screen().contains(text));
        assert!(seen, "{text:?} was not shown within {WAIT_MAX:?}:\n{}", self.screen());
    }

    #[track_caller]
    pub fn waits_until_gone(&self, text: &str) {
        let gone = holds_within(WAIT_MAX, || !self.screen().contains(text));
        assert!(gone, "{text:?} was still shown after {WAIT_MAX:?}:\n{}", self.screen());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Programs in it receive SIGHUP. The tmux server may have stopped already.
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
