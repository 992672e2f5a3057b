//! Posts, which administrators write and import, and members view and like.

use http::header::CONTENT_TYPE;
use serde::Deserialize;
use tidings_core::answer::Inserted;
use tidings_core::error::{Code, Problem};
use tidings_core::post::{self, Categories, Draft, Format, GetPost, ImportReport, ListQuery, PostList};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::download;
use crate::fields;
use crate::import;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::Call;
use crate::route::Route;

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
        Route::post("/import_posts", import_posts).counts_as(Counted::Write),
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

const NO_BODY: Problem = Problem::new(Code::MalformedBody, "the body is missing: send a post on each line");

/// The media types of posts, and the format of each.
const FORMATS: [(&str, Format); 6] = [
    ("application/x-ndjson", Format::Json),
    ("application/json", Format::Json),
    ("text/csv", Format::Csv),
    ("application/feed+json", Format::Feed),
    ("application/rss+xml", Format::Feed),
    ("application/atom+xml", Format::Feed),
];

/// Imports posts
///
/// The body, up to {import}, has one JSON object with the fields of a post on each line, or is one array of such objects.
/// It can also be CSV, after a line with the names of the fields, or an RSS, Atom or JSON feed. The `url` identifies a post: a new post is inserted, and an existing post gets the given fields. An invalid line is
/// reported and does not stop the import. If the database fails during the import, the response is `internal error` with
/// the numbers of posts `inserted`, `updated` and `skipped` so far; the same import can then be repeated and continues
/// from there.
#[utoipa::path(
    post,
    path = "/import_posts",
    tag = "post",
    security(("token" = [])),
    request_body(content(
        (PostFields = "application/x-ndjson"),
        (Vec<PostFields> = "application/json"),
        (String = "text/csv"),
        (String = "application/feed+json"),
        (String = "application/rss+xml"),
        (String = "application/atom+xml"),
    )),
    responses((status = 200, body = docs::Success<ImportReport>), docs::Administrators),
)]
pub(crate) async fn import_posts(call: Call) -> Answer {
    let given = call.headers().get(CONTENT_TYPE).map(fields::media_type).unwrap_or_default();
    let format = FORMATS.iter().find(|(name, _)| given.eq_ignore_ascii_case(name.as_bytes()));
    let format = format.map_or(Format::Json, |(_, format)| *format);
    import::run(call, &FORMATS.map(|(name, _)| name), NO_BODY, move |tidings, caller, reader| {
        post::import_as(tidings, caller, format, reader, &mut tidings_core::import::to_the_end)
    })
    .await
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
/// read: posts may change meanwhile. At most 16 downloads run at the same time, each for at most ten minutes.
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
    use crate::config::Config;
    use crate::testing::{by, json, outcome, post, request, service, with};

    const NDJSON: &str = "application/x-ndjson";
    const JSON: &str = "application/json";

    fn line(number: usize) -> String {
        format!(r#"{{"title":"Post {number}","url":"https://example.org/{number}"}}"#)
    }

    #[tokio::test]
    async fn an_import_reads_lines_or_an_array_and_reports_counts() {
        let service = service();
        let token = service.admin("boss").await;
        let lines = format!("{}\nno post\n{}\n", line(1), line(2));
        for (content_type, body, counts) in [
            (NDJSON, lines.as_str(), [2, 0, 0]),
            ("application/json; charset=utf-8", lines.as_str(), [0, 0, 2]),
            (JSON, &format!("[{},{},3]", line(2), line(3)), [1, 0, 1]),
        ] {
            let answer = service.call(by(&token, post("/import_posts", content_type, body.to_owned()))).await;
            let report = json(&answer);
            assert_eq!(
                ["inserted", "updated", "skipped"].map(|count| report[count].as_i64().unwrap()),
                counts
            );
            assert_eq!(report["errors"].as_array().unwrap().len(), 1, "{report}");
        }
    }

    #[tokio::test]
    async fn an_import_without_a_body_is_refused() {
        let service = service();
        let (admin, member) = (service.admin("boss").await, service.member("ann").await);
        for (token, body, expected) in [
            (&admin, "", "400 bad request"),
            (&admin, "\n", "200 success"),
            (&admin, "[]", "200 success"),
            (&member, "", "403 Not admin"),
        ] {
            let answer = service.call(by(token, post("/import_posts", NDJSON, body))).await;
            assert_eq!(outcome(&answer), expected, "{body:?}");
        }
        let refused = service.call(by(&admin, request("POST", "/import_posts"))).await;
        assert_eq!(json(&refused)["code"], "malformed_body");
    }

    #[tokio::test]
    async fn a_caller_who_may_not_import_is_refused_for_every_body() {
        let service = service();
        let member = service.member("ann").await;
        let import = |body: &str| post("/import_posts", NDJSON, body.to_owned());
        assert_eq!(outcome(&service.call(import(&line(1))).await), "401 bad token");
        assert_eq!(outcome(&service.call(by(&member, import("no post"))).await), "403 Not admin");
        let huge = with(import(""), "content-length", "99999999999");
        assert_eq!(outcome(&service.call(by(&member, huge)).await), "403 Not admin");
        let text = post("/import_posts", "text/plain", line(1));
        assert_eq!(outcome(&service.call(text).await), "415 unsupported media type");
    }

    #[tokio::test]
    async fn posts_are_also_csv_and_feeds() {
        let service = service();
        let token = service.admin("boss").await;
        let feed = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": [
            {"id": "1", "url": "https://example.org/feed", "title": "In a feed"}]}"#;
        for (content_type, body) in [
            ("text/csv; charset=utf-8", "title,url\nIn a table,https://example.org/table\n"),
            ("Application/Feed+JSON", feed),
        ] {
            let answer = json(&service.call(by(&token, post("/import_posts", content_type, body))).await);
            assert_eq!(
                (&answer["inserted"], &answer["errors"]),
                (&1.into(), &serde_json::json!([])),
                "{answer}"
            );
        }
    }

    #[tokio::test]
    async fn an_import_over_the_limit_is_refused_and_keeps_what_came_before() {
        let service = service();
        let token = service.admin("boss").await;
        let config = Config { import_limit: 100_000, ..Config::default() };
        let lines: Vec<String> = (0..3_000).map(line).collect();
        let import = by(&token, post("/import_posts", NDJSON, lines.join("\n")));
        assert_eq!(outcome(&service.answer(&config, import).await), "413 payload too large");
    }

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
