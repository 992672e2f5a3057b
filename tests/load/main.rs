//! The load benchmark: measures the rates of tidings and compares them with the limits of the machine. `docs/performance.md`
//! has the figures, and says what they mean.
//!
//! ```text
//! cargo bench --bench load                            # everything, about five minutes
//! cargo bench --bench load -- feeds sign_in           # some parts; --help lists them
//! cargo bench --bench load -- --seconds 10            # longer measurements vary less (3 by default)
//! cargo bench --bench load -- --posts 100000          # a larger store (20,000 by default)
//! cargo bench --bench load -- --json                  # machine-readable output
//! cargo bench --bench load -- --binary old/tidings    # another build of tidings
//! ```
//!
//! It drives the release binary over HTTP and on the command line, in a new directory below `target/`, so the
//! results include that disk. Each rate is the median of several turns, each of which measures the baseline and tidings for
//! a fifth of a second each; for imports and starts, it is the median of five. Latencies are from sending a request to
//! reading its whole response, over all turns.
//!
//! A failed response (another status than 200 with `"result":"success"`, or than 304 where the client sends a tag) fails its
//! part, and the exit status is then 1; a missed target does not change it. Parts that read use 64 connections, parts that
//! measure latency use 8; each connection sends the next request as soon as it has a response. The client is one thread on
//! the same machine; a note says when the client was the bottleneck.
//!
//! Without the `--bench` flag that `cargo bench` adds, for example under `cargo test --benches`, it runs briefly on
//! few posts, only to check that it works; the figures are then meaningless.
#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::print_stderr, reason = "progress goes to standard error")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::measure::Turns;
use crate::part::{Bench, Part};
use crate::program::Program;
use crate::table::Report;

mod answer;
mod bare;
mod client;
mod cost;
mod data;
mod figures;
mod histogram;
mod measure;
mod part;
mod program;
mod table;
mod world;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures tidings and compares it with the limits of the machine
#[derive(Parser)]
struct Arguments {
    /// The parts to measure [default: all]
    parts: Vec<Part>,
    /// The length of each measurement in seconds [default: 3]
    #[arg(long)]
    seconds: Option<f64>,
    /// The number of posts in the store [default: 20000]
    #[arg(long)]
    posts: Option<usize>,
    /// Prints JSON instead of a table
    #[arg(long)]
    json: bool,
    /// The tidings binary to measure, instead of the one that cargo built
    #[arg(long, default_value = env!("CARGO_BIN_EXE_tidings"), hide_default_value = true)]
    binary: PathBuf,
    /// The binary that counts what requests cost, instead of the measured one; build it with the feature
    /// `count-allocations` to count allocations without making the rates lower
    #[arg(long)]
    counting_binary: Option<PathBuf>,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<ExitCode> {
    let all_measured = match std::env::args().nth(1).as_deref() {
        Some(bare::SERVE) => bare::serve(false).map(|()| true),
        Some(bare::SERVE_UNCHANGED) => bare::serve(true).map(|()| true),
        _ => run(&Arguments::parse()),
    }?;
    Ok(if all_measured { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures and prints the parts, and returns whether all of them could be measured.
fn run(arguments: &Arguments) -> Result<bool> {
    let (seconds, posts) = if arguments.bench { (3.0, 20_000) } else { (0.1, 2_000) };
    let (seconds, posts) = (arguments.seconds.unwrap_or(seconds), arguments.posts.unwrap_or(posts));
    let turns = Turns::new(Duration::try_from_secs_f64(seconds)?);
    let directory = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let counting_binary = arguments.counting_binary.as_ref().unwrap_or(&arguments.binary);
    let program = Program::new(&arguments.binary, counting_binary, directory.path())?;
    let mut bench = Bench::new(program, posts, turns);
    let (processors, rows, failures) = (bare::processors(), Vec::new(), Vec::new());
    let mut report = Report { processors, posts, seconds, rows, failures };
    for part in Part::value_variants() {
        if !arguments.parts.is_empty() && !arguments.parts.contains(part) {
            continue;
        }
        let name = part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        eprintln!("measuring {name}");
        match bench.measure(*part) {
            Ok(mut rows) => report.rows.append(&mut rows),
            Err(error) => report.failures.push(format!("{name}: {error}")),
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table());
    }
    Ok(report.failures.is_empty())
}
