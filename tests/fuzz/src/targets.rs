//! The table of fuzz targets.

use std::cell::OnceCell;

use tidings_core::fuzzing as core;
use tidings_core::post::Format;
use tidings_server::fuzzing as server;

use crate::examples;

/// A parser under test, and the material of its inputs.
pub struct Target {
    pub name: &'static str,
    /// Parses an input and returns whether it was accepted; panics if a property is violated.
    pub run: fn(&[u8]) -> bool,
    pub dictionary: &'static [&'static str],
    /// The relative cost of an input; `tests/short.rs` divides its number of inputs by it.
    pub cost: u64,
    examples: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Returns inputs that are valid or almost valid.
    pub fn examples(&self) -> Vec<Vec<u8>> {
        (self.examples)()
    }

    const fn new(name: &'static str, run: fn(&[u8]) -> bool, examples: fn() -> Vec<Vec<u8>>) -> Self {
        Self { name, run, examples, dictionary: &[], cost: 1 }
    }

    const fn with(self, dictionary: &'static [&'static str]) -> Self {
        Self { dictionary, ..self }
    }

    const fn costing(self, cost: u64) -> Self {
        Self { cost, ..self }
    }
}

fn posts(bytes: &[u8], format: Format) -> bool {
    core::posts(format, bytes).good > 0
}

pub const TARGETS: [Target; 24] = [
    Target::new("path", server::path, examples::paths).with(&["/", "%2F", "%", "%ff", "//", ".", "?"]),
    Target::new("query", server::query, examples::forms).with(examples::FORM),
    Target::new("form", server::form, examples::forms).with(examples::FORM),
    Target::new("json", server::json, examples::json).with(examples::JSON),
    Target::new("body", server::body, examples::bodies).with(examples::JSON),
    Target::new("authorization", server::authorization, examples::authorization)
        .with(&["Bearer ", "\n", " "]),
    Target::new("forwarded-for", server::forwarded_for, examples::forwarded_for)
        .with(&[", ", "[", "]", ":", "::", "10.1.1.1", "\n"]),
    Target::new("accept-encoding", server::accept_encoding, examples::accept_encoding)
        .with(&["gzip", "br", "identity", "*", ";q=", ", ", "0.0", "\n"]),
    Target::new("settings", server::settings, examples::settings).with(&["/", "://", "https", ".", ":"]),
    Target::new("token", core::token, examples::tokens).with(&[".", "=", "eyJhbGciOiJub25lIn0"]).costing(2),
    Target::new("password-hash", core::password_hash, examples::password_hashes).with(&["$", ":", "m=", ","]),
    Target::new("date", core::date, examples::dates).with(&["-", ":", "T", "Z", "+23:59", "[UTC]", "."]),
    Target::new("object-id", core::object_id, || vec![b"6560c1a2ffeeddccbbaa0001".to_vec()]),
    Target::new("next", core::next, || vec![b"00000000000000ff0000000a01e".to_vec()]),
    Target::new("search", core::search, examples::searches).costing(2),
    Target::new("posts-json", |bytes| posts(bytes, Format::Json), examples::posts_json)
        .with(examples::JSON)
        .costing(20),
    Target::new("posts-csv", |bytes| posts(bytes, Format::Csv), examples::posts_csv)
        .with(&[",", "\"", "\n", "url", ";"])
        .costing(5),
    Target::new("posts-feed", |bytes| posts(bytes, Format::Feed), examples::feeds)
        .with(examples::FEED)
        .costing(20),
    Target::new("feed", feed, examples::odd_feeds).with(examples::FEED).costing(5),
    Target::new("members", |bytes| core::members(bytes).good > 0, examples::members)
        .with(examples::JSON)
        .costing(2),
    Target::new("acts", |bytes| core::acts(bytes).good > 0, examples::acts).with(examples::JSON).costing(5),
    Target::new("roster", |bytes| core::roster(bytes).good > 0, examples::roster)
        .with(&[",", "\"", "\n", "id", "name", "password"]),
    Target::new("vectors", core::vectors, examples::vectors).with(&[" ", "\n"]).costing(5),
    Target::new("database", database, examples::databases).costing(2_000),
];

/// Reads a feed. The first byte chooses a charset.
fn feed(bytes: &[u8]) -> bool {
    let charsets =
        [None, Some("utf-8"), Some("euc-kr"), Some("utf-16"), Some("iso-2022-jp"), Some("gb18030")];
    let charset = bytes.first().and_then(|first| charsets[usize::from(*first) % charsets.len()]);
    let Ok(feed) = tidings_feeds::read(bytes, &tidings_feeds::Source { charset, address: None }) else {
        return false;
    };
    for entry in feed.entries.iter().flatten() {
        for address in [&entry.url, &entry.image].into_iter().flatten() {
            assert!(address.starts_with("http://") || address.starts_with("https://"), "{address}");
            assert!(!address.contains(|c: char| c.is_whitespace() || c.is_control()), "{address}");
        }
        assert!(!entry.title.contains(|c: char| c.is_control()), "{}", entry.title);
        assert!(!entry.text.contains(|c: char| c.is_control() && !"\n\t".contains(c)), "{}", entry.text);
        assert!(entry.text.len() <= 4 * bytes.len() + (2 << 20), "{} bytes", entry.text.len());
    }
    !feed.entries.is_empty()
}

/// Opens a file that may be a database or a backup, in a directory of the thread.
fn database(bytes: &[u8]) -> bool {
    thread_local! {
        static DIRECTORY: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
    }
    DIRECTORY.with(|directory| {
        let made = || tempfile::tempdir().expect("creating a temporary directory failed");
        core::database(bytes, directory.get_or_init(made).path())
    })
}
