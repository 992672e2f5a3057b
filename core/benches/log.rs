//! What the access log costs as it grows: bytes a line, how long its three questions and the reports take at 10,000
//! lines and at `LINES` (10,000,000 unless the variable says otherwise), and how long an act waits at most while old
//! lines go and while a member is removed whom many paths name.
//!
//! `cargo bench -p tidings-core --bench log`

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use tidings_core::account::{self, Caller, SignUp};
use tidings_core::analysis::{self, Communication, LogFilter, Operation, Question, Window};
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::config::Config;
use tidings_core::stats::Stats;
use tidings_core::{Tidings, admin, search};

/// Members who come often, and behind them one who comes seldom: some 150 times in each part of the log.
const MEMBERS: usize = 40;
const SELDOM: u64 = 150;
const POSTS: u64 = 10_000;
/// 2026-11-20T08:36:00Z.
const END: Timestamp = Timestamp::from_millis(1_795_163_760_000);
/// Visitors of the one day on which they are measured.
const VISITORS: u32 = 100_000;
const DAY: i64 = 86_400_000;
/// What the traffic is spread over, so that the log is of half a year.
const SPAN: i64 = 180 * DAY;
/// Days whose lines go at once.
const PRUNED: i64 = 20;
/// Paths that name the member who is removed.
const NAMING: u64 = 60_000;
/// How long acts are measured while the lines of who was removed are changed: longer than that takes.
const CHANGING: Duration = Duration::from_secs(10);

struct Traffic {
    members: Vec<Caller>,
    operations: Vec<(Operation, &'static str)>,
    seed: u64,
}

impl Traffic {
    fn new(tidings: &Tidings) -> Self {
        let member = |n: usize| {
            let (id, pw) = (format!("20{n:05}"), String::from("correct horse"));
            let form = SignUp { id: id.clone(), pw: pw.clone(), pw_check: pw, nickname: id };
            Caller::token(account::sign_up(tidings, &form).expect("the id is free").access_token)
        };
        let fixed =
            ["/get_recommendation_newsfeed", "/get_popularity_newsfeed", "/get_userinfo", "/get_all_notice"];
        let mut operations: Vec<_> = fixed.map(|path| (Operation::new("GET", path), path)).into();
        operations.push((Operation::new("GET", "/post_view/{post_obi}"), "/post_view"));
        operations.push((Operation::new("GET", "/post_like/{post_obi}"), "/post_like"));
        Self { members: (0..=MEMBERS).map(member).collect(), operations, seed: 7 }
    }

    /// The next number of a fixed sequence, below `below`. Source: Marsaglia, *Xorshift RNGs*, 2003.
    fn next(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % below
    }

    fn communicate(&mut self, tidings: &Tidings, seldom: bool) {
        // Half of it is guests'.
        let who = self.next(MEMBERS as u64 * 2);
        let who = if seldom { Some(MEMBERS) } else { usize::try_from(who).ok().filter(|who| *who < MEMBERS) };
        let what = usize::try_from(self.next(self.operations.len() as u64)).unwrap_or_default();
        let (operation, path) = self.operations[what];
        let path = match path {
            "/post_view" | "/post_like" => format!("{path}/6560c1a2ffeeddccbb{:06x}", self.next(POSTS)),
            path => path.to_owned(),
        };
        let address = IpAddr::V4(Ipv4Addr::from(u32::try_from(self.next(2_000)).unwrap_or_default()));
        let caller = who.map_or(&Caller::Nobody, |who| &self.members[who]);
        let user_agent = b"okhttp/4.12.0";
        let communication =
            Communication { caller, operation, path: &path, status: 200, address, user_agent };
        analysis::record(tidings, &communication);
    }
}

/// Has everything written that was recorded.
fn settle(tidings: &Tidings) {
    loop {
        let is_last = Stats::of(tidings).records_waiting == 0;
        analysis::insert_device(tidings, "pc").wait().expect("it is counted");
        if is_last {
            return;
        }
    }
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// The median time of a work.
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

fn measure(tidings: &Tidings, lines: u64) {
    let (op, month) = (&Caller::Operator, Window { months: 1, ..Window::default() });
    let date = time(|| drop(analysis::log_date(tidings, op, month, 100).expect("lines")));
    let user = |id| time(|| drop(analysis::log_user(tidings, op, id, 100).expect("lines")));
    let (often, seldom) = (user("2000007"), user("2000040"));
    let both = time(|| drop(analysis::log_user_date(tidings, op, "2000007", month, 100).expect("lines")));
    let anew = |question| {
        time(|| {
            // Something is counted, so that nothing kept is answered.
            analysis::insert_device(tidings, "pc").wait().expect("it is counted");
            analysis::answer(tidings, op, question).expect("an answer");
        })
    };
    let (summary, days, devices) =
        (anew(Question::Summary), anew(Question::DaysAgo(30)), anew(Question::Devices));
    let mut searched = 0;
    let realtime = time(|| {
        searched += 1;
        search::log(tidings, op, None, &format!("term {}", searched % 40)).wait().expect("it is counted");
        analysis::answer(tidings, op, Question::Realtime).expect("an answer");
    });
    eprintln!(
        "{lines:>10} lines: 100 of the date {date:?}, of a member {often:?}, of one who comes seldom {seldom:?}, of both \
         {both:?}"
    );
    eprintln!(
        "{:>10} with a commit: get_analysis {summary:?}, 30 days ago {days:?}, get_device {devices:?}, \
         get_search_realtime {realtime:?}",
        ""
    );
}

/// How long acts wait, one after the other, while something goes on: half of them, and the one that waits longest.
fn waits(tidings: &Tidings, what: &str, mut goes_on: impl FnMut() -> bool) {
    let (mut times, began) = (Vec::new(), Instant::now());
    while goes_on() {
        let began = Instant::now();
        analysis::insert_device(tidings, "pc").wait().expect("it is counted");
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

/// How long acts wait while the lines of some days go.
fn prune(tidings: &Tidings, before: Timestamp) {
    let old = LogFilter { until: Some(before), ..LogFilter::default() };
    let mut asked = Instant::now();
    waits(tidings, "while old lines go", || {
        if asked.elapsed() < Duration::from_millis(200) {
            return true;
        }
        asked = Instant::now();
        // What is gone is not looked for any more.
        !analysis::browse(tidings, &Caller::Operator, &old, None, 1).expect("a page").lines.is_empty()
    });
}

/// Has many paths name a member.
fn name(tidings: &Tidings, member: &str, times: u64) {
    let operation = Operation::new("GET", "/get_log_user/{user_id}/{limit}");
    for n in 0..times {
        let path = format!("/get_log_user/{member}/{n}");
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let caller = &Caller::Nobody;
        let communication =
            Communication { caller, operation, path: &path, status: 200, address, user_agent: b"" };
        analysis::record(tidings, &communication);
        if n % 4_000 == 0 {
            settle(tidings);
        }
    }
    settle(tidings);
}

#[expect(clippy::cast_possible_wrap, reason = "millions of lines")]
fn main() {
    let lines: u64 = std::env::var("LINES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000_000);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log.db");
    let clock = Clock::fixed(END - SPAN);
    // Tokens outlive the half year.
    let mut config = Config { token_days: 1_000, ..Config::default() };
    config.analysis.log_lines_per_client = None;
    let open =
        || Tidings::builder(&path).config(config.clone()).clock(clock.clone()).open().expect("it opens");
    let tidings = open();
    let mut traffic = Traffic::new(&tidings);
    drop(tidings);
    let (tidings, before) = (open(), bytes(&path));
    tidings.start_background().expect("keys");
    let mut written = 0;
    let mut writing = Duration::ZERO;
    for step in [10_000.min(lines), lines] {
        let began = Instant::now();
        let rare = (step - written) / SELDOM;
        while written < step {
            for _ in 0..4_000.min(step - written) {
                clock.advance(SPAN / lines as i64);
                traffic.communicate(&tidings, written % rare.max(1) == 0);
                written += 1;
            }
            // Waits for the disk, so that nothing is lost for want of room.
            settle(&tidings);
        }
        writing += began.elapsed();
        measure(&tidings, written);
    }
    drop(tidings);
    let each = tenths(bytes(&path) - before, lines);
    eprintln!("{each} bytes a line, with indexes, paths, counters and visitors; {writing:?} to write");

    clock.advance(PRUNED * DAY);
    let tidings = open();
    tidings.start_background().expect("keys, and old lines go");
    prune(&tidings, clock.now() - SPAN);
    name(&tidings, "2000007", NAMING);
    let began = Instant::now();
    admin::remove_user(&tidings, &Caller::Operator, "2000007").expect("the member is there");
    eprintln!("a member whom {NAMING} paths name is removed in {:?}", began.elapsed());
    drop(tidings);
    let tidings = open();
    tidings.start_background().expect("keys, and the member's lines become nobody's");
    let began = Instant::now();
    waits(&tidings, "while the lines of who was removed are changed", || began.elapsed() < CHANGING);
    drop(tidings);

    let (one, each) = (day_of_visitors(1), day_of_visitors(VISITORS));
    eprintln!("{} bytes a line of one visitor on one day", tenths(one, VISITORS.into()));
    eprintln!("{} bytes a visitor of a day, without the line", tenths(each - one, VISITORS.into()));
}

/// The bytes of a day with [`VISITORS`] lines, of so many visitors in turn.
fn day_of_visitors(visitors: u32) -> u64 {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("visitors.db");
    let mut config = Config::default();
    config.analysis.log_lines_per_client = None;
    let builder = || Tidings::builder(&path).config(config.clone()).clock(Clock::fixed(END));
    let open = || builder().open().expect("it opens");
    let tidings = open();
    tidings.start_background().expect("keys");
    drop(tidings);
    let (tidings, before) = (open(), bytes(&path));
    let operation = Operation::new("GET", "/get_device");
    for n in 0..VISITORS {
        let address = IpAddr::V4(Ipv4Addr::from(n % visitors));
        let (caller, path) = (&Caller::Nobody, "/get_device");
        let communication = Communication { caller, operation, path, status: 200, address, user_agent: b"" };
        analysis::record(&tidings, &communication);
        if n % 4_000 == 0 {
            settle(&tidings);
        }
    }
    drop(tidings);
    bytes(&path) - before
}

fn tenths(bytes: u64, of: u64) -> String {
    let tenths = bytes * 10 / of;
    format!("{}.{}", tenths / 10, tenths % 10)
}
