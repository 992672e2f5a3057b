//! Measures how fast texts are split into tokens, in bytes per second: an import tokenises every post.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use tidings_tokens::tokens;

const ENGLISH: &str = include_str!("text/english.txt");

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let quoted = ENGLISH.replace('\'', "’");
    let texts = [
        ("english", ENGLISH),
        ("english, typographic", &quoted),
        ("korean", include_str!("text/korean.txt")),
        ("japanese", include_str!("text/japanese.txt")),
    ];
    let mut group = criterion.benchmark_group("tokens");
    for (name, text) in texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bench| bench.iter(|| tokens::tokens(black_box(text))));
    }
    group.bench_function("english, each", |bench| {
        bench.iter(|| {
            let mut letters = 0;
            tokens::each(black_box(ENGLISH), |token| letters += token.len());
            letters
        });
    });
    group.finish();
    criterion.final_summary();
}
