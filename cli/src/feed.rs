//! `tidings feed`: newsfeeds, as a member or a guest sees them.

mod weights;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;
use tidings_access::Feed as Newsfeed;
use tidings_core::newsfeed::{LIMIT_MAX, Why};
use tidings_core::post::Post;
use tidings_tui::number::{count, number};

use crate::failure::Failure;
use crate::output::{Page, Style, local, stream_pages};
use crate::post;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Feed {
    /// Recommend posts to a member by their interest; a guest gets fresh and popular posts
    #[command(after_help = "Example: tidings --as ann feed recommended --limit 20")]
    Recommended(Paging),
    /// List popular posts
    #[command(after_help = "Example: tidings feed popular --limit 20")]
    Popular(Paging),
    /// List the posts of a topic, newest first; a member's visit is recorded
    #[command(after_help = "Example: tidings feed topic Rust")]
    Topic {
        /// The topic or tag
        name: String,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show, learn and pin the weights of the signals that the recommended feed is made of
    #[command(
        after_help = "Examples: tidings feed weights --learn\n          tidings feed weights --pin recent=0.6 popular=0"
    )]
    Weights(weights::Weights),
}

#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// How many posts, 1 to 300 [default: 150, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Continue after the page that returned this as its next
    #[arg(long, value_name = "X")]
    next: Option<String>,
    /// Also show the reason why each post is in the feed
    #[arg(long)]
    why: bool,
}

/// A post with the reason why it is in the feed, if it was asked for.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    post: Post,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Why>,
}

pub(crate) fn run(session: &Session, command: &Feed) -> Result<ExitCode, Failure> {
    match command {
        Feed::Recommended(paging) => answer(session, paging, Newsfeed::Recommended),
        Feed::Popular(paging) => answer(session, paging, Newsfeed::Popular),
        Feed::Topic { name, paging } => answer(session, paging, Newsfeed::Topic(name)),
        Feed::Weights(command) => weights::run(session, command),
    }
}

fn answer(session: &Session, paging: &Paging, feed: Newsfeed<'_>) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    if out.streams() {
        return stream_pages(paging.limit, paging.next.clone(), |next, left| {
            let most = i64::try_from(LIMIT_MAX).unwrap_or(i64::MAX);
            let page = service.feed(feed, Some(left.min(most)), next.as_deref(), paging.why)?;
            let lines = page.posts.into_iter().map(|(post, why)| Line { post, why }).collect();
            Ok((lines, page.next))
        });
    }
    let page = service.feed(feed, paging.limit, paging.next.as_deref(), paging.why)?;
    out.encoded(&page.json, |screen| {
        if paging.why {
            explained(screen, &page.posts);
        } else {
            let mut table = post::table();
            for (post, _) in &page.posts {
                let (views, likes) = (number(post.view), number(post.fav_cnt));
                let (id, title, url) = (post.id.clone(), post.title.clone(), post.url.clone());
                table.row([id, title, views, likes, local(post.date), url]);
            }
            screen.table(&table, "There are no posts.");
        }
        if let Some(next) = &page.next {
            screen.note(&format!("There are more: --next {next}"));
        }
    })
}

/// Prints each post with the reason why it is in the feed.
fn explained(screen: &mut Page, posts: &[(Post, Option<Why>)]) {
    if posts.is_empty() {
        screen.note("There are no posts.");
    }
    for (i, (post, why)) in posts.iter().enumerate() {
        if i > 0 {
            screen.line("");
        }
        screen.styled(Style::Strong, &post.title);
        let (views, likes) = (count(post.view, "view"), count(post.fav_cnt, "like"));
        screen.indented(&format!("{}  {views}, {likes}, {}", post.id, local(post.date)));
        screen.indented(&post.url);
        if let Some(Why { text, .. }) = why {
            screen.indented(text);
        }
    }
}
