//! The newsfeeds.

use std::sync::Arc;

use http::HeaderValue;
use http::header::{HeaderName, LINK};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tidings_core::account::Caller;
use tidings_core::error::Problem;
use tidings_core::newsfeed::{self, FeedPage, Page, Why};
use tidings_core::post::Post;
use tidings_core::{Error, Result, Tidings};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::lane::{Lane, Lanes};
use crate::reply::{Answer, JSON, Reply};
use crate::request::Call;
use crate::route::Route;
use crate::syndication::{self, Format, FormatFields, JsonFeed, Outline};

/// The date of deprecation of version 1 of the topic feed: 2026-11-20, the first release, which already had version
/// 2.
///
/// Source of the format: RFC 9745.
const DEPRECATED: HeaderValue = HeaderValue::from_static("@1795132800");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

const POPULAR: &str = "/get_popularity_newsfeed";

#[expect(deprecated, reason = "the operation is deprecated, not its handler")]
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_recommendation_newsfeed", get_recommendation_newsfeed).public(),
        Route::get(POPULAR, get_popularity_newsfeed).public().with_formats(),
        Route::get("/get_topic_newsfeed/{newsfeed_name}", get_topic_newsfeed).public().with_formats(),
        Route::get("/get_newsfeed_of_topic/{category_name}", get_newsfeed_of_topic).public().with_formats(),
    ]
}

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageFields {
    /// The maximum number of posts, {page}; {page-default} by default.
    limit: Option<i64>,
    /// The `next` of the previous page, valid for ten minutes: continues the same order of posts.
    next: Option<String>,
    /// 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0.
    liked: Option<i64>,
    /// 1: each post has `why`, the reason why it is in the newsfeed.
    why: Option<i64>,
}

/// A post of a newsfeed.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeedPost {
    #[serde(flatten)]
    post: Post,
    /// With `?liked=1`: 1 if the caller likes the post, otherwise 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    liked: Option<i64>,
    /// With `?why=1`: the reason why the post is in the newsfeed. It tells the caller's own acts and public facts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<Why>,
}

/// What each post of an answer has besides the fields of a post.
#[derive(Clone, Copy, Default, PartialEq)]
struct More {
    /// Whether the caller likes the post.
    likes: bool,
    /// The reason why the post is in the newsfeed.
    why: bool,
}

/// A page of a newsfeed.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the core returns the encoded answer")]
pub(crate) struct Newsfeed {
    /// The posts.
    newsfeed: Vec<FeedPost>,
    /// The `next` of the following page; `null` on the last page.
    #[schema(required = true)]
    next: Option<String>,
}

/// Returns posts recommended to the member
///
/// Based on the posts that the member liked and viewed, their searches and the newsfeeds that they opened; posts that
/// the member has seen are left out. Guests, and members with little activity, get fresh and popular posts across
/// topics.
#[utoipa::path(
    get,
    path = "/get_recommendation_newsfeed",
    tag = "newsfeed",
    security((), ("token" = [])),
    params(PageFields),
    responses((status = 200, body = docs::Success<Newsfeed>)),
)]
pub(crate) async fn get_recommendation_newsfeed(call: Call) -> Answer {
    answer(call, |lanes| &lanes.read, newsfeed::recommended).await
}

/// Returns popular posts
///
/// Ranked by views and likes; recent ones count more.
#[utoipa::path(
    get,
    path = "/get_popularity_newsfeed",
    tag = "newsfeed",
    security((), ("token" = [])),
    params(PageFields, FormatFields),
    responses(
        (status = 200, content(
            (docs::Success<Newsfeed> = "application/json"),
            (String = "application/atom+xml"),
            (JsonFeed<'_> = "application/feed+json"),
        )),
    ),
)]
pub(crate) async fn get_popularity_newsfeed(call: Call) -> Answer {
    // All callers get the same feed, so members also get it from memory, except those who see their own likes in it.
    let page = call.parameters::<PageFields>()?;
    let format = Format::of(&call)?;
    let is_own = || !call.is_guest() && newsfeed::has_own_likes(call.tidings(), call.caller());
    if format.is_none() && (page.more()? != More::default() || is_own()) {
        let feed = |tidings: &_, _: &_, page: &Page<'_>| newsfeed::popular(tidings, page);
        return answer(call, |lanes| &lanes.store, feed).await;
    }
    let feed = newsfeed::popular(call.tidings(), &page.page())?;
    match format {
        None => call.encoded(feed.answer()).await,
        Some(format) => {
            let outline = Outline::new(&call, format, "Popular posts", POPULAR).at(&page.page());
            syndication::posts(call, outline, feed).await
        }
    }
}

/// Returns the posts of a topic, newest first
///
/// The posts whose topics or tags contain the name. Opening the first page is recorded in the member's list.
#[utoipa::path(
    get,
    path = "/get_newsfeed_of_topic/{category_name}",
    tag = "newsfeed",
    security((), ("token" = [])),
    params(("category_name" = String, Path, description = "A topic or a tag"), PageFields, FormatFields),
    responses(
        (status = 200, content(
            (docs::Success<Newsfeed> = "application/json"),
            (String = "application/atom+xml"),
            (JsonFeed<'_> = "application/feed+json"),
        )),
    ),
)]
pub(crate) async fn get_newsfeed_of_topic(mut call: Call) -> Answer {
    let [name] = call.segments()?;
    topic(call, name).await
}

/// Returns the posts of a topic (version 1)
///
/// Superseded by `/get_newsfeed_of_topic/{category_name}`, which gives the same answer.
#[utoipa::path(
    get,
    path = "/get_topic_newsfeed/{newsfeed_name}",
    tag = "newsfeed",
    security((), ("token" = [])),
    params(("newsfeed_name" = String, Path, description = "A topic or a tag"), PageFields, FormatFields),
    responses(
        (status = 200, content(
            (docs::Success<Newsfeed> = "application/json"),
            (String = "application/atom+xml"),
            (JsonFeed<'_> = "application/feed+json"),
        )),
    ),
)]
#[deprecated]
pub(crate) async fn get_topic_newsfeed(mut call: Call) -> Answer {
    let [name] = call.segments()?;
    let base = call.app().config.base_path.as_str();
    let successor = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    let link = format!(r#"<{base}/get_newsfeed_of_topic/{successor}>; rel="successor-version""#);
    let link = HeaderValue::from_str(&link).expect("a base path and percent-encoded text are ASCII");
    Ok(topic(call, name).await?.with(DEPRECATION, DEPRECATED).with(LINK, link))
}

async fn topic(call: Call, name: String) -> Answer {
    let path = format!("/get_newsfeed_of_topic/{}", utf8_percent_encode(&name, NON_ALPHANUMERIC));
    let title = name.clone();
    // A member's opening of the feed is recorded, which waits for the disk. All callers get the same feed, so `HEAD`, which
    // changes nothing, answers as to a guest.
    let call = if call.is_head() { call.by_guest() } else { call };
    let feed = move |tidings: &_, caller: &_, page: &Page<'_>| newsfeed::topic(tidings, caller, &name, page);
    let Some(format) = Format::of(&call)? else {
        return answer(call, |lanes| &lanes.store, feed).await;
    };
    let page = call.parameters::<PageFields>()?;
    let outline = Outline::new(&call, format, title, &path).at(&page.page());
    if call.is_guest() {
        let feed = feed(call.tidings(), call.caller(), &page.page())?;
        return syndication::posts(call, outline, feed).await;
    }
    let feed = move |tidings: &_, caller: &_| feed(tidings, caller, &page.page());
    syndication::posts_of_member(call, outline, |lanes| &lanes.store, feed).await
}

/// Answers a feed: for guests directly from memory, for members in a lane, because it reads the database.
async fn answer(
    call: Call,
    lane: impl FnOnce(&Lanes) -> &Lane + Send,
    feed: impl FnOnce(&Tidings, &Caller, &Page<'_>) -> Result<FeedPage> + Send + 'static,
) -> Answer {
    let page = call.parameters::<PageFields>()?;
    let more = page.more()?;
    let encoded = move |tidings: &_, caller: &_| {
        let feed = newsfeed::with_own_likes(tidings, caller, feed(tidings, caller, &page.page())?)?;
        if more == More::default() {
            return Ok(Arc::clone(feed.answer()));
        }
        let likes = more.likes.then(|| newsfeed::likes(tidings, caller, &feed)).transpose()?;
        let why = more.why.then(|| newsfeed::why(tidings, caller, &feed)).transpose()?;
        Ok(Arc::new(feed.answer_with(likes.as_deref(), why.as_deref())))
    };
    if call.is_guest() {
        let answer = encoded(call.tidings(), call.caller())?;
        return call.encoded(&answer).await;
    }
    let answer = move |tidings: &_, caller: &_, accepted| {
        encoded(tidings, caller).map(|answer| Reply::encoded(&answer, JSON, accepted))
    };
    call.run_in(lane, answer).await
}

impl PageFields {
    fn page(&self) -> Page<'_> {
        Page { limit: self.limit, next: self.next.as_deref(), ..Page::default() }
    }

    /// Returns what each post has besides the fields of a post.
    fn more(&self) -> Result<More> {
        let is_on = |switch, problem| match switch {
            None | Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(_) => Err(Error::BadRequest(problem)),
        };
        Ok(More {
            likes: is_on(self.liked, Problem::invalid("liked", "liked is 0 or 1"))?,
            why: is_on(self.why, Problem::invalid("why", "why is 0 or 1"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::post::{self, Draft};

    use super::*;
    use crate::config::Config;
    use crate::testing::{by, header, json, outcome, request, service, with};

    fn draft(number: usize) -> Draft {
        Draft {
            title: Some(format!("Post {number}")),
            url: Some(format!("https://example.org/{number}")),
            topic: Some(vec!["대학 소식".into()]),
            ..Draft::default()
        }
    }

    #[tokio::test]
    async fn version_1_answers_as_version_2_and_links_to_it() {
        let service = service();
        post::insert(&service.tidings, &Caller::Operator, &draft(1)).unwrap();
        let name = "%EB%8C%80%ED%95%99%20%EC%86%8C%EC%8B%9D";
        let config = Config { base_path: "/api".parse().unwrap(), ..Config::default() };
        let get =
            async |path: &str| service.answer(&config, request("GET", &format!("/api/{path}/{name}"))).await;
        let (first, second) = (get("get_topic_newsfeed").await, get("get_newsfeed_of_topic").await);
        assert_eq!(json(&second)["newsfeed"][0]["title"], "Post 1");
        assert_eq!(first.body(), second.body());
        assert_eq!((header(&first, "deprecation"), header(&second, "deprecation")), ("@1795132800", ""));
        let link = format!(r#"</api/get_newsfeed_of_topic/{name}>; rel="successor-version""#);
        assert_eq!(header(&first, "link"), link);
    }

    #[tokio::test]
    async fn pages_are_requested_by_query_parameters() {
        let service = service();
        for number in 0..3 {
            post::insert(&service.tidings, &Caller::Operator, &draft(number)).unwrap();
        }
        let get = async |query: &str| {
            service.call(request("GET", &format!("/get_popularity_newsfeed{query}"))).await
        };
        let first = json(&get("?limit=2&other=x").await);
        assert_eq!(first["newsfeed"].as_array().unwrap().len(), 2);
        let next = first["next"].as_str().unwrap();
        let second = json(&get(&format!("?next={next}")).await);
        assert_eq!(
            (second["newsfeed"].as_array().unwrap().len(), &second["next"]),
            (1, &serde_json::Value::Null)
        );
        for query in ["?limit=0", "?limit=301", "?limit=ten", "?limit=", "?limit=1.5", "?next=x", "?next=%FF"]
        {
            assert_eq!(outcome(&get(query).await), "400 bad request", "{query}");
        }
    }

    #[tokio::test]
    async fn every_feed_is_public_and_compressed_for_clients_that_accept_gzip() {
        let service = service();
        for number in 0..20 {
            post::insert(&service.tidings, &Caller::Operator, &draft(number)).unwrap();
        }
        let token = service.member("ann").await;
        for path in
            ["/get_recommendation_newsfeed", "/get_popularity_newsfeed", "/get_newsfeed_of_topic/%EB%8C%80"]
        {
            let get = || with(request("GET", path), "accept-encoding", "gzip");
            for request in [get(), by(&token, get()), by("forged", get())] {
                let answer = service.call(request).await;
                let is_long = !path.contains("topic");
                assert_eq!(
                    (answer.status().as_u16(), header(&answer, "content-encoding") == "gzip"),
                    (200, is_long)
                );
            }
        }
        assert_eq!(
            outcome(&service.call(request("GET", "/get_newsfeed_of_topic/%FF")).await),
            "400 bad request"
        );
    }
}
