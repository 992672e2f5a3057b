//! What a hostile client costs everybody else: attacks against a server with default settings, one after the other.
//!
//! ```text
//! cargo bench --bench hostile                              # every attack, about three minutes
//! cargo bench --bench hostile -- connections searches      # some of them; --help lists the names
//! cargo bench --bench hostile -- --same-address            # attacker and victim share one address
//! cargo bench --bench hostile -- --seconds 30              # longer attacks (6 by default)
//! ```
//!
//! Each attack runs against a release binary of its own, on a new database with 20,000 posts, from another loopback
//! address than the victim's. Everything stays on this machine: only 127.0.0.0/8 is ever connected to. A row is one
//! measure: what the victim saw, or what the server used, and the bound that it has to keep. A figure over its bound is
//! `missed`, and the exit status is 1.
//!
//! Attacker, victim and server share the processors, so latencies include the attacker's own work.
#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::print_stderr, reason = "progress goes beside the output")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on says so by panicking")]

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

/// Measures what hostile clients cost others.
#[derive(Parser)]
struct Arguments {
    /// The attacks to run [default: all]
    attacks: Vec<Attack>,
    /// How long an attack lasts that has no end of its own
    #[arg(long, default_value_t = 6.0)]
    seconds: f64,
    /// How many posts the store has
    #[arg(long, default_value_t = 20_000)]
    posts: usize,
    /// Attacks from the victim's own address, as behind one proxy or NAT
    #[arg(long)]
    same_address: bool,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// One measure of an attack.
struct Row {
    what: String,
    measured: f64,
    unit: &'static str,
    bound: f64,
    /// Whether the bound is the least that is wanted, not the most.
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
    // Under `cargo test --benches` it only shows that it works.
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
    // On a tiny store for half a second, the figures mean nothing.
    if all_kept || !arguments.bench { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
