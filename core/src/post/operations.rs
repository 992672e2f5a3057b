//! The operations on posts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Categories, Draft, GetPost, ListQuery, PostList};
use crate::answer::Inserted;
use crate::error::Result;
use crate::id::ObjectId;
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "post";
const ADMINS: Access = Access::Admins(Scope::Posts);

/// Returns a post with its whole text
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Get {
    type Answer = GetPost;
    const SPEC: Spec = Spec::get(GROUP, "/get_post/{post_obi}", Access::Open)
        .public()
        .works(Work::Few)
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<GetPost> {
        super::get(tidings, &self.post_obi)
    }
}

/// Lists the categories that have posts, largest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListCategories {}

impl Operation for ListCategories {
    type Answer = Categories;
    const SPEC: Spec = Spec::get(GROUP, "/get_categories", Access::Open).public();

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<Categories> {
        super::categories(tidings)
    }
}

/// Lists all posts, newest first, also those past their end date
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// The topic or tag of the posts; all posts by default.
    #[schema(examples("science"))]
    pub topic: Option<String>,
    /// The maximum number of posts, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(max_length = 100, examples("1795163760000.6b0039acd7c34f1e5b2e91a7"))]
    pub next: Option<String>,
}

impl Operation for List {
    type Answer = PostList;
    const SPEC: Spec = Spec::get(GROUP, "/get_posts", Access::Open).public().works(Work::Query);

    fn run(self, tidings: &Tidings, _: &Caller) -> Result<PostList> {
        let Self { topic, limit, next } = self;
        super::list(tidings, &ListQuery { topic: topic.as_deref(), limit, next: next.as_deref() })
    }
}

/// Counts a view and records it in a member's list
///
/// For the popularity of the post, each viewer counts once an hour, and the guests of one network together at most 30
/// times.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct View {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for View {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_view/{post_obi}", Access::Anyone).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::view(tidings, caller, &self.post_obi).wait()
    }
}

/// Likes a post; idempotent
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Like {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Like {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_like/{post_obi}", Access::Members).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::like(tidings, caller, &self.post_obi).wait()
    }
}

/// Removes a like; idempotent
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Unlike {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Unlike {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_unlike/{post_obi}", Access::Members).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::unlike(tidings, caller, &self.post_obi).wait()
    }
}

/// Hides a post from the member's recommended feed; idempotent
///
/// Other feeds and searches still show it. The newest 300 hidden posts of a member stay hidden. Resetting the
/// measurement of interest shows them again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Hide {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Hide {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_hide/{post_obi}", Access::Members).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::hide(tidings, caller, &self.post_obi).wait()
    }
}

/// Shows a hidden post in the recommended feed again; idempotent
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Unhide {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Unhide {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/post_unhide/{post_obi}", Access::Members).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::unhide(tidings, caller, &self.post_obi).wait()
    }
}

/// Publishes a post
///
/// `title` and `url` are required.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = PostFields)]
pub struct Insert {
    /// Its fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Insert {
    type Answer = Inserted;
    const SPEC: Spec =
        Spec::post(GROUP, "/insert_post", ADMINS).requiring(&["title", "url"]).or(&[Failure::DuplicateUrl]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Inserted> {
        super::insert(tidings, caller, &self.draft)
    }
}

/// Changes the given fields of a post
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PostFields)]
pub struct Update {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
    /// Its new fields.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Operation for Update {
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/update_post/{post_obi}", ADMINS).or(&[Failure::Missing, Failure::DuplicateUrl]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::update(tidings, caller, &self.post_obi, &self.draft)
    }
}

/// Removes a post
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The `_id` of the post
    #[schema(value_type = ObjectId)]
    pub post_obi: String,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/remove_post/{post_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::remove(tidings, caller, &self.post_obi)
    }
}
