//! The abuse benchmark: runs attacks on a server with default settings and measures the effect on other clients.
//!
//! ```text
//! cargo bench --bench hostile                              # every attack, about three minutes
//! cargo bench --bench hostile -- connections searches      # some of them; --help lists the names
//! cargo bench --bench hostile -- --same-address            # attacker and victim share one address
//! cargo bench --bench hostile -- --seconds 30              # longer attacks (6 by default)
//! ```
//!
//! Each attack runs against a new server process (the release binary) on a new database with 20,000 posts. The attacker
//! and the victim use different loopback addresses, and all connections stay within 127.0.0.0/8. A row is one
//! measurement of what the victim observed or the server used, with its bound. A figure that violates its bound is
//! printed as `missed`, and the exit status is then 1.
//!
//! Attacker, victim and server share the processors, so latencies include the attacker's own work.
#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::print_stderr, reason = "progress goes to standard error")]
#![expect(clippy::unwrap_used, reason = "a failed step of a measurement panics")]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

mod attack;
mod client;
#[path = "../load/data.rs"]
#[expect(dead_code, reason = "the load benchmark uses the rest")]
mod data;
mod http2;
mod world;

use attack::Attack;
use world::World;

/// Measures the effect of hostile clients on other clients
#[derive(Parser)]
struct Arguments {
    /// The attacks to run [default: all]
    attacks: Vec<Attack>,
    /// The length in seconds of attacks that do not end by themselves
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// The number of posts in the store
    #[arg(long, default_value_t = 20_000)]
    posts: usize,
    /// Attack from the victim's address, as behind one proxy or NAT
    #[arg(long)]
    same_address: bool,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

struct Row {
    what: String,
    measured: f64,
    unit: &'static str,
    bound: f64,
    /// Whether the bound is a minimum instead of a maximum.
    at_least: bool,
}

impl Row {
    fn at_most(what: impl Into<String>, measured: f64, unit: &'static str, bound: f64) -> Self {
        Self { what: what.into(), measured, unit, bound, at_least: false }
    }

    fn at_least(what: impl Into<String>, measured: f64, unit: &'static str, bound: f64) -> Self {
        Self { at_least: true, ..Self::at_most(what, measured, unit, bound) }
    }

    fn is_kept(&self) -> bool {
        if self.at_least { self.measured >= self.bound } else { self.measured <= self.bound }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Under `cargo test --benches`, only check that the attacks run.
    let (seconds, posts) = if arguments.bench { (arguments.seconds, arguments.posts) } else { (0.5, 500) };
    let world =
        World { posts, length: Duration::from_secs_f64(seconds), same_address: arguments.same_address };
    let mut all_kept = true;
    for attack in Attack::value_variants() {
        if !arguments.attacks.is_empty() && !arguments.attacks.contains(attack) {
            continue;
        }
        let name = attack.to_possible_value().expect("every attack has a name");
        eprintln!("{} …", name.get_name());
        for row in attack.run(&world) {
            let kept = row.is_kept();
            all_kept &= kept;
            let Row { what, measured, unit, bound, at_least } = row;
            println!(
                "{:<12} {what:<58} {measured:>9.2} {unit:<6} {} {bound:<7} {}",
                name.get_name(),
                if at_least { "≥" } else { "≤" },
                if kept { "ok" } else { "missed" },
            );
        }
    }
    // The figures of such a short run on a tiny store are meaningless.
    if all_kept || !arguments.bench { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
