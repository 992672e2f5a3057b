//! Fuzz targets for every parser of tidings.
//!
//! A [`Target`] is a function of bytes that panics when a parser breaks a promise: that it does not panic, and one of
//! its own, such as that what it writes is read as the same. [`run()`] hands it inputs that are made of examples by
//! small changes ([`mutate`]). The n-th input of a seed is always the same, however many threads there are.
//!
//! `cargo test` runs a few thousand inputs of each target with a fixed seed. For hours by hand:
//!
//! ```sh
//! cargo run --profile fuzz -p tidings-fuzz -- --seconds 3600 --seed $RANDOM
//! cargo run --profile fuzz -p tidings-fuzz -- --iterations 10000000 form json
//! cargo run --profile fuzz -p tidings-fuzz -- --input fuzz-failures/form-1-4711 form
//! ```
//!
//! An input that fails is written to `fuzz-failures/`. One also fails when it takes longer than a second of the
//! processor's time for each MiB that it has begun. A failing input that was mended goes to `fuzz/regressions/TARGET/`,
//! which every run begins with.
//!
//! The settings' file is read by the command line, which is no library: its test is beside it, in
//! `cli/src/settings/layers.rs`.

pub mod examples;
pub mod mutate;
mod run;
mod targets;

pub use run::{Failure, Limits, Report, run};
pub use targets::{TARGETS, Target};
