//! Once a second the command reads the lines since shortly before the last time, because a line is written a moment after its
//! request, and several servers write at the same time. It remembers which of them it has printed.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tidings_client::Error;
use tidings_client::shown::escape;
use tidings_core::analysis::{GetLog, LOG_MAX, LogLine, LogPlace, Window};
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::error::Code;
use tidings_core::operation::Operation as _;

use crate::output::{self, has_reader, local_to_second, zone};
use crate::prelude::*;

const PAUSE: Duration = Duration::from_secs(1);
/// Applies when the server restarts or is busy.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The maximum delay between a request and its line in the log.
const LATE_MS: i64 = 10_000;
/// How long Ctrl-C waits for a response of the server.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Prints `older`, which is newest first, and then new lines. `skips_older` is whether no older lines were asked for.
/// Ctrl-C and a reader that closes the pipe are not failures.
pub(super) fn run(session: &Session, filter: GetLog, older: &[LogLine], skips_older: bool) -> Exit {
    const HOUR_MS: i64 = 3_600_000;
    let stop = stop()?;
    // Times are by the clock of the service, which may differ from that of this machine.
    let now = session.service.since(Window { hours: 1, ..Window::default() })? + HOUR_MS;
    let ahead_ms = now - Clock::system().now();
    let first = match older.last() {
        Some(oldest) => oldest.place,
        None if skips_older => LogPlace::at(now),
        // No line was printed yet, so even a late one is new.
        None => LogPlace::at(now - LATE_MS),
    };
    let mut follower = Follower { session, filter, first, printed: BTreeSet::new(), read_to: now };
    if !session.out.is_for_programs() {
        output::note(&format!("Times are in {}.", zone()));
    }
    let mut has_reader = follower.print(older)?;
    let mut is_failing = false;
    let mut pause = Duration::ZERO;
    loop {
        match stop.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        }
        if !has_reader || is_closed() {
            return Ok(ExitCode::SUCCESS);
        }
        pause = match follower.look(Clock::system().now() + ahead_ms) {
            Ok(lines) => {
                has_reader = follower.print(&lines)?;
                is_failing = false;
                PAUSE
            }
            Err(error) if is_passing(&error) => {
                if !is_failing {
                    output::note(&escape::block(&format!("note: {error}; trying again")));
                }
                is_failing = true;
                PAUSE_AFTER_FAILURE
            }
            Err(error) => return Err(error.into()),
        };
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Unreachable { .. })
        || matches!(error.code(), Some(Code::Overloaded | Code::TooManyRequests))
}

/// Makes Ctrl-C send a message, instead of ending the process at once.
fn stop() -> Result<Receiver<()>, Failure> {
    let (send, receive) = mpsc::channel();
    let set = ctrlc::set_handler(move || {
        // Without a receiver the command is ending already.
        let _ = send.send(());
        // A request may still wait for its response. Only whole lines have been written.
        thread::sleep(STOP_TIMEOUT);
        std::process::exit(0);
    });
    set.map_err(|e| Failure::system(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(receive)
}

/// Returns whether the reader of standard output has closed the pipe, which a write would notice only with the next line.
#[cfg(unix)]
fn is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
fn is_closed() -> bool {
    false
}

struct Follower<'s> {
    session: &'s Session,
    filter: GetLog,
    /// Lines before this one are not printed: they are older than what was asked for.
    first: LogPlace,
    /// The lines printed that the next look may find again.
    printed: BTreeSet<LogPlace>,
    read_to: Timestamp,
}

impl Follower<'_> {
    fn look(&mut self, now: Timestamp) -> Result<Vec<LogLine>, Error> {
        let since = Some((self.read_to - LATE_MS).to_string());
        let filter = GetLog { since, ..self.filter.clone() };
        let (mut lines, mut place) = (Vec::new(), None);
        loop {
            let page = self.session.service.call(filter.page(place, LOG_MAX))?;
            lines.extend(page.log);
            place = page.next;
            if place.is_none() {
                break;
            }
        }
        // On a server, each look is itself a line of the log, which the next look would find.
        let is_look =
            |line: &LogLine| self.session.service.server().is_some() && line.entry.path == GetLog::SPEC.path;
        lines
            .retain(|line| line.place >= self.first && !self.printed.contains(&line.place) && !is_look(line));
        self.read_to = self.read_to.max(now);
        Ok(lines)
    }

    /// Prints `lines`, which are newest first, oldest first. Returns false if the reader has closed the pipe.
    fn print(&mut self, lines: &[LogLine]) -> Result<bool, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        for line in lines.iter().rev() {
            let text = if self.session.out.is_for_programs() {
                serde_json::to_string(line)
                    .expect("the keys of a line are text, and no value fails to serialize")
            } else {
                of_people(line)
            };
            if !has_reader(writeln!(out, "{text}"))? {
                return Ok(false);
            }
        }
        self.printed.extend(lines.iter().map(|line| line.place));
        // The next look finds no older line.
        self.printed = self.printed.split_off(&LogPlace::at(self.read_to - 2 * LATE_MS));
        has_reader(out.flush())
    }
}

fn of_people(LogLine { entry, result, .. }: &LogLine) -> String {
    let date = local_to_second(entry.date);
    let (id, method, path, status) = (&entry.user_id, &entry.method, &entry.path, entry.status);
    let result = result.as_deref().unwrap_or_default();
    escape::line(format!("{date}  {id}  {method} {path}  {status}  {result}").trim_end()).into_owned()
}
