//! Runs fuzz targets for a given time or number of inputs; see the library's documentation.
#![expect(clippy::print_stdout, reason = "the command prints its results")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tidings_fuzz::{Limits, Report, TARGETS, Target, run};

/// The maximum processor time of an input per started MiB.
const SLOW: Duration = Duration::from_secs(1);

/// Runs the parsers of tidings on mutated examples
#[derive(Debug, Parser)]
struct Arguments {
    /// The targets to run [default: all]
    targets: Vec<String>,
    /// Stop after this many seconds, divided among the targets [default: none, or 60 without --iterations]
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Try this many inputs of each target
    #[arg(long, value_name = "N")]
    iterations: Option<u64>,
    /// The seed of the inputs; the same seed gives the same inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run the targets on this file only
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let known = |name: &String| TARGETS.iter().any(|target| target.name == name);
    if !arguments.targets.iter().all(known) {
        println!("the targets are {}", TARGETS.map(|target| target.name).join(", "));
        return ExitCode::from(2);
    }
    let is_wanted =
        |target: &&Target| arguments.targets.is_empty() || arguments.targets.iter().any(|n| n == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(is_wanted).collect();
    if let Some(file) = &arguments.input {
        let input = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for target in targets {
            let began = Instant::now();
            let verdict = if (target.run)(&input) { "accepted" } else { "rejected" };
            println!("{}: {verdict} in {:?}", target.name, began.elapsed());
        }
        return ExitCode::SUCCESS;
    }
    let seconds =
        arguments.seconds.unwrap_or(if arguments.iterations.is_some() { u64::MAX >> 20 } else { 60 });
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut failed = false;
    for (number, target) in targets.iter().enumerate() {
        let limits = Limits {
            iterations: arguments.iterations.unwrap_or(u64::MAX),
            time: Duration::from_secs(seconds) / u32::try_from(targets.len()).unwrap_or(1),
            slow: Some(SLOW),
            threads,
        };
        let began = Instant::now();
        match run(target, arguments.seed, limits) {
            Ok(report) => {
                let (of, all, took) = (number + 1, targets.len(), began.elapsed().as_secs_f64());
                let Report { inputs, accepted } = report;
                println!("{of}/{all} {}: {inputs} inputs, {accepted} accepted, in {took:.1} s", target.name);
            }
            Err(failure) => {
                failed = true;
                let place = failure.write(Path::new("fuzz-failures"));
                let place = place.map_or_else(|e| e.to_string(), |file| file.display().to_string());
                println!("{}: {}\n  the input is in {place}", target.name, failure.reason);
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
