//! Measures the import of 20,000 posts of 400 characters, including commits to disk: into an empty database, and again
//! into the same database, where no post changes. `cargo bench -p tidings-core --bench import`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::post::{self, ImportReport};

const POSTS: usize = 20_000;
const TEXT: usize = 400;

/// Returns posts with text of real posts.
fn lines() -> String {
    let real = include_str!("../../tests/data/rust-blog.jsonl");
    let real: Vec<serde_json::Value> =
        real.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text: String = real.iter().filter_map(|post| post["post"].as_str()).collect::<Vec<_>>().join(" ");
    let text: Vec<char> = text.chars().collect();
    let mut lines = String::new();
    for n in 0..POSTS {
        let mut post = real[n % real.len()].clone();
        // The step is a prime number, so that the posts have different texts.
        let from = n * 7_919 % (text.len() - TEXT);
        post["post"] = text[from..from + TEXT].iter().collect::<String>().into();
        post["url"] = format!("https://blog.rust-lang.org/{n}").into();
        lines += &post.to_string();
        lines.push('\n');
    }
    lines
}

fn open() -> (Tidings, TempDir) {
    let dir = tempfile::tempdir().expect("there is room for a database");
    (Tidings::open(dir.path().join("bench.db")).expect("the database opens"), dir)
}

fn import(tidings: &Tidings, lines: &str) -> ImportReport {
    post::import(tidings, &Caller::Operator, lines.as_bytes(), &mut tidings_core::import::to_the_end)
        .expect("the posts are valid")
}

fn bench(c: &mut Criterion) {
    let lines = lines();
    let mut group = c.benchmark_group("import");
    group.throughput(Throughput::Elements(POSTS as u64)).sample_size(10);
    group.bench_function("new posts", |b| {
        b.iter_batched_ref(open, |(tidings, _)| import(tidings, &lines), BatchSize::PerIteration);
    });
    let (tidings, _dir) = open();
    import(&tidings, &lines);
    group.bench_function("known posts", |b| b.iter(|| import(&tidings, &lines)));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
