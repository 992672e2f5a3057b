//! Measures imports, including commits to disk: 20,000 posts of 400 characters, 20,000 members with password hashes, and
//! 40,000 acts in chronological order; each into a database without them, and again into the same database, where
//! nothing changes. `cargo bench -p tidings-core --bench import`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::import::{Import as _, to_the_end};
use tidings_core::{act, member_import, post};

const POSTS: usize = 20_000;
const TEXT: usize = 400;
const MEMBERS: usize = 20_000;
const ACTS: usize = 40_000;
/// The members and the posts of the acts.
const ACTIVE: usize = 2_000;

/// Returns posts with text of real posts.
fn posts(count: usize) -> String {
    let real = include_str!("../../tests/data/rust-blog.jsonl");
    let real: Vec<serde_json::Value> =
        real.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text: String = real.iter().filter_map(|post| post["post"].as_str()).collect::<Vec<_>>().join(" ");
    let text: Vec<char> = text.chars().collect();
    let mut lines = String::new();
    for n in 0..count {
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

/// Returns members with the password hashes of another system.
fn members(count: usize) -> String {
    let hash = "0123456789abcdef".repeat(8);
    let member = |n| {
        format!(
            "{{\"id\": \"member-{n}\", \"nickname\": \"Member {n}\", \"password_hash\": \
             \"scrypt:32768:8:1$salt{n}${hash}\", \"name\": \"Name {n}\", \"major\": \"Physics\", \
             \"date\": \"2024-02-29T12:00:00Z\"}}\n"
        )
    };
    (0..count).map(member).collect()
}

/// Returns views, likes and searches of members, one every three minutes.
fn acts(count: usize) -> String {
    let act = |n: usize| {
        // Prime numbers, so that members and posts occur in many combinations.
        let (member, post) = (n * 7_919 % ACTIVE, n * 104_729 % 1_999);
        let act = match n % 20 {
            0..12 => format!("\"type\": \"view\", \"url\": \"https://blog.rust-lang.org/{post}\""),
            12..18 => format!("\"type\": \"like\", \"url\": \"https://blog.rust-lang.org/{post}\""),
            _ => format!("\"type\": \"search\", \"search\": \"release notes {post}\""),
        };
        let (day, minute) = (n / 480, n % 480 * 3);
        let date =
            format!("2025-{:02}-{:02}T{:02}:{:02}:00Z", 1 + day / 28, 1 + day % 28, minute / 60, minute % 60);
        format!("{{\"id\": \"member-{member}\", {act}, \"date\": \"{date}\"}}\n")
    };
    (0..count).map(act).collect()
}

fn open() -> (Tidings, TempDir) {
    let dir = tempfile::tempdir().expect("there is room for a database");
    (Tidings::open(dir.path().join("bench.db")).expect("the database opens"), dir)
}

fn open_with_members() -> (Tidings, TempDir) {
    let (tidings, dir) = open();
    import_posts(&tidings, &posts(ACTIVE));
    import_members(&tidings, &members(ACTIVE));
    (tidings, dir)
}

fn import_posts(tidings: &Tidings, lines: &str) {
    let report = post::import(tidings, &Caller::Operator, lines.as_bytes(), &mut to_the_end);
    assert_eq!(report.expect("the posts are valid").errors, []);
}

fn import_members(tidings: &Tidings, lines: &str) {
    let report = member_import::import_members(tidings, &Caller::Operator, lines.as_bytes(), &mut to_the_end);
    assert_eq!(report.expect("the members are valid").errors, []);
}

fn import_acts(tidings: &Tidings, lines: &str) {
    let report = act::ImportActs {}.import(tidings, &Caller::Operator, lines.as_bytes(), &mut to_the_end);
    assert_eq!(report.expect("the acts are valid").errors, []);
}

fn bench(c: &mut Criterion) {
    bench_kind(c, "posts", POSTS, &posts(POSTS), open, import_posts);
    bench_kind(c, "members", MEMBERS, &members(MEMBERS), open, import_members);
    bench_kind(c, "acts", ACTS, &acts(ACTS), open_with_members, import_acts);
}

fn bench_kind(
    c: &mut Criterion,
    kind: &str,
    count: usize,
    lines: &str,
    open: fn() -> (Tidings, TempDir),
    import: fn(&Tidings, &str),
) {
    let mut group = c.benchmark_group("import");
    group.throughput(Throughput::Elements(count as u64)).sample_size(10);
    group.bench_function(format!("new {kind}"), |b| {
        b.iter_batched_ref(open, |(tidings, _)| import(tidings, lines), BatchSize::PerIteration);
    });
    group.bench_function(format!("known {kind}"), |b| {
        let (tidings, _dir) = open();
        import(&tidings, lines);
        b.iter(|| import(&tidings, lines));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
