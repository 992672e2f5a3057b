//! Measures recording communications and views, and reports and the access log:
//! `cargo bench -p tidings-core --bench analysis`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tidings_core::account::Caller;
use tidings_core::analysis::{
    self, Communication, GetDaysAgo, GetDevices, GetLog, GetRealtime, GetReport, GetSummary, Operation,
};
use tidings_core::answer::SUCCESS;
use tidings_core::config::Config;
use tidings_core::post::{self, Draft};
use tidings_core::stats::Stats;
use tidings_core::{Tidings, operation};

const AGENT: &[u8] = b"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) \
    Chrome/131.0.0.0 Mobile Safari/537.36";

fn communicate(tidings: &Tidings, operation: Operation, path: &str, from: u32) {
    let communication = Communication {
        caller: &Caller::Guest,
        operation,
        path,
        status: 200,
        result: SUCCESS,
        address: IpAddr::V4(Ipv4Addr::from_bits(from)),
        user_agent: AGENT,
    };
    analysis::record(tidings, black_box(&communication));
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

fn benches(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("there is room for a database");
    let mut config = Config::default();
    // A few clients send all communications, more than the limit per client.
    config.analysis.log_lines_per_client = None;
    let tidings =
        Tidings::builder(dir.path().join("bench.db")).config(config).open().expect("the database opens");
    tidings.start_background().expect("the keys load");
    let feed = Operation::new("GET", "/get_popularity_newsfeed");
    let path = "/get_popularity_newsfeed";

    // The time that recording adds to a request. The store writes the records outside the measured time.
    c.bench_function("record a communication", |b| {
        b.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for first in (0..times).step_by(2_000) {
                wait_for_writes(&tidings);
                let began = Instant::now();
                for _ in first..times.min(first + 2_000) {
                    communicate(&tidings, feed, path, 7);
                }
                spent += began.elapsed();
            }
            spent
        });
    });

    // The time that the writer takes for 4,000 communications, including commits.
    for (name, visitors) in [("1 visitor", 1), ("4,000 visitors", 4_000)] {
        c.bench_function(&format!("record and write 4,000 communications of {name}"), |b| {
            b.iter(|| {
                for n in 0..4_000 {
                    communicate(&tidings, feed, path, n % visitors);
                }
                wait_for_writes(&tidings);
            });
        });
    }

    let draft = Draft { title: Some("t".into()), url: Some("https://a.b/".into()), ..Draft::default() };
    let id = tidings
        .call(&Caller::Operator, post::Insert { draft: draft.clone() })
        .expect("the post is valid")
        .id
        .to_string();
    c.bench_function("1,000 views, together", |b| {
        b.iter(|| {
            let views: Vec<_> = (0..1_000).map(|_| post::view(&tidings, &Caller::Guest, &id)).collect();
            for view in views {
                view.wait().expect("the store writes");
            }
        });
    });

    cached(c, &tidings, "Summary", &GetSummary {});
    cached(c, &tidings, "DaysAgo(30)", &GetDaysAgo { days: 30 });
    cached(c, &tidings, "Devices", &GetDevices {});
    cached(c, &tidings, "Realtime", &GetRealtime {});
    report(c, &tidings);
    // A screen with live analytics reads these figures once a second while they change.
    c.bench_function("live figures of today", |b| {
        b.iter(|| analysis::live(&tidings, &Caller::Operator).expect("the store answers"));
    });
    c.bench_function("60 lines of the log for a screen", |b| {
        let all = GetLog { limit: Some(60), ..GetLog::default() };
        b.iter(|| tidings.call(&Caller::Operator, all.clone()).expect("the log is read"));
    });
    let log = analysis::GetLogDate { months: 0, days: 1, hours: 0, limit: 100 };
    c.bench_function("100 lines of the log", |b| {
        b.iter(|| tidings.call(&Caller::Operator, log).expect("the log is read"));
    });
}

fn cached<O: operation::Operation + Clone>(c: &mut Criterion, tidings: &Tidings, name: &str, question: &O) {
    c.bench_function(&format!("{name}, cached"), |b| {
        wait_for_writes(tidings);
        tidings.call(&Caller::Guest, question.clone()).expect("the store answers");
        b.iter(|| question.remembered(tidings).expect("the answer is cached"));
    });
}

fn report(c: &mut Criterion, tidings: &Tidings) {
    let post = |n| format!(r#"{{"title":"Post {n}","url":"https://a.b/{n}","topic":["topic{}"]}}"#, n % 50);
    let posts: Vec<String> = (0..20_000).map(post).collect();
    let source = posts.join("\n");
    post::import(tidings, &Caller::Operator, source.as_bytes(), &mut tidings_core::import::to_the_end)
        .expect("the posts are valid");
    let ask = || {
        let report = tidings.call(&Caller::Guest, GetReport::default()).expect("the store answers");
        report.encoded().json().len()
    };
    c.bench_function("report of a period, cached", |b| b.iter(ask));
}

criterion_group!(analytics, benches);
criterion_main!(analytics);
