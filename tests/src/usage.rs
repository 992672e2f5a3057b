//! What a process has used, as Linux reports it in `/proc`, and the values of a metrics page.

use std::fs;
use std::time::Duration;

/// The duration of a clock tick in `/proc`, on every processor architecture that tidings supports.
const TICK: Duration = Duration::from_millis(10);

/// Returns the processor time of a process and of its threads that have ended; `None` without `/proc`.
pub fn processor_time(process: u32) -> Option<Duration> {
    parse_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The sum of user and system time.
fn parse_stat(stat: &str) -> Option<Duration> {
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
    parse_io(&fs::read_to_string(format!("/proc/{process}/io")).ok()?)
}

fn parse_io(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

/// Returns the value of a metric without labels on a metrics page; `None` if the page does not have it.
pub fn metric(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added_even_if_the_name_has_parentheses() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 300 0 1 0 125 75 9 9 20 0 3 0 100 1000 10";
        assert_eq!(parse_stat(stat), Some(Duration::from_secs(2)));
        assert_eq!(parse_stat("42 (a) S 1"), None);
        assert!(processor_time(u32::MAX).is_none());
    }

    #[test]
    fn only_bytes_that_go_to_disks_are_read() {
        let io = "rchar: 7\nwchar: 9\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 8192\n\
                  cancelled_write_bytes: 4096\n";
        assert_eq!(parse_io(io), Some(8_192));
        assert_eq!(parse_io("wchar: 9\n"), None);
        assert!(written_bytes(u32::MAX).is_none());
    }

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let page =
            "# TYPE tidings_a counter\ntidings_a_total{x=\"1\"} 1\ntidings_a_total_b 2\ntidings_a 3.5\n";
        assert_eq!(metric(page, "tidings_a"), Some(3.5));
        assert_eq!((metric(page, "tidings_a_total"), metric(page, "tidings")), (None, None));
    }
}
