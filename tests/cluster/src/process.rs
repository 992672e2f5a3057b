//! The processes of a server: finding them, and sending signals to them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The timeout for everything that a server does, with much room for a busy machine.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < WAIT_MAX, "still waiting after {WAIT_MAX:?} until {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// A process that has ended already is no error.
pub(crate) fn send(signal: Signal, pids: &[i32]) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// A process that has ended, but whose parent has not asked for its exit status, does not count.
pub(crate) fn lives(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z')
}

pub(crate) fn children(parent: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

fn stat(pid: i32) -> Option<(char, i32)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may itself contain blanks and brackets.
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
