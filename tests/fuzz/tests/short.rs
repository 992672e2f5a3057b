//! Runs every target briefly, with the same inputs each time.

use std::path::Path;
use std::time::Duration;

use tidings_fuzz::{Limits, TARGETS, run};

/// The number of inputs of a target with a cost of 1.
const INPUTS: u64 = 20_000;

const LIMITS: Limits = Limits { iterations: INPUTS, time: Duration::from_secs(600), slow: None, threads: 2 };

#[test]
fn no_input_breaks_a_parser() {
    let mut failures = Vec::new();
    for target in &TARGETS {
        match run(target, 1, Limits { iterations: INPUTS / target.cost, ..LIMITS }) {
            Ok(report) => assert!(report.accepted > 0, "{} takes an example", target.name),
            Err(failure) => {
                let file = failure.write(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
                failures.push(format!("{}: {}: {}", target.name, file.display(), failure.reason));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_failing_parser_is_found_with_the_same_input_each_time() {
    let mut broken = TARGETS.into_iter().find(|target| target.name == "form").unwrap();
    broken.run = |bytes| {
        assert!(!bytes.windows(4).any(|part| part == b"%FF&"), "two together");
        true
    };
    let find = |threads| *run(&broken, 7, Limits { threads, ..LIMITS }).unwrap_err();
    let (one, again) = (find(1), find(1));
    assert_eq!((&one.name, &one.input), (&again.name, &again.input));
    assert!(one.reason.contains("two together") && one.reason.contains("short.rs"), "{}", one.reason);
    assert!(find(4).input.windows(4).any(|part| part == b"%FF&"));
}

#[test]
#[cfg(unix)]
fn an_input_that_exceeds_the_time_limit_is_reported() {
    let mut slow = TARGETS.into_iter().find(|target| target.name == "form").unwrap();
    slow.run = |bytes| (0..1_000_000_u64).fold(bytes.len() as u64, |a, b| a ^ b.wrapping_mul(a)) > 0;
    let limits = Limits { slow: Some(Duration::from_nanos(1)), iterations: 1, ..LIMITS };
    assert!(run(&slow, 1, limits).unwrap_err().reason.starts_with("it took"));
}
