//! Embeds tidings in a program: it adds a member and two posts, and prints the popular posts.
//!
//! Run it with `cargo run -p tidings-core --example embed`.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use tidings_core::account::{Caller, SignUp};
use tidings_core::newsfeed::{self, Page};
use tidings_core::{Tidings, post};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let tidings = Tidings::open(dir.path().join("campus.db"))?;

    let pw = String::from("correct horse");
    let form = SignUp { id: "ann".into(), pw: pw.clone(), pw_check: pw, nickname: "Ann".into(), email: None };
    let ann = Caller::token(tidings.call(&Caller::Guest, form)?.access_token);

    for (title, topic) in [("Borrowing, explained", "rust"), ("Ten quiet cats", "cats")] {
        let draft = post::Draft {
            title: Some(title.into()),
            url: Some(format!("https://example.org/{topic}")),
            topic: Some(vec![topic.into()]),
            ..post::Draft::default()
        };
        let inserted = tidings.call(&Caller::Operator, post::Insert { draft })?;
        // A call blocks until the like is on disk; in async code, use `post::like` and `done().await` instead.
        tidings.call(&ann, post::Like { post_obi: inserted.id.to_string() })?;
    }

    let feed = newsfeed::popular(&tidings, &Page::default())?;
    for post in feed.posts() {
        println!("{} ({}), liked by {}", post.title, post.url, post.fav_cnt);
    }
    Ok(())
}
