//! A real terminal, as somebody who sits before it has it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::wait::{WAIT_MAX, holds_within};

/// A terminal in which a shell runs: a window of a tmux of its own. It ends with this value.
pub struct Window {
    socket: PathBuf,
    // Goes last, when nothing runs in it any more.
    directory: TempDir,
}

impl Window {
    /// Opens a terminal of so many columns and rows.
    ///
    /// # Panics
    /// When there is no tmux.
    pub fn open(columns: u16, rows: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let terminal = Self { socket: directory.path().join("tmux"), directory };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = "exec env -u TIDINGS_DB -u NO_COLOR PS1='$ ' LC_ALL=C.UTF-8 sh -i";
        terminal.tmux(["-f", "/dev/null", "-u", "new-session", "-d", "-x", &columns, "-y", &rows, shell]);
        terminal.waits_for("$");
        terminal
    }

    /// Where it works.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn tmux<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(args).current_dir(self.directory.path());
        let output = tmux.output().expect("tmux, which these tests need: install it");
        assert!(output.status.success(), "{tmux:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys by their names, such as `Enter`, `C-s` and `x`.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(["send-keys", "-t", ":"].iter().chain(keys));
    }

    /// Types a text.
    pub fn types(&self, text: &str) {
        self.tmux(["send-keys", "-t", ":", "-l", text]);
    }

    /// Types a command into the shell, and runs it.
    pub fn runs(&self, command: &str) {
        self.types(command);
        self.press(&["Enter"]);
    }

    /// Makes it as large as this.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(["resize-window", "-t", ":", "-x", &columns, "-y", &rows]);
    }

    /// What is seen.
    pub fn screen(&self) -> String {
        self.tmux(["capture-pane", "-p", "-t", ":"])
    }

    /// Waits until a text is seen.
    ///
    /// # Panics
    /// When it is not seen in time.
    #[track_caller]
    pub fn waits_for(&self, text: &str) {
        let seen = holds_within(WAIT_MAX, || self.screen().contains(text));
        assert!(seen, "{text:?} was not seen within {WAIT_MAX:?}:\n{}", self.screen());
    }

    /// Waits until a text is seen no longer.
    ///
    /// # Panics
    /// When it is still seen after long.
    #[track_caller]
    pub fn waits_until_gone(&self, text: &str) {
        let gone = holds_within(WAIT_MAX, || !self.screen().contains(text));
        assert!(gone, "{text:?} was still seen after {WAIT_MAX:?}:\n{}", self.screen());
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // What runs in it is hung up on. It may have ended by itself.
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
