//! Exactly once through a failover: what must hold with several servers on PostgreSQL when a part fails.
//!
//! ```text
//! cargo test -p tidings-cli --test failover                              # each case once, with few repetitions
//! cargo test -p tidings-cli --test failover -- --rounds 20               # as before a release: one and a half hours
//! cargo test -p tidings-cli --test failover -- primary-killed likes      # some cases, by a part of their names
//! cargo test -p tidings-cli --test failover -- --list                    # their names
//! ```
//!
//! Each round of a case starts a primary, a synchronous standby, a proxy in front of each, and three servers. Clients note
//! what they sent and what was acknowledged, and afterwards this is compared with what is stored. A line for each round
//! tells what was measured. The exit status is 1 if a promise was broken. Without PostgreSQL nothing runs.
#![expect(clippy::print_stdout, reason = "the results are the output")]
#![expect(clippy::unwrap_used, reason = "a failed step of a test panics")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

mod case_next;
mod case_primary;
mod case_server;
mod case_shared;
mod case_standby;
mod load;
mod proxy;
mod world;

pub(crate) struct Outcome {
    pub(crate) measured: String,
    pub(crate) faults: Vec<String>,
}

/// Whether the rounds are those of a release, or few and short.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) rounds: u64,
}

impl Scale {
    /// Returns the share of a round in `all` repetitions of 20 rounds, but at least `least`.
    pub(crate) fn share(self, all: u64, least: u64) -> u64 {
        if self.is_full() { (all / self.rounds).max(least) } else { least }
    }

    /// Returns whether cases take the times that the design names.
    pub(crate) fn is_full(self) -> bool {
        self.rounds >= 20
    }
}

type Case = fn(Scale) -> Outcome;

const CASES: [(&str, Case); 16] = [
    ("primary-killed", case_primary::killed),
    ("primary-restarted", case_primary::restarted),
    ("primary-suspended", case_primary::suspended),
    ("primary-silent", case_primary::silent),
    ("commits-cut", case_primary::commits_cut),
    ("standby-gone", case_standby::gone),
    ("standby-gone-late", case_standby::gone_late),
    ("waits-cancelled", case_standby::waits_cancelled),
    ("server-killed", case_server::killed),
    ("server-suspended", case_server::suspended),
    ("tokens-revoked", case_shared::tokens_revoked),
    ("clocks", case_shared::clocks),
    ("administrators", case_shared::administrators),
    ("feeds", case_shared::feeds),
    ("next", case_next::next),
    ("likes", case_shared::likes),
];

/// Cases in which clients mostly wait. They run beside the others.
const PATIENT: [&str; 3] = ["primary-restarted", "standby-gone", "standby-gone-late"];

fn main() -> ExitCode {
    let mut scale = Scale { rounds: 1 };
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--list" => {
                for (name, _) in CASES {
                    println!("{name}");
                }
                return ExitCode::SUCCESS;
            }
            "--rounds" => {
                let rounds = arguments.next().and_then(|rounds| rounds.parse().ok());
                let Some(rounds @ 1..) = rounds else {
                    println!("--rounds needs a number above 0");
                    return ExitCode::from(2);
                };
                scale.rounds = rounds;
            }
            // Options of cargo's test harness.
            option if option.starts_with('-') => {}
            name => names.push(name.to_owned()),
        }
    }
    if let Err(reason) = tidings_cluster::Programs::find() {
        println!("the tests of failovers are left out: {reason}");
        return ExitCode::SUCCESS;
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(&**part));
    let chosen = CASES.into_iter().filter(|(name, _)| is_chosen(name));
    let (patient, others): (Vec<_>, Vec<_>) = chosen.partition(|(name, _)| PATIENT.contains(name));
    let all_kept = thread::scope(|scope| {
        let patient = scope.spawn(|| run_all(&patient, scale));
        run_all(&others, scale) & patient.join().expect("cases do not panic")
    });
    if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs all rounds of these cases, and returns whether all promises were kept.
fn run_all(cases: &[(&str, Case)], scale: Scale) -> bool {
    let rounds = cases.iter().flat_map(|case| (1..=scale.rounds).map(move |round| (case, round)));
    // All of them run, also after one that fails.
    rounds.fold(true, |all_kept, ((name, case), round)| run(name, *case, round, scale) && all_kept)
}

/// Runs a round, and returns whether all promises were kept.
fn run(name: &str, case: Case, round: u64, scale: Scale) -> bool {
    let begin = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| case(scale)));
    let took = begin.elapsed().as_secs_f64();
    let Ok(Outcome { measured, faults }) = outcome else {
        println!("{name} {round}/{}: FAILED after {took:.0} s: it panicked", scale.rounds);
        return false;
    };
    let verdict = if faults.is_empty() { "ok" } else { "FAILED" };
    // In one call, so that cases that run at the same time do not mix their lines.
    let lines = faults.iter().take(20).map(|fault| format!("\n    {fault}")).collect::<String>();
    println!("{name} {round}/{}: {verdict} ({took:.0} s): {measured}{lines}", scale.rounds);
    faults.is_empty()
}

/// Returns a duration in seconds for the output.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
