//! Newsfeeds.

use serde::Deserialize;
use tidings_core::account::Caller;
use tidings_core::newsfeed::{self, Page, Why};
use tidings_core::post::Post;
use tidings_core::{Tidings, newsfeed::FeedPage as CorePage};

use crate::Service;
use crate::error::Result;

/// A newsfeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed<'a> {
    /// The posts recommended to the acting member, or to guests.
    Recommended,
    /// Popular posts.
    Popular,
    /// The posts of a topic, newest first. A member's visit is recorded.
    Topic(&'a str),
}

/// A page of a newsfeed.
#[derive(Debug)]
pub struct FeedPage {
    /// The posts, each with the reason why it is in the feed if that was asked for.
    pub posts: Vec<(Post, Option<Why>)>,
    /// The text that continues the feed; `None` on its last page.
    pub next: Option<String>,
    /// The answer as HTTP sends it, a JSON object.
    pub json: Vec<u8>,
}

impl Service {
    /// Returns a page of a newsfeed.
    ///
    /// # Errors
    /// `bad request` if the limit or `next` breaks its rule.
    pub fn feed(
        &self,
        feed: Feed<'_>,
        limit: Option<i64>,
        next: Option<&str>,
        why: bool,
    ) -> Result<FeedPage> {
        #[derive(Deserialize)]
        struct Line {
            #[serde(flatten)]
            post: Post,
            why: Option<Why>,
        }
        #[derive(Deserialize)]
        struct Answer {
            newsfeed: Vec<Line>,
            next: Option<String>,
        }
        self.run(
            |tidings, caller| on_database(tidings, caller, feed, limit, next, why),
            |server| {
                let path = match feed {
                    Feed::Recommended => &["get_recommendation_newsfeed"][..],
                    Feed::Popular => &["get_popularity_newsfeed"],
                    Feed::Topic(name) => &["get_newsfeed_of_topic", name],
                };
                let limit = limit.map(|limit| limit.to_string());
                let why = why.then(|| "1".to_owned());
                let query = [("limit", limit), ("next", next.map(str::to_owned)), ("why", why)];
                let json = server.as_reader().get_bytes(path, &query)?;
                let Answer { newsfeed, next } = server.decode(&json)?;
                let posts = newsfeed.into_iter().map(|Line { post, why }| (post, why)).collect();
                Ok(FeedPage { posts, next, json })
            },
        )
    }
}

fn on_database(
    tidings: &Tidings,
    caller: &Caller,
    feed: Feed<'_>,
    limit: Option<i64>,
    next: Option<&str>,
    why: bool,
) -> tidings_core::Result<FeedPage> {
    let page = &Page { limit, next, resumes: true };
    let page: CorePage = match feed {
        Feed::Recommended => newsfeed::recommended(tidings, caller, page),
        Feed::Popular => newsfeed::popular(tidings, page),
        Feed::Topic(name) => newsfeed::topic(tidings, caller, name, page),
    }?;
    let why = why.then(|| newsfeed::why(tidings, caller, &page)).transpose()?;
    let json = match &why {
        Some(why) => page.answer_with(None, Some(why)).json().to_vec(),
        None => page.answer().json().to_vec(),
    };
    let mut why = why.into_iter().flatten();
    let posts = page.posts().map(|post| (post, why.next())).collect();
    Ok(FeedPage { posts, next: page.next().map(str::to_owned), json })
}
