//! Measures likes without HTTP: `cargo bench -p tidings-core --bench acts`.
//!
//! 64 clients like posts at the same time, each waiting until its like is on disk before the next one. It prints the
//! likes per second, and for each like the processor time and the bytes that the process writes to files: for 64 and
//! for 10,000 members, who take turns, without and with lines of the access log. `LIKES`, an environment variable, is
//! the number of likes of each row (100,000 by default).

#![expect(clippy::print_stdout, reason = "the table is the output")]

use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;
use std::time::Instant;

use tempfile::TempDir;
use tidings_core::account::Caller;
use tidings_core::analysis::{self, Communication, Operation};
use tidings_core::answer::SUCCESS;
use tidings_core::config::Config;
use tidings_core::export::{Export as _, ExportLines as _};
use tidings_core::{Tidings, import, member_import, post};

const POSTS: usize = 20_000;
const MEMBERS: usize = 10_000;
/// The number of likes that wait at the same time.
const CLIENTS: usize = 64;
/// A valid PHC string of no known password.
const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$dW5rbm93bnVua25vd251bmtub3dudW5rbm93bg";

struct Store {
    tidings: Tidings,
    members: Vec<Caller>,
    posts: Vec<String>,
    _directory: TempDir,
}

fn open() -> Store {
    let directory = tempfile::tempdir().expect("there is room for a database");
    let mut config = Config::default();
    config.analysis.log_lines_per_client = None;
    let path = directory.path().join("acts.db");
    let tidings = Tidings::builder(path).config(config).open().expect("the database opens");
    let posts = lines(POSTS, |n| {
        format!("{{\"title\":\"Post {n}\",\"post\":\"Text.\",\"url\":\"https://example.org/{n}\"}}")
    });
    let members = lines(MEMBERS, |n| format!("{{\"id\":\"member{n}\",\"password_hash\":\"{HASH}\"}}"));
    let op = &Caller::Operator;
    let imported = post::import(&tidings, op, posts.as_bytes(), &mut import::to_the_end);
    assert_eq!(imported.expect("the posts are imported").inserted, POSTS as u64);
    let imported = member_import::import_members(&tidings, op, members.as_bytes(), &mut import::to_the_end);
    assert_eq!(imported.expect("the members are imported").inserted, MEMBERS as u64);
    let mut exported = Vec::new();
    post::ExportPosts {}
        .export(&tidings, op)
        .pass_to(&tidings, &mut |bytes, _| {
            exported.extend_from_slice(bytes);
            ControlFlow::Continue(())
        })
        .expect("the posts are exported");
    let id = |post: serde_json::Result<serde_json::Value>| {
        post.expect("the export is JSON")["_id"].as_str().expect("a post has an id").to_owned()
    };
    let posts = serde_json::Deserializer::from_slice(&exported).into_iter().map(id).collect();
    let members = (0..MEMBERS).map(|n| Caller::Member(format!("member{n}"))).collect();
    Store { tidings, members, posts, _directory: directory }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the bytes that this process has written to files, and its processor time in ticks of 10 ms.
fn used() -> (u64, u64) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let io = read("/proc/self/io");
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok());
    let stat = read("/proc/self/stat");
    let ticks = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    (written.unwrap_or_default(), ticks.filter_map(|n| n.parse::<u64>().ok()).sum())
}

#[expect(clippy::cast_precision_loss, reason = "the figures have few digits")]
fn measure(store: &Store, members: usize, first: usize, likes: usize, is_logged: bool) {
    let like = Operation::new("GET", "/post_like/{post_obi}");
    let (before, began) = (used(), Instant::now());
    let mut waiting = std::collections::VecDeque::new();
    for n in 0..likes {
        // The member's next post. The steps are prime numbers, so that members like posts in different orders.
        let (member, turn) = (n * 7_919 % members, first + n / members);
        let post = &store.posts[(member * 104_729 + turn * 31) % POSTS];
        waiting.push_back((member, post::like(&store.tidings, &store.members[member], post)));
        if waiting.len() == CLIENTS {
            while let Some((member, pending)) = waiting.pop_front() {
                pending.wait().expect("the like is on disk");
                if is_logged {
                    let caller = &store.members[member];
                    let (address, user_agent) = (IpAddr::V4(Ipv4Addr::LOCALHOST), &b"app"[..]);
                    let path = format!("/post_like/{post}");
                    let (operation, path, status, result) = (like, &*path, 200, SUCCESS);
                    let communication =
                        Communication { caller, operation, path, status, result, address, user_agent };
                    analysis::record(&store.tidings, &communication);
                }
            }
        }
    }
    for (_, pending) in waiting {
        pending.wait().expect("the like is on disk");
    }
    let (time, after) = (began.elapsed().as_secs_f64(), used());
    let each = |n: u64| n as f64 / likes as f64;
    println!(
        "{members:>7} {:>6} {:>10.0}/s {:>10.1} µs {:>10.0} bytes",
        if is_logged { "yes" } else { "no" },
        likes as f64 / time,
        each(after.1 - before.1) * 10_000.0,
        each(after.0 - before.0),
    );
}

fn main() {
    let likes = std::env::var("LIKES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let store = open();
    println!("members logged      likes    processor      written");
    for (members, is_logged) in [(64, false), (64, true), (MEMBERS, false), (MEMBERS, true)] {
        let first = if is_logged { 10_000 } else { 0 };
        measure(&store, members, first, likes, is_logged);
    }
}
