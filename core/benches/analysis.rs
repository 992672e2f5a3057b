//! What it costs to record what happens, and to report it.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::analysis::{self, Communication, LogFilter, Operation, Question, Window};
use tidings_core::config::Config;
use tidings_core::post::{self, Draft};
use tidings_core::stats::Stats;

const AGENT: &[u8] = b"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/131.0.0.0 Mobile Safari/537.36";

fn communicate(tidings: &Tidings, operation: Operation, path: &str, from: u32) {
    let communication = Communication {
        caller: &Caller::Nobody,
        operation,
        path,
        status: 200,
        address: IpAddr::V4(Ipv4Addr::from_bits(from)),
        user_agent: AGENT,
    };
    analysis::record(tidings, black_box(&communication));
}

/// Has everything written that was recorded.
fn settle(tidings: &Tidings) {
    loop {
        let is_last = Stats::of(tidings).records_waiting == 0;
        analysis::insert_device(tidings, "pc").wait().expect("the store writes");
        if is_last {
            return;
        }
    }
}

fn benches(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut config = Config::default();
    // All of it comes from a few clients.
    config.analysis.log_lines_per_client = None;
    let tidings = Tidings::builder(dir.path().join("bench.db")).config(config).open().expect("a database");
    tidings.start_background().expect("keys");
    let feed = Operation::new("GET", "/get_popularity_newsfeed");
    let path = "/get_popularity_newsfeed";

    // What whoever answers a request waits for: records are written between the measured stretches.
    c.bench_function("record a communication", |b| {
        b.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for first in (0..times).step_by(2_000) {
                settle(&tidings);
                let began = Instant::now();
                for _ in first..times.min(first + 2_000) {
                    communicate(&tidings, feed, path, 7);
                }
                spent += began.elapsed();
            }
            spent
        });
    });

    // What the writer does with them, commits included, 4,000 at a time.
    for (name, visitors) in [("1 visitor", 1), ("4,000 visitors", 4_000)] {
        c.bench_function(&format!("record and write 4,000 communications of {name}"), |b| {
            b.iter(|| {
                for n in 0..4_000 {
                    communicate(&tidings, feed, path, n % visitors);
                }
                settle(&tidings);
            });
        });
    }

    let draft = Draft { title: Some("t".into()), url: Some("https://a.b/".into()), ..Draft::default() };
    let id = post::insert(&tidings, &Caller::Operator, &draft).expect("a post").id.to_string();
    c.bench_function("1,000 views, together", |b| {
        b.iter(|| {
            let views: Vec<_> = (0..1_000).map(|_| post::view(&tidings, &Caller::Nobody, &id)).collect();
            for view in views {
                view.wait().expect("the store writes");
            }
        });
    });

    for question in [Question::Summary, Question::DaysAgo(30), Question::Devices, Question::Realtime] {
        c.bench_function(&format!("{question:?}, kept"), |b| {
            settle(&tidings);
            analysis::answer(&tidings, &Caller::Nobody, question).expect("an answer");
            b.iter(|| analysis::try_answer(&tidings, &Caller::Nobody, question).expect("it is kept"));
        });
    }
    // What a screen that shows the day as it goes asks for each second, while something changes.
    c.bench_function("the day as it goes", |b| {
        b.iter(|| analysis::live(&tidings, &Caller::Operator).expect("figures"));
    });
    c.bench_function("60 lines of the log, as a screen shows them", |b| {
        let all = LogFilter::default();
        b.iter(|| analysis::browse(&tidings, &Caller::Operator, &all, None, 60).expect("lines"));
    });
    let window = Window { days: 1, ..Window::default() };
    c.bench_function("100 lines of the log", |b| {
        b.iter(|| analysis::log_date(&tidings, &Caller::Operator, window, 100).expect("lines"));
    });
}

criterion_group!(analytics, benches);
criterion_main!(analytics);
