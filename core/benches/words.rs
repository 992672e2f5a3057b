//! Measures training: `cargo bench -p tidings-core --bench words`.

use std::fmt::Write as _;

use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;
use tidings_core::account::Caller;
use tidings_core::{Tidings, post, words};

/// The number of posts to train on.
const POSTS: u64 = if cfg!(debug_assertions) { 500 } else { 10_000 };

/// Returns a pseudo-random number that depends on `n` only.
fn mixed(n: u64) -> u64 {
    let mixed = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn name(word: u64) -> String {
    let letter = |at: u32| char::from(b"etaoinshrdlucmfw"[((mixed(word) >> (4 * at)) % 16) as usize]);
    format!("{}{word:x}", (0..4).map(letter).collect::<String>())
}

/// Returns the number of a word of a post about `subject`: few words are frequent, and two in three belong to the
/// subject.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the numbers are below a million"
)]
fn word(subject: u64, n: u64) -> u64 {
    const COMMON: f64 = 4_000.0;
    const OWN: f64 = 400.0;
    let uniform = (mixed(n) % 1_000_000) as f64 / 1e6;
    if n.is_multiple_of(3) {
        COMMON.powf(uniform) as u64
    } else {
        (COMMON + OWN * subject as f64 + OWN.powf(uniform)) as u64
    }
}

fn open(lines: &str) -> (Tidings, TempDir) {
    let dir = tempfile::tempdir().expect("a temporary directory is created");
    let tidings = Tidings::open(dir.path().join("bench.db")).expect("the database opens");
    let report =
        post::import(&tidings, &Caller::Operator, lines.as_bytes(), &mut tidings_core::import::to_the_end);
    assert!(report.expect("the posts are read").errors.is_empty());
    (tidings, dir)
}

fn training(criterion: &mut Criterion) {
    let mut lines = String::new();
    for n in 0..POSTS {
        let text: Vec<String> = (0..60).map(|at| name(word(n % 50, n * 64 + at))).collect();
        writeln!(lines, r#"{{"title":"{}","url":"https://a.example/{n}"}}"#, &text.join(" ")[..290])
            .expect("writing to a string does not fail");
    }
    let (tidings, _dir) = open(&lines);
    let trained = words::train(&tidings, &Caller::Operator, &mut |_| {}).expect("there are words").words;
    let mut group = criterion.benchmark_group("words");
    group.sample_size(10);
    group.bench_function(format!("train on {trained} words of {POSTS} posts"), |bencher| {
        bencher.iter(|| words::train(&tidings, &Caller::Operator, &mut |_| {}).expect("there are words"));
    });
    group.finish();
}

criterion_group!(benches, training);
criterion_main!(benches);
