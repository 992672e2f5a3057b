//! Sample data.

use serde_json::{Value, json};

/// 40 real posts of the Rust blog, 2014 to 2026, one JSON object per line, as `post import` reads them.
/// `tests/data/README.md` states their licence.
pub const RUST_BLOG: &str = include_str!("../data/rust-blog.jsonl");

pub fn rust_blog() -> Vec<Value> {
    RUST_BLOG.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the body of an `insert_post` request for a post with this title and a URL derived from it.
pub fn post(title: &str) -> Value {
    let path: String = title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    json!({
        "title": title,
        "post": format!("All there is to say about {title}."),
        "url": format!("https://news.example.org/{path}"),
    })
}

pub fn notice(title: &str) -> Value {
    json!({ "title": title, "post": format!("{title}: see the board.") })
}
