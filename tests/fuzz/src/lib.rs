//! Fuzz targets for every parser of tidings.
//!
//! A [`Target`] is a function that parses bytes and panics when the parser violates a property, for example that
//! writing a parsed value and reading it again gives the same value. [`run()`] calls it with inputs that [`mutate`]
//! makes from examples by small changes. The n-th input for a seed is always the same, regardless of the number of
//! threads.
//!
//! `cargo test` runs a few thousand inputs of each target with a fixed seed. Longer runs are started by hand:
//!
//! ```sh
//! cargo run --profile fuzz -p tidings-fuzz -- --seconds 3600 --seed $RANDOM
//! cargo run --profile fuzz -p tidings-fuzz -- --iterations 10000000 form json
//! cargo run --profile fuzz -p tidings-fuzz -- --input fuzz-failures/form-1-4711 form
//! ```
//!
//! An input fails if the target panics or if it uses more than one second of processor time per started MiB. A
//! failing input is written to `fuzz-failures/`. After the fix, move it to `tests/fuzz/regressions/TARGET/`; every run
//! tries these files first.
//!
//! The parser of the settings file belongs to the command line, which is not a library, so its test is in
//! `cli/src/settings/file.rs`.

pub mod examples;
pub mod mutate;
mod run;
mod targets;

pub use run::{Failure, Limits, Report, run};
pub use targets::{TARGETS, Target};
