//! Runs a command in a pseudo-terminal, reads its output and types into it.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pty_process::Size;
use pty_process::blocking::{self, Pty};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::wait::wait_until;

pub struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// Ends the reader although the command has not ended.
    stop: Arc<AtomicBool>,
}

impl Terminal {
    /// Starts a command in a terminal with 24 rows of `cells` cells.
    pub fn start(command: Command, cells: u16) -> Self {
        let (pty, side) = blocking::open().unwrap();
        pty.resize(Size::new(24, cells)).unwrap();
        let pty = Arc::new(pty);
        let child = blocking::Command::from(command).env("TERM", "xterm").spawn(side).unwrap();
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let (all, screen) = (Arc::clone(&shown), Arc::clone(&pty));
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        // Reading fails once the command has ended.
        let reader = std::thread::spawn(move || {
            let pause = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let mut buffer = [0; 4096];
            while !stopped.load(Ordering::Relaxed) {
                if poll(&mut [PollFd::new(&*screen, PollFlags::IN)], Some(&pause)) == Ok(0) {
                    continue;
                }
                let Ok(count @ 1..) = (&*screen).read(&mut buffer) else { break };
                all.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, pty, shown, reader, stop }
    }

    /// Waits until `question` is shown, then types a line.
    #[must_use]
    pub fn answer(self, question: &str, line: &str) -> Self {
        self.press(question, &format!("{line}\n"))
    }

    /// Waits until `question` is shown, then presses keys.
    #[must_use]
    pub fn press(self, question: &str, keys: &str) -> Self {
        wait_until(question, || String::from_utf8_lossy(&self.shown.lock().unwrap()).contains(question));
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits until `question` is shown, and returns everything that was displayed.
    pub fn until(&self, question: &str) -> String {
        let shown = || String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
        wait_until(question, || shown().contains(question));
        shown()
    }

    /// Waits until `question` is shown, then sends SIGINT to the command and its children.
    #[must_use]
    pub fn interrupt(self, question: &str) -> Self {
        let terminal = self.press(question, "");
        let group = format!("-{}", terminal.child.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
        terminal
    }

    /// Waits until `question` is shown, then closes the terminal. Returns the exit status of the command (-1 after a signal).
    pub fn hang_up(self, question: &str) -> i32 {
        let Self { mut child, pty, reader, stop, .. } = self.press(question, "");
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        drop(pty);
        child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Waits for the command to exit, and returns its exit status (-1 after a signal) and everything it displayed.
    pub fn end(mut self) -> (i32, String) {
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.join().unwrap();
        let shown = std::mem::take(&mut *self.shown.lock().unwrap());
        (status, String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
    }
}
