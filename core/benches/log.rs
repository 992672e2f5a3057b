//! Measures the access log as it grows: `cargo bench -p tidings-core --bench log`.
//!
//! It prints the bytes per line, and the times of the three log queries and of the reports with 10,000 lines and with
//! `LINES` lines (an environment variable, 10,000,000 by default). It also prints how long acts wait while the store
//! removes old lines, and while it removes the name of a member from many logged paths.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use tidings_core::Tidings;
use tidings_core::account::{Caller, SignUp};
use tidings_core::analysis::{self, Communication, GetDaysAgo, GetLog, GetSummary, Operation};
use tidings_core::answer::SUCCESS;
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::config::Config;
use tidings_core::stats::Stats;

/// The number of frequent members. One more member is rare.
const MEMBERS: usize = 40;
/// The approximate number of communications of the rare member in each part of the log.
const RARE_COMMUNICATIONS: u64 = 150;
const POSTS: u64 = 10_000;
/// 2026-11-20T08:36:00Z.
const END: Timestamp = Timestamp::from_millis(1_795_163_760_000);
/// The number of visitors of the day that is measured for the size of a visitor.
const VISITORS: u32 = 100_000;
const DAY: i64 = 86_400_000;
/// The period of the traffic in milliseconds: half a year.
const SPAN: i64 = 180 * DAY;
/// The number of days whose lines retention removes in one run.
const PRUNED: i64 = 20;
/// The number of logged paths with the name of the removed member.
const PATHS_WITH_NAME: u64 = 60_000;
/// How long acts are measured during the change of a removed member's lines, which takes less time.
const CHANGE_TIME: Duration = Duration::from_secs(10);

struct Traffic {
    members: Vec<Caller>,
    operations: Vec<(Operation, &'static str)>,
    seed: u64,
}

impl Traffic {
    fn new(tidings: &Tidings) -> Self {
        let member = |n: usize| {
            let (id, pw) = (format!("20{n:05}"), String::from("correct horse"));
            let form = SignUp { id: id.clone(), pw: pw.clone(), pw_check: pw, nickname: id, email: None };
            Caller::token(tidings.call(&Caller::Guest, form.clone()).expect("the id is free").access_token)
        };
        let fixed =
            ["/get_recommendation_newsfeed", "/get_popularity_newsfeed", "/get_userinfo", "/get_all_notice"];
        let mut operations: Vec<_> = fixed.map(|path| (Operation::new("GET", path), path)).into();
        operations.push((Operation::new("GET", "/post_view/{post_obi}"), "/post_view"));
        operations.push((Operation::new("GET", "/post_like/{post_obi}"), "/post_like"));
        Self { members: (0..=MEMBERS).map(member).collect(), operations, seed: 7 }
    }

    /// Returns the next number of a fixed pseudo-random sequence, below `below`.
    ///
    /// Source: Marsaglia, *Xorshift RNGs*, 2003.
    fn next(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % below
    }

    /// Records a communication of the rare member, or else of a guest or a frequent member.
    fn communicate(&mut self, tidings: &Tidings, is_rare: bool) {
        // Half of the communications come from guests.
        let member = self.next(MEMBERS as u64 * 2);
        let member =
            if is_rare { Some(MEMBERS) } else { usize::try_from(member).ok().filter(|n| *n < MEMBERS) };
        let operation = usize::try_from(self.next(self.operations.len() as u64)).unwrap_or_default();
        let (operation, path) = self.operations[operation];
        let path = match path {
            "/post_view" | "/post_like" => format!("{path}/6560c1a2ffeeddccbb{:06x}", self.next(POSTS)),
            path => path.to_owned(),
        };
        let address = u32::try_from(self.next(2_000)).unwrap_or_default();
        record(tidings, member.map_or(&Caller::Guest, |n| &self.members[n]), operation, &path, address);
    }
}

fn record(tidings: &Tidings, caller: &Caller, operation: Operation, path: &str, address: u32) {
    let address = IpAddr::V4(Ipv4Addr::from(address));
    let (status, result, user_agent) = (200, SUCCESS, b"okhttp/4.12.0");
    let communication = Communication { caller, operation, path, status, result, address, user_agent };
    analysis::record(tidings, &communication);
}

fn wait_for_writes(tidings: &Tidings) {
    loop {
        let is_last = Stats::of(tidings).records_waiting == 0;
        analysis::insert_device(tidings, "pc").wait().expect("the store writes");
        if is_last {
            return;
        }
    }
}

/// Returns the size of a file, or 0 if it does not exist.
fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Returns the median time of 101 runs of `work`.
fn time(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[50]
}

/// Returns the time of a report after a change.
fn uncached(tidings: &Tidings, report: &(impl tidings_core::operation::Operation + Clone)) -> Duration {
    time(|| {
        // A change makes the cached answer stale, and a second later it is not returned.
        analysis::insert_device(tidings, "pc").wait().expect("the store writes");
        tidings.clock().advance(1_000);
        tidings.call(&Caller::Operator, report.clone()).expect("the store answers");
    })
}

fn measure(tidings: &Tidings, lines: u64) {
    let op = &Caller::Operator;
    let (months, days, hours, limit) = (1, 0, 0, 100);
    let date = time(|| {
        drop(tidings.call(op, analysis::GetLogDate { months, days, hours, limit }).expect("the log is read"));
    });
    let user = |id: &str| {
        let of_user = || analysis::GetLogUser { user_id: id.into(), limit: 100 };
        time(|| drop(tidings.call(op, of_user()).expect("the log is read")))
    };
    let (frequent, rare) = (user("2000007"), user("2000040"));
    let both = analysis::GetLogUserDate { user_id: "2000007".into(), months, days, hours, limit };
    let both = time(|| drop(tidings.call(op, both.clone()).expect("the log is read")));
    let (summary, days) = (uncached(tidings, &GetSummary {}), uncached(tidings, &GetDaysAgo { days: 30 }));
    eprintln!(
        "{lines:>10} lines: 100 of a period {date:?}, of a frequent member {frequent:?}, of a rare member {rare:?}, of a \
         member in a period {both:?}"
    );
    eprintln!("{:>10} with a commit: get_analysis {summary:?}, 30 days ago {days:?}", "");
}

/// Prints the median and the longest wait of consecutive acts while `continues` returns true.
fn waits(tidings: &Tidings, what: &str, mut continues: impl FnMut() -> bool) {
    let (mut times, began) = (Vec::new(), Instant::now());
    while continues() {
        let began = Instant::now();
        analysis::insert_device(tidings, "pc").wait().expect("the store writes");
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    eprintln!(
        "{what}: of {} acts in {:?} the median waits {median:?}, the longest {longest:?}",
        times.len(),
        began.elapsed()
    );
}

/// Prints how long acts wait while retention removes lines.
fn prune(tidings: &Tidings, before: Timestamp) {
    let old = GetLog { until: Some(before.to_string()), limit: Some(1), ..GetLog::default() };
    let mut checked = Instant::now();
    waits(tidings, "while old lines are removed", || {
        if checked.elapsed() < Duration::from_millis(200) {
            return true;
        }
        checked = Instant::now();
        // Stops when there are no old lines left.
        !tidings.call(&Caller::Operator, old.clone()).expect("the log is read").log.is_empty()
    });
}

/// Records requests for the log of a member, whose paths contain the member's name.
fn record_paths_with_name(tidings: &Tidings, member: &str, times: u64) {
    let operation = Operation::new("GET", "/get_log_user/{user_id}/{limit}");
    for n in 0..times {
        record(tidings, &Caller::Guest, operation, &format!("/get_log_user/{member}/{n}"), 0);
        if n % 4_000 == 0 {
            wait_for_writes(tidings);
        }
    }
    wait_for_writes(tidings);
}

#[expect(clippy::cast_possible_wrap, reason = "millions of lines")]
fn main() {
    let lines: u64 = std::env::var("LINES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000_000);
    let dir = tempfile::tempdir().expect("there is room for a database");
    let path = dir.path().join("log.db");
    let clock = Clock::fixed(END - SPAN);
    // Tokens stay valid for the whole half year.
    let mut config = Config { token_days: 1_000, ..Config::default() };
    config.analysis.log_lines_per_client = None;
    let open = || {
        Tidings::builder(&path)
            .config(config.clone())
            .clock(clock.clone())
            .open()
            .expect("the database opens")
    };
    let tidings = open();
    let mut traffic = Traffic::new(&tidings);
    drop(tidings);
    let (tidings, before) = (open(), bytes(&path));
    tidings.start_background().expect("the keys load");
    let mut written = 0;
    let mut writing = Duration::ZERO;
    for step in [10_000.min(lines), lines] {
        let began = Instant::now();
        let rare_step = (step - written) / RARE_COMMUNICATIONS;
        while written < step {
            for _ in 0..4_000.min(step - written) {
                clock.advance(SPAN / lines as i64);
                traffic.communicate(&tidings, written % rare_step.max(1) == 0);
                written += 1;
            }
            // Waits for the disk, so that the queue never overflows.
            wait_for_writes(&tidings);
        }
        writing += began.elapsed();
        measure(&tidings, written);
    }
    drop(tidings);
    let each = tenths(bytes(&path) - before, lines);
    eprintln!("{each} bytes per line, with indexes, paths, counters and visitors; {writing:?} to write");

    clock.advance(PRUNED * DAY);
    let tidings = open();
    tidings.start_background().expect("the keys load, and retention starts");
    prune(&tidings, clock.now() - SPAN);
    record_paths_with_name(&tidings, "2000007", PATHS_WITH_NAME);
    let began = Instant::now();
    tidings
        .call(&Caller::Operator, tidings_core::member::Remove { user_id: "2000007".into() })
        .expect("the member exists");
    eprintln!("a member with {PATHS_WITH_NAME} logged paths is removed in {:?}", began.elapsed());
    drop(tidings);
    let tidings = open();
    tidings.start_background().expect("the keys load, and the change of the lines starts");
    let began = Instant::now();
    waits(&tidings, "while a removed member's lines are changed", || began.elapsed() < CHANGE_TIME);
    drop(tidings);

    let (one, each) = (day_of_visitors(1), day_of_visitors(VISITORS));
    eprintln!("{} bytes per line of one visitor on one day", tenths(one, VISITORS.into()));
    eprintln!("{} bytes per visitor of a day, without the line", tenths(each - one, VISITORS.into()));
}

/// Returns the bytes of a day with [`VISITORS`] lines, of `visitors` visitors in turn.
fn day_of_visitors(visitors: u32) -> u64 {
    let dir = tempfile::tempdir().expect("there is room for a database");
    let path = dir.path().join("visitors.db");
    let mut config = Config::default();
    config.analysis.log_lines_per_client = None;
    let builder = || Tidings::builder(&path).config(config.clone()).clock(Clock::fixed(END));
    let open = || builder().open().expect("the database opens");
    let tidings = open();
    tidings.start_background().expect("the keys load");
    drop(tidings);
    let (tidings, before) = (open(), bytes(&path));
    let operation = Operation::new("GET", "/get_device");
    for n in 0..VISITORS {
        record(&tidings, &Caller::Guest, operation, "/get_device", n % visitors);
        if n % 4_000 == 0 {
            wait_for_writes(&tidings);
        }
    }
    drop(tidings);
    bytes(&path) - before
}

/// Returns `bytes` divided by `of`, with one decimal.
fn tenths(bytes: u64, of: u64) -> String {
    let tenths = bytes * 10 / of;
    format!("{}.{}", tenths / 10, tenths % 10)
}
