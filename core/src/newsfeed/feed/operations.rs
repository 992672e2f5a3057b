use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Page;
use super::answer::Newsfeed;
use super::page::{FeedPage, More};
use crate::account::Call;
use crate::post::known;
use crate::record::activation::is_on;
use crate::record::answer::Encoded;
use crate::record::error::{Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::{FeedFormat, Switch};
use crate::{Caller, Tidings};

const GROUP: &str = "newsfeed";

/// Selects a page of a newsfeed, and what each post has besides the fields of a post.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Paging {
    /// The maximum number of posts, {page}; {page-default} by default.
    pub limit: Option<i64>,
    /// The `next` of the previous page, valid for ten minutes: continues the same order of posts.
    #[schema(min_length = 1, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<String>,
    /// 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0.
    #[schema(value_type = Option<Switch>)]
    pub liked: Option<i64>,
    /// 1: each post has `why`, the reason why it is in the newsfeed.
    #[schema(value_type = Option<Switch>)]
    pub why: Option<i64>,
    /// 1: each post that a source has brought has `source`, its name and address.
    #[schema(value_type = Option<Switch>)]
    pub source: Option<i64>,
    /// 1: each post with nearly identical ones has `similar`, at most ten of them.
    #[schema(value_type = Option<Switch>)]
    pub similar: Option<i64>,
    /// See [`Page::resumes`]. A server does not read it.
    #[serde(skip)]
    pub resumes: bool,
}

impl Paging {
    /// Returns the page.
    pub fn page(&self) -> Page<'_> {
        Page { limit: self.limit, next: self.next.as_deref(), resumes: self.resumes }
    }

    fn more(&self) -> Result<[bool; 4]> {
        Ok([
            is_on(self.liked, Problem::invalid("liked", "liked is 0 or 1"))?,
            is_on(self.why, Problem::invalid("why", "why is 0 or 1"))?,
            is_on(self.source, Problem::invalid("source", "source is 0 or 1"))?,
            is_on(self.similar, Problem::invalid("similar", "similar is 0 or 1"))?,
        ])
    }

    /// Returns whether posts have the fields of a post only, so that their answer is the same for all callers who get the page.
    ///
    /// # Errors
    /// `bad request`.
    pub fn is_plain(&self) -> Result<bool> {
        Ok(self.more()? == [false; 4])
    }

    fn answer(
        &self,
        tidings: &Tidings,
        caller: &Caller,
        feed: impl FnOnce(&Page<'_>) -> Result<FeedPage>,
    ) -> Result<Newsfeed> {
        let [likes, why, sources, similar] = self.more()?;
        let feed = super::with_own_likes(tidings, caller, feed(&self.page())?)?;
        if !(likes || why || sources || similar) {
            return Ok(Newsfeed::new(Arc::clone(feed.answer())));
        }
        let likes = likes.then(|| super::likes(tidings, caller, &feed)).transpose()?;
        // The page was read for this caller.
        let why = why.then(|| super::why::of_page(tidings, caller, &feed)).transpose()?;
        let sources = sources.then(|| super::sources(tidings, &feed)).transpose()?;
        let similar = similar.then(|| super::similar(tidings, caller, &feed)).transpose()?;
        let (likes, why) = (likes.as_deref(), why.as_deref());
        let more = More { likes, why, sources: sources.as_deref(), similar: similar.as_deref() };
        Ok(Newsfeed::new(Arc::new(feed.answer_with(more))))
    }
}

/// The first pages of the feeds of guests are in memory. A `next` may be of another server, and further fields are read.
fn of_guest(
    operation: &(impl Operation<Answer = Newsfeed> + Clone),
    page: &Paging,
    tidings: &Tidings,
) -> Option<Result<Arc<Encoded>>> {
    let is_in_memory = page.next.is_none() && page.is_plain().unwrap_or(true);
    let answer = || Ok(Arc::clone(tidings.call(&Caller::Guest, operation.clone())?.encoded()));
    is_in_memory.then(answer)
}

/// Get recommended posts
///
/// Based on the posts that the member liked and viewed, their searches and the newsfeeds that they opened; posts that
/// the member has seen are left out. Guests, and members with little activity, get fresh and popular posts across
/// topics.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListRecommended {
    /// The page.
    #[serde(rename = "..")]
    pub page: Paging,
}

impl Operation for ListRecommended {
    type Answer = Newsfeed;
    const SPEC: Spec = Spec::get(GROUP, "/get_recommendation_newsfeed", Access::Anyone).public();

    fn run(self, call: &Call<'_>) -> Result<Newsfeed> {
        self.page.answer(call.tidings(), call.caller(), |page| {
            super::recommended(call.tidings(), call.caller(), page)
        })
    }

    fn shared(answer: &Newsfeed) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        of_guest(self, &self.page, tidings)
    }
}

/// Get popular posts
///
/// Ranked by views and likes; recent ones count more.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListPopular {
    /// The page.
    #[serde(rename = "..")]
    pub page: Paging,
    /// `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
    /// `application/feed+json`.
    #[schema(value_type = Option<FeedFormat>)]
    pub format: Option<String>,
}

impl Operation for ListPopular {
    type Answer = Newsfeed;
    const SPEC: Spec = Spec::get(GROUP, "/get_popularity_newsfeed", Access::Anyone)
        .public()
        .with_formats()
        .works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Newsfeed> {
        self.page.answer(call.tidings(), call.caller(), |page| super::popular(call.tidings(), page))
    }

    fn shared(answer: &Newsfeed) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        of_guest(self, &self.page, tidings)
    }
}

/// Get a topic's newest posts
///
/// The posts whose topics or tags contain the name. Opening the first page is recorded in the member's list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListTopic {
    /// A topic or a tag
    #[schema(min_length = 1, examples("science"))]
    pub category_name: String,
    /// The page.
    #[serde(rename = "..")]
    pub page: Paging,
    /// `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
    /// `application/feed+json`.
    #[schema(value_type = Option<FeedFormat>)]
    pub format: Option<String>,
}

impl Operation for ListTopic {
    type Answer = Newsfeed;
    const SPEC: Spec = Spec::get(GROUP, "/get_newsfeed_of_topic/{category_name}", Access::Anyone)
        .public()
        .with_formats()
        .works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Newsfeed> {
        let Self { category_name, page, .. } = self;
        page.answer(call.tidings(), call.caller(), |page| {
            super::topic(call.tidings(), call.caller(), &category_name, page)
        })
    }

    fn shared(answer: &Newsfeed) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        of_guest(self, &self.page, tidings)
    }
}

/// Get a source's newest posts
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListSource {
    /// The `_id` of the source
    #[schema(value_type = ObjectId)]
    pub source_obi: String,
    /// The page.
    #[serde(rename = "..")]
    pub page: Paging,
}

impl Operation for ListSource {
    type Answer = Newsfeed;
    const SPEC: Spec = Spec::get(GROUP, "/get_newsfeed_of_source/{source_obi}", Access::Anyone)
        .public()
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Newsfeed> {
        let id = known(ObjectId::parse(&self.source_obi))?;
        self.page.answer(call.tidings(), call.caller(), |page| super::of_source(call.tidings(), &id, page))
    }

    fn shared(answer: &Newsfeed) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}

/// Get a topic's posts (v1)
///
/// Superseded by `/get_newsfeed_of_topic/{category_name}`, which gives the same answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(deprecated)]
pub struct ListTopicV1 {
    /// A topic or a tag
    #[schema(min_length = 1, examples("science"))]
    pub newsfeed_name: String,
    /// The page.
    #[serde(rename = "..")]
    pub page: Paging,
    /// `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
    /// `application/feed+json`.
    #[schema(value_type = Option<FeedFormat>)]
    pub format: Option<String>,
}

impl From<ListTopicV1> for ListTopic {
    fn from(ListTopicV1 { newsfeed_name, page, format }: ListTopicV1) -> Self {
        Self { category_name: newsfeed_name, page, format }
    }
}

impl Operation for ListTopicV1 {
    type Answer = Newsfeed;
    const SPEC: Spec = Spec::get(GROUP, "/get_topic_newsfeed/{newsfeed_name}", Access::Anyone)
        .public()
        .with_formats()
        .works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Newsfeed> {
        ListTopic::from(self).run(call)
    }

    fn shared(answer: &Newsfeed) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}
