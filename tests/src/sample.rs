//! Sample data.

use serde_json::{Value, json};

/// 40 real posts of the Rust blog, 2014 to 2026, one JSON object a line, as `post import` takes them. Their
/// licence stands beside the file, in `tests/data/README.md`.
pub const RUST_BLOG: &str = include_str!("../data/rust-blog.jsonl");

/// The posts of [`RUST_BLOG`] as JSON.
///
/// # Panics
/// When a line is no JSON.
pub fn rust_blog() -> Vec<Value> {
    RUST_BLOG.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The body of `insert_post` for a post of this title, with a url of its own.
pub fn post(title: &str) -> Value {
    let path: String = title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    json!({
        "title": title,
        "post": format!("All there is to say about {title}."),
        "url": format!("https://news.example.org/{path}"),
    })
}

/// The body of `insert_notice` for a notice of this title.
pub fn notice(title: &str) -> Value {
    json!({ "title": title, "post": format!("{title}: see the board.") })
}
