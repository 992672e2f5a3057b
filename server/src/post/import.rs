//! Imports of posts.

use http::header::CONTENT_TYPE;
use tidings_core::account::key::Scope;
use tidings_core::error::{Code, Problem};
use tidings_core::post::{self, Draft, Format, ImportReport};
use utoipa::ToSchema;

use crate::docs;
use crate::fields;
use crate::import;
use crate::reply::Answer;
use crate::request::Call;

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

/// A post of an import: the fields of a post, and others of an exported post.
// The document describes a line with it; the core reads it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the fields are for the document only")]
pub(crate) struct PostLineFields {
    #[serde(flatten)]
    post: Draft,
    /// The URL, http or https, {post-url} characters, which identifies the post.
    url: String,
    /// The `_id` of a new post; a new one by default. An existing post keeps its own.
    _id: Option<String>,
    /// The views of a new post; 0 by default. An existing post keeps its own.
    view: Option<i64>,
    /// The likes of a new post; 0 by default. An existing post keeps its own.
    fav_cnt: Option<i64>,
}

/// Imports posts
///
/// The body, up to {import}, has one JSON object with the fields of a post on each line, or is one array of such objects.
/// It can also be CSV, after a line with the names of the fields, or an RSS, Atom or JSON feed. The `url` identifies a post: a
/// new post is inserted, and an existing post gets the given fields. An invalid line is
/// reported and does not stop the import. If the database fails during the import, the response is `internal error` with
/// the numbers of posts `inserted`, `updated` and `skipped` so far; the same import can then be repeated and continues
/// from there.
#[utoipa::path(
    post,
    path = "/import_posts",
    tag = "post",
    security(("token" = [])),
    request_body(content(
        (PostLineFields = "application/x-ndjson"),
        (Vec<PostLineFields> = "application/json"),
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
    import::run(
        call,
        Scope::PostsImport,
        &FORMATS.map(|(name, _)| name),
        NO_BODY,
        move |tidings, caller, reader| {
            post::import_as(tidings, caller, format, reader, &mut tidings_core::import::to_the_end)
        },
    )
    .await
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
}
