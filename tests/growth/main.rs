//! The growth benchmark: measures what operations cost while the database grows.
//!
//! ```text
//! cargo bench --bench growth                          # everything, 10,000 to 1,000,000 rows
//! cargo bench --bench growth -- posts removal         # some parts; --help lists them
//! cargo bench --bench growth -- --max 10000000        # up to 10,000,000 rows, which needs 40 GB of disk
//! ```
//!
//! Each part has its own database, in a new directory below `target/` or that of `--directory`. It fills the database up to a size, measures, and
//! continues with a size that is ten times larger. Posts are imported; other rows are inserted with SQL.
//!
//! A cost is processor time of all threads, in milliseconds per operation: it does not depend on the disk, and only
//! little on other programs. The operations are those of the core, because HTTP adds the same cost at every size. Waits
//! are real time.
//!
//! A flat cost may triple from the smallest to the largest size: trees get deeper, and caches hold a smaller part.
//!
//! Without the `--bench` flag that `cargo bench` adds, it runs on few rows, only to check that it works.
#![expect(clippy::print_stdout, reason = "the table is the output")]
#![expect(clippy::print_stderr, reason = "progress goes to standard error")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

mod cost;
#[path = "../load/data.rs"]
#[expect(dead_code, reason = "the load benchmark uses the rest")]
mod data;
#[path = "../load/figures.rs"]
mod figures;
mod part;
mod table;
mod world;

use part::Part;
use table::Report;
use world::World;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The smallest size.
const MIN: u64 = 10_000;

/// Measures what operations cost while the database grows
#[derive(Parser)]
struct Arguments {
    /// The parts to measure [default: all]
    parts: Vec<Part>,
    /// The largest number of rows
    #[arg(long, default_value_t = 1_000_000)]
    max: u64,
    /// The directory for the databases, for example on another disk
    #[arg(long, default_value = env!("CARGO_TARGET_TMPDIR"), hide_default_value = true)]
    directory: PathBuf,
    /// Added by cargo bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    if run(&Arguments::parse()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures and prints the parts, and returns whether no cost grows more than expected.
fn run(arguments: &Arguments) -> bool {
    let (min, max) = if arguments.bench { (MIN, arguments.max.max(MIN)) } else { (100, 1_000) };
    let sizes: Vec<u64> = std::iter::successors(Some(min), |size| size.checked_mul(10))
        .take_while(|size| *size <= max)
        .collect();
    let mut report = Report::new(sizes);
    for part in Part::value_variants() {
        if arguments.parts.is_empty() || arguments.parts.contains(part) {
            let measured =
                World::new(&arguments.directory).and_then(|world| part.measure(&world, &mut report));
            if let Err(error) = measured {
                report.failures.push(format!("{}: {error}", part.name()));
            }
        }
    }
    print!("{}", report.table());
    // The figures of so few rows are meaningless.
    report.failures.is_empty() && (report.is_as_expected() || !arguments.bench)
}
