//! `tidings feed`: newsfeeds, as a member or a guest sees them.

mod weights;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_client::Service;
use tidings_client::shown::number::{count, number};
use tidings_core::newsfeed::{
    self, FeedPost, FeedPosts, LIMIT_MAX, ListPopular, ListRecommended, ListSource, ListTopic, Newsfeed,
    SimilarPost, Why,
};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Page, Style, local, stream_pages};
use crate::post;
use crate::session::Session;
use crate::source::Named;

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
        #[arg(add = ids(Kind::Topic))]
        name: String,
        #[command(flatten)]
        paging: Paging,
    },
    /// List the posts of a source, newest first
    #[command(after_help = "Example: tidings feed source https://news.example.org/feed.xml")]
    Source {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show and learn the weights of the signals that the recommended feed is made of
    #[command(after_help = "Example: tidings feed weights --learn")]
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
    /// Also show the other posts that tell the same story as each post
    #[arg(long)]
    similar: bool,
}

pub(crate) fn run(session: &Session, command: &Feed) -> Result<ExitCode, Failure> {
    match command {
        Feed::Recommended(paging) => {
            answer(session, paging, |service, page| service.call(ListRecommended { page }))
        }
        Feed::Popular(paging) => {
            answer(session, paging, |service, page| service.call(ListPopular { page, format: None }))
        }
        Feed::Topic { name, paging } => answer(session, paging, |service, page| {
            service.call(ListTopic { category_name: name.clone(), page, format: None })
        }),
        Feed::Source { named, paging } => {
            let source_obi = named.found(session)?.id;
            answer(session, paging, |service, page| {
                service.call(ListSource { source_obi: source_obi.clone(), page })
            })
        }
        Feed::Weights(command) => weights::run(session, command),
    }
}

fn answer(
    session: &Session,
    paging: &Paging,
    list: impl Fn(&Service, newsfeed::Paging) -> tidings_client::Result<Newsfeed>,
) -> Result<ExitCode, Failure> {
    let (service, out) = (session.service.as_reader(), &session.out);
    let page = newsfeed::Paging {
        limit: paging.limit,
        next: paging.next.clone(),
        why: paging.why.then_some(1),
        similar: paging.similar.then_some(1),
        // The process that returned the previous page has ended.
        resumes: true,
        ..newsfeed::Paging::default()
    };
    if out.streams() {
        return stream_pages(paging.limit, paging.next.clone(), |next, left| {
            let most = i64::try_from(LIMIT_MAX).unwrap_or(i64::MAX);
            let page = newsfeed::Paging { limit: Some(left.min(most)), next, ..page.clone() };
            let FeedPosts { newsfeed, next } = list(&service, page)?.fields();
            Ok((newsfeed, next))
        });
    }
    let answer = list(&service, page)?;
    let FeedPosts { newsfeed, next } = answer.fields();
    out.encoded(answer.encoded().json(), |screen| {
        if paging.why || paging.similar {
            detailed(screen, &newsfeed);
        } else {
            let mut table = post::table();
            for FeedPost { post, .. } in &newsfeed {
                let (views, likes) = (number(post.view), number(post.fav_cnt));
                let (id, title, url) = (post.id.clone(), post.title.clone(), post.url.clone());
                table.row([id, title, views, likes, local(post.date), url]);
            }
            screen.table(&table, "There are no posts.");
        }
        if let Some(next) = &next {
            screen.note(&format!("There are more: --next {next}"));
        }
    })
}

fn detailed(screen: &mut Page, posts: &[FeedPost]) {
    if posts.is_empty() {
        screen.note("There are no posts.");
    }
    for (i, FeedPost { post, why, similar, .. }) in posts.iter().enumerate() {
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
        for SimilarPost { id, title, url, source } in similar.iter().flatten() {
            let from = source.as_ref().map(|source| format!(" ({})", source.name)).unwrap_or_default();
            screen.indented(&format!("similar: {id}  {title}{from}  {url}"));
        }
    }
}
