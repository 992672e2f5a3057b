//! What a process has used, as Linux reports it in `/proc`, and the values of a metrics page.

use std::fs;
use std::time::Duration;

/// The duration of a clock tick in `/proc`, on every processor architecture that tidings supports.
const TICK: Duration = Duration::from_millis(10);

/// Returns the user and system time of a process and of its threads that have ended; `None` without `/proc`.
pub fn processor_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name is in parentheses and may itself contain parentheses and spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(TICK * (ticks()? + ticks()?))
}

/// Returns the bytes that a process made the system write to disks; `None` without `/proc`.
///
/// The system counts whole pages of its cache when they become dirty. A file system in memory counts nothing.
pub fn written_bytes(process: u32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

/// Returns the value of a metric without labels on a metrics page; `None` if the page does not have it.
pub fn metric(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
