//! The load benchmark: measures the rates of tidings and compares them with the limits of the machine.
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
//! results include that disk. Nothing else should run on the machine: a turn in which other programs used more than
//! a tenth of the processors is repeated, for `--patience` seconds in total (30 by default); after that it is kept
//! and reported as disturbed.
//!
//! | column | meaning |
//! |---|---|
//! | measured | the median of several turns, each of which measures the baselines and tidings for a fifth of a second each; for imports and starts, the median of five |
//! | bare limit | the same for a minimal baseline: a bare warp server with the same body and client; concurrent Argon2id verifications, one per processor; sequential SQLite commits of one row (WAL, `synchronous=FULL`) |
//! | ratio | measured / bare limit: the median of the ratios of the turns |
//! | target | the target for the ratio, the rate or the latency, followed by `ok` or `missed` |
//! | p50, p99, max | latency from sending a request to reading its whole response, over all turns |
//!
//! A second table shows what one request costs the server:
//!
//! | column | meaning |
//! |---|---|
//! | statements | SQL statements in transactions, with BEGIN, COMMIT and savepoints |
//! | pages | pages written to write-ahead logs |
//! | bytes | bytes written to the disk, from `/proc/PID/io`, with the copy of the log's pages into the database |
//! | allocations, bytes allocated | allocations and reallocations, without those of SQLite; only of a binary with the feature `count-allocations` |
//! | CPU µs | processor time of the measured server, from `/proc/PID/stat` |
//!
//! Each figure is a total divided by the number of responses, so it includes the request's share of work in the
//! background: the access log, counters, commits that requests share, checkpoints and updates of the feed index. The
//! processor time is that of the whole measurement. The rest is counted afterwards, with the same load for a third of
//! the time, on a second process with the same database that serves metrics, because counting takes time. After both,
//! the server gets 0.6 seconds for the work that it does after answering. The log is copied into the database at the
//! end, so `bytes` includes a checkpoint even if the load was too short to cause one. A figure that is not reported, or
//! that belongs to no single kind of request, is `-` (`null` in JSON).
//!
//! Counting allocations makes every request slower. To count them without lower rates, build a second binary:
//!
//! ```text
//! cargo build --release --features count-allocations --target-dir target/counting
//! cargo bench --bench load -- --counting-binary target/counting/release/tidings
//! ```
//!
//! A failed response (another status than 200 with `"result":"success"`, or than 304 where the client sends a tag) fails its part, and the exit status is then 1; a
//! missed target does not change it. Parts that read use 64 connections, parts that measure latency use 8; each
//! connection sends the next request as soon as it has a response. The client is one thread on the same machine; a
//! note says when the client was the bottleneck.
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
mod histogram;
mod measure;
mod noise;
mod part;
mod process;
mod program;
mod server;
mod table;
mod world;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures tidings and compares it with the limits of the machine
///
/// For each kind of request it also prints what one request costs the server: SQL statements, pages written to the
/// write-ahead log, bytes written to the disk, allocations and processor time. The costs include the request's share of
/// work in the background: the access log, counters, shared commits, checkpoints and updates of the feed index.
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
    /// The total time, in seconds, for repeating turns that other programs disturb [default: 30]
    #[arg(long)]
    patience: Option<f64>,
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

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some(bare::SERVE) => bare::serve_warp().map(|()| true),
        Some(bare::SERVE_UNCHANGED) => bare::serve_unchanged().map(|()| true),
        _ => run(&Arguments::parse()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints the parts, and returns whether all of them could be measured.
fn run(arguments: &Arguments) -> Result<bool> {
    let (seconds, posts, patience) = if arguments.bench { (3.0, 20_000, 30.0) } else { (0.1, 2_000, 0.0) };
    let (seconds, posts) = (arguments.seconds.unwrap_or(seconds), arguments.posts.unwrap_or(posts));
    let patience = Duration::try_from_secs_f64(arguments.patience.unwrap_or(patience))?;
    let length = Duration::try_from_secs_f64(seconds)?;
    let directory = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let counting_binary = arguments.counting_binary.as_ref().unwrap_or(&arguments.binary);
    let program = Program::new(&arguments.binary, counting_binary, directory.path())?;
    let mut bench = Bench::new(program, posts, Turns::new(length, patience));

    let mut report = Report {
        processors: bare::processors(),
        posts,
        seconds,
        rows: Vec::new(),
        allocations_slow_rates: cfg!(feature = "count-allocations")
            && arguments.binary == Path::new(env!("CARGO_BIN_EXE_tidings")),
        disturbed: Vec::new(),
        failures: Vec::new(),
    };
    for part in Part::value_variants() {
        if !arguments.parts.is_empty() && !arguments.parts.contains(part) {
            continue;
        }
        let name = part.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        eprintln!("measuring {name}");
        match bench.measure(*part) {
            Ok(mut rows) => report.rows.append(&mut rows),
            Err(error) => {
                eprintln!("{}", bench.program.log_end());
                report.failures.push(format!("{name}: {error}"));
            }
        }
        match bench.take_disturbed() {
            0 => {}
            turns => report.disturbed.push(format!("{name}: {turns} turns disturbed by other programs")),
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table());
    }
    Ok(report.failures.is_empty())
}
