//! Posts, which administrators write and import, and members view and like.

use serde::Deserialize;
use tidings_core::answer::Inserted;
use tidings_core::post::{self, Categories, Draft, GetPost, ListQuery, PostList};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::download;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::Call;
use crate::route::Route;

pub(crate) mod import;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_post/{post_obi}", get_post).public(),
        Route::get("/get_categories", get_categories).public(),
        Route::get("/get_posts", get_posts).public(),
        Route::get("/export_posts", export_posts).reads(),
        Route::get("/post_view/{post_obi}", post_view).counts_as(Counted::Write),
        Route::get("/post_like/{post_obi}", post_like).counts_as(Counted::Write),
        Route::get("/post_unlike/{post_obi}", post_unlike).counts_as(Counted::Write),
        Route::get("/post_hide/{post_obi}", post_hide).counts_as(Counted::Write),
        Route::get("/post_unhide/{post_obi}", post_unhide).counts_as(Counted::Write),
        Route::post("/insert_post", insert_post).counts_as(Counted::Write),
        Route::post("/update_post/{post_obi}", update_post).counts_as(Counted::Write),
        Route::get("/remove_post/{post_obi}", remove_post).counts_as(Counted::Write),
        Route::post("/import_posts", import::import_posts).counts_as(Counted::Write),
    ]
}

/// Returns a post with its whole text
#[utoipa::path(
    get,
    path = "/get_post/{post_obi}",
    tag = "post",
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Success<GetPost>), docs::Missing),
)]
pub(crate) async fn get_post(mut call: Call) -> Answer {
    let [id] = call.ids();
    call.read_few(move |tidings, _| post::get(tidings, &id)).await
}

/// Lists the categories that have posts, largest first
#[utoipa::path(
    get,
    path = "/get_categories",
    tag = "post",
    responses((status = 200, body = docs::Success<Categories>)),
)]
pub(crate) async fn get_categories(call: Call) -> Answer {
    call.read(|tidings, _| post::categories(tidings)).await
}

/// Counts a view and records it in a member's list
///
/// For the popularity of the post, each viewer counts once an hour, and the guests of one network together at most 30
/// times.
#[utoipa::path(
    get,
    path = "/post_view/{post_obi}",
    tag = "post",
    security((), ("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Missing),
)]
pub(crate) async fn post_view(mut call: Call) -> Answer {
    let [id] = call.ids();
    let guest = Some(call.guest());
    Reply::written(post::view_from(call.tidings(), call.caller(), guest, &id)).await
}

/// Likes a post; idempotent
#[utoipa::path(
    get,
    path = "/post_like/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Members, docs::Missing),
)]
pub(crate) async fn post_like(mut call: Call) -> Answer {
    let [id] = call.ids();
    Reply::written(post::like(call.tidings(), call.caller(), &id)).await
}

/// Removes a like; idempotent
#[utoipa::path(
    get,
    path = "/post_unlike/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Members, docs::Missing),
)]
pub(crate) async fn post_unlike(mut call: Call) -> Answer {
    let [id] = call.ids();
    Reply::written(post::unlike(call.tidings(), call.caller(), &id)).await
}

/// Hides a post from the member's recommended feed; idempotent
///
/// Other feeds and searches still show it. The newest 300 hidden posts of a member stay hidden. Resetting the
/// measurement of interest shows them again.
#[utoipa::path(
    get,
    path = "/post_hide/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Members, docs::Missing),
)]
pub(crate) async fn post_hide(mut call: Call) -> Answer {
    let [id] = call.ids();
    Reply::written(post::hide(call.tidings(), call.caller(), &id)).await
}

/// Shows a hidden post in the recommended feed again; idempotent
#[utoipa::path(
    get,
    path = "/post_unhide/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Members, docs::Missing),
)]
pub(crate) async fn post_unhide(mut call: Call) -> Answer {
    let [id] = call.ids();
    Reply::written(post::unhide(call.tidings(), call.caller(), &id)).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct PostFields {
    /// {post-title} characters.
    title: Option<String>,
    /// The text, {post-text} characters.
    post: Option<String>,
    /// The URL, http or https, {post-url} characters, unique among posts.
    url: Option<String>,
    /// The URL of an image; `""` for none.
    img: Option<String>,
    /// The categories, {post-names}, each of {post-name} characters.
    topic: Option<Vec<String>>,
    /// The tags, {post-names}, each of {post-name} characters.
    tag: Option<Vec<String>>,
    /// The date of publication, RFC 3339; the current time by default for a new post.
    date: Option<String>,
    /// The date from which the post is hidden, RFC 3339; `""` for never.
    end_date: Option<String>,
}

impl From<PostFields> for Draft {
    fn from(fields: PostFields) -> Self {
        let PostFields { title, post, url, img, topic, tag, date, end_date } = fields;
        Self { title, post, url, img, topic, tag, date, end_date }
    }
}

/// Publishes a post
///
/// `title` and `url` are required.
#[utoipa::path(
    post,
    path = "/insert_post",
    tag = "post",
    security(("token" = [])),
    request_body = PostFields,
    responses((status = 200, body = docs::Success<Inserted>), docs::Administrators, docs::DuplicateUrl),
)]
pub(crate) async fn insert_post(mut call: Call) -> Answer {
    let draft = call.fields::<PostFields>().await?.into();
    call.answer(move |tidings, caller| post::insert(tidings, caller, &draft)).await
}

/// Changes the given fields of a post
#[utoipa::path(
    post,
    path = "/update_post/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    request_body = PostFields,
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing, docs::DuplicateUrl),
)]
pub(crate) async fn update_post(mut call: Call) -> Answer {
    let [id] = call.ids();
    let draft = call.fields::<PostFields>().await?.into();
    call.answer(move |tidings, caller| post::update(tidings, caller, &id, &draft)).await
}

/// Removes a post
#[utoipa::path(
    get,
    path = "/remove_post/{post_obi}",
    tag = "post",
    security(("token" = [])),
    params(("post_obi" = String, Path, description = "The `_id` of the post")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn remove_post(mut call: Call) -> Answer {
    let [id] = call.ids();
    call.answer(move |tidings, caller| post::remove(tidings, caller, &id)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PostParameters {
    /// The topic or tag of the posts; all posts by default.
    topic: Option<String>,
    /// The maximum number of posts, 1 to 1,000; 100 by default.
    limit: Option<i64>,
    /// The `next` of the previous page.
    next: Option<String>,
}

/// Lists all posts, newest first, also those past their end date
#[utoipa::path(
    get,
    path = "/get_posts",
    tag = "post",
    params(PostParameters),
    responses((status = 200, body = docs::Success<PostList>)),
)]
pub(crate) async fn get_posts(call: Call) -> Answer {
    let PostParameters { topic, limit, next } = call.parameters()?;
    let list = move |tidings: &_, _: &_| {
        post::list(tidings, &ListQuery { topic: topic.as_deref(), limit, next: next.as_deref() })
    };
    call.query(list).await
}

/// Returns all posts in the format that `/import_posts` reads
///
/// The response is a download of any length with one JSON object on each line, in the order of the insertions, sent as it is
/// read: posts may change meanwhile. At most 16 downloads run at the same time, four of one caller, each for at most
/// ten minutes; the client reads at least 64 KiB in 20 seconds.
#[utoipa::path(
    get,
    path = "/export_posts",
    tag = "post",
    security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/x-ndjson"), docs::Administrators),
)]
pub(crate) async fn export_posts(call: Call) -> Answer {
    let posts = post::PostExport::new(call.tidings(), call.caller());
    download::lines(&call, posts, "posts.jsonl").await
}

#[cfg(test)]
mod tests {
    use crate::testing::{by, json, outcome, post, request, service};

    #[tokio::test]
    async fn acts_are_answered_once_they_are_on_disk() {
        let service = service();
        let (admin, member) = (service.admin("boss").await, service.member("ann").await);
        let form = "title=A&url=https://example.org/a&topic=x,y&tag=z&tag=w&end_date=";
        let insert = post("/insert_post", "application/x-www-form-urlencoded", form);
        let id = json(&service.call(by(&admin, insert)).await)["_id"].as_str().unwrap().to_owned();
        for path in ["post_view", "post_like", "post_like"] {
            let act = by(&member, request("GET", &format!("/{path}/{id}")));
            assert_eq!(outcome(&service.call(act).await), "200 success");
        }
        let found = json(&service.call(request("GET", &format!("/get_post/{id}"))).await)["post"].clone();
        assert_eq!((&found["view"], &found["fav_cnt"]), (&1.into(), &1.into()));
        assert_eq!((&found["topic"], &found["tag"]), (&["x", "y"][..].into(), &["z", "w"][..].into()));
        assert_eq!(
            outcome(&service.call(request("GET", &format!("/post_like/{id}"))).await),
            "401 bad token"
        );
        assert_eq!(outcome(&service.call(request("GET", "/post_view/%00")).await), "404 Not found");
    }
}
