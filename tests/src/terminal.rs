//! The binary at a terminal: what people see and type.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pty_process::Size;
use pty_process::blocking::{self, Pty};

use crate::wait::wait_until;

/// A command that runs at a terminal of its own.
pub struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts a command at a terminal whose lines have so many cells.
    ///
    /// # Panics
    /// When there is no terminal to be had, or the command does not start.
    pub fn start(command: Command, cells: u16) -> Self {
        let (pty, side) = blocking::open().unwrap();
        pty.resize(Size::new(24, cells)).unwrap();
        let pty = Arc::new(pty);
        let child = blocking::Command::from(command).env("TERM", "xterm").spawn(side).unwrap();
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let (all, screen) = (Arc::clone(&shown), Arc::clone(&pty));
        // Reading fails once the command has ended.
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = (&*screen).read(&mut buffer) {
                all.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, pty, shown, reader }
    }

    /// Types a line once `question` is shown.
    ///
    /// # Panics
    /// When it is not shown in time.
    #[must_use]
    pub fn answer(self, question: &str, line: &str) -> Self {
        self.press(question, &format!("{line}\n"))
    }

    /// Presses keys once `question` is shown.
    ///
    /// # Panics
    /// When it is not shown in time.
    #[must_use]
    pub fn press(self, question: &str, keys: &str) -> Self {
        wait_until(question, || String::from_utf8_lossy(&self.shown.lock().unwrap()).contains(question));
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
        self
    }

    /// What was shown in all, and the exit status; -1 when a signal ended it.
    ///
    /// # Panics
    /// When what was shown is no text.
    pub fn end(mut self) -> (i32, String) {
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.join().unwrap();
        let shown = std::mem::take(&mut *self.shown.lock().unwrap());
        (status, String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
    }
}
