//! How fast tidings is, measured against what the machine could do: one load script, one table.
//!
//! ```text
//! cargo bench --bench load                            # everything, about two minutes
//! cargo bench --bench load -- feeds sign_in           # some parts; --help names them
//! cargo bench --bench load -- --seconds 10            # longer, so less moved by chance (3 by default)
//! cargo bench --bench load -- --posts 100000          # a larger store (20,000 by default)
//! cargo bench --bench load -- --json                  # for programs
//! cargo bench --bench load -- --binary old/tidings    # another build of tidings
//! ```
//!
//! It drives the release binary over HTTP and by command, in a new directory below `target/`, so the disk under
//! that is measured. Nothing else should run on the machine meanwhile: turns during which other programs used a
//! tenth of its processors are done again, for `--patience` seconds in all (30 by default), then kept and told of.
//!
//! | column | meaning |
//! |---|---|
//! | measured | the middle one of several turns, in each of which the limits and tidings take a fifth of a second one after the other; of five imports or starts |
//! | bare limit | the same, of the least program that could answer: a warp with this very body, asked by the same client; as many Argon2id verifications as there are processors; SQLite committing row after row (WAL, `synchronous=FULL`) |
//! | ratio | measured / bare limit: the middle one of the turns' own ratios |
//! | target | what is wanted of the ratio, the rate or the latency, with `ok` or `missed` after it |
//! | p50, p99, max | from sending a request to having read all of its answer; of all turns that count |
//!
//! One wrong answer (status, or no `"result":"success"`) makes a part fail, and then the exit status is 1; a
//! missed target does not. Parts that read use 64 connections, those where latency counts 8, each of which asks
//! again as soon as it is answered. The client is one thread beside the server, on the same processors; a note
//! tells when it had no time left, as then it and not the server was measured.
//!
//! Without the `--bench` that `cargo bench` adds (so under `cargo test --benches`) it runs for a moment on a few
//! posts, to see that it works; its figures then mean nothing.
#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::print_stderr, reason = "progress goes beside the output")]

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
mod data;
mod histogram;
mod measure;
mod noise;
mod part;
mod process;
mod program;
mod table;
mod world;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures tidings against what the machine could do.
#[derive(Parser)]
struct Arguments {
    /// What to measure [default: all]
    parts: Vec<Part>,
    /// How long each measure takes [default: 3]
    #[arg(long)]
    seconds: Option<f64>,
    /// How many posts there are [default: 20000]
    #[arg(long)]
    posts: Option<usize>,
    /// For how many seconds, in all, to repeat what other programs disturb [default: 30]
    #[arg(long)]
    patience: Option<f64>,
    /// Prints JSON instead of a table
    #[arg(long)]
    json: bool,
    /// The tidings to measure, instead of the one built with this
    #[arg(long, default_value = env!("CARGO_BIN_EXE_tidings"), hide_default_value = true)]
    binary: PathBuf,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let outcome = if std::env::args().nth(1).as_deref() == Some(bare::SERVE) {
        bare::serve_warp().map(|()| true)
    } else {
        run(&Arguments::parse())
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

/// Measures and prints; whether all could be measured.
fn run(arguments: &Arguments) -> Result<bool> {
    let (seconds, posts, patience) = if arguments.bench { (3.0, 20_000, 30.0) } else { (0.1, 2_000, 0.0) };
    let (seconds, posts) = (arguments.seconds.unwrap_or(seconds), arguments.posts.unwrap_or(posts));
    let patience = Duration::try_from_secs_f64(arguments.patience.unwrap_or(patience))?;
    let length = Duration::try_from_secs_f64(seconds)?;
    let directory = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let program = Program::new(arguments.binary.clone(), directory.path())?;
    let mut bench = Bench::new(program, posts, Turns::new(length, patience));

    let mut report = Report {
        processors: bare::processors(),
        posts,
        seconds,
        rows: Vec::new(),
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
            turns => report.disturbed.push(format!("{name}: {turns} turns, by other programs")),
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table());
    }
    Ok(report.failures.is_empty())
}
