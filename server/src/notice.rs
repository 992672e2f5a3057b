//! The administrators' notices.

use std::sync::Arc;

use serde::Deserialize;
use tidings_core::answer::{self, Encoded, Inserted};
use tidings_core::error::Problem;
use tidings_core::notice::{self, Draft, DraftList, FullList, ListQuery, NoticeList, OneNotice, Reads};
use tidings_core::{Error, Result};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;
use crate::syndication::{self, Format, FormatFields, JsonFeed, Outline};

const ALL: &str = "/get_all_notice";
/// The default number of days of the reads.
const READ_DAYS: i64 = 30;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, get_all_notice).public().with_formats(),
        Route::get("/get_notices", get_notices).public(),
        Route::get("/get_notice/{notice_obi}", get_notice),
        Route::post("/insert_notice", insert_notice).counts_as(Counted::Write),
        Route::post("/update_notice/{notice_obi}", update_notice).counts_as(Counted::Write),
        Route::get("/remove_notice/{notice_obi}", remove_notice).counts_as(Counted::Write),
        Route::get("/get_notice_drafts", get_notice_drafts).reads(),
        Route::post("/save_notice_draft", save_notice_draft).counts_as(Counted::Write),
        Route::get("/publish_notice_draft/{draft_obi}", publish_notice_draft).counts_as(Counted::Write),
        Route::get("/remove_notice_draft/{draft_obi}", remove_notice_draft).counts_as(Counted::Write),
        Route::get("/get_notice_reads/{notice_obi}", get_notice_reads).reads(),
    ]
}

/// Lists all notices, newest first
///
/// These are the notices of the general page that the caller sees now; `get_notices` also lists those of a topic.
/// Administrators see every notice.
#[utoipa::path(
    get,
    path = "/get_all_notice",
    tag = "notice",
    security((), ("token" = [])),
    params(FormatFields),
    responses(
        (status = 200, content(
            (docs::Success<NoticeList> = "application/json"),
            (String = "application/atom+xml"),
            (JsonFeed<'_> = "application/feed+json"),
        )),
    ),
)]
pub(crate) async fn get_all_notice(call: Call) -> Answer {
    let format = Format::of(&call)?;
    let outline = format.map(|format| Outline::new(&call, format, "Notices", ALL));
    if call.is_guest()
        && let Some(list) = notice::try_list(call.tidings())
    {
        return match outline {
            None => call.encoded(list.answer()).await,
            Some(outline) => syndication::notices(call, outline, list).await,
        };
    }
    if let Some(outline) = outline {
        return syndication::notices_in_lane(call, outline, notice::list).await;
    }
    let listed = |tidings: &_, caller: &_| Ok(Arc::clone(notice::list(tidings, caller)?.answer()));
    call.shared_in(|lanes| &lanes.read, listed).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NoticeListFields {
    /// The topic whose notices are listed besides those without a topic.
    topic: Option<String>,
    /// 1: each notice has `html`.
    html: Option<i64>,
}

/// Lists the notices of the general page or of a topic, with all fields
///
/// The notices that the caller sees now, pinned ones first, then the newest first. Administrators see every notice, without a
/// `topic` also those of all topics. With `html=1` each notice has its text as HTML: a safe subset of Markdown, without
/// scripts, images and raw HTML.
#[utoipa::path(
    get,
    path = "/get_notices",
    tag = "notice",
    security((), ("token" = [])),
    params(NoticeListFields),
    responses((status = 200, body = docs::Success<FullList>)),
)]
pub(crate) async fn get_notices(call: Call) -> Answer {
    let NoticeListFields { topic, html } = call.parameters()?;
    let html = is_wanted(html)?;
    let query = ListQuery { topic: topic.as_deref(), html };
    if call.is_guest()
        && let Some(list) = notice::try_list_full(call.tidings(), &query)
    {
        return call.encoded(list.answer()).await;
    }
    let listed = move |tidings: &_, caller: &_| {
        let query = ListQuery { topic: topic.as_deref(), html };
        Ok(Arc::clone(notice::list_full(tidings, caller, &query)?.answer()))
    };
    call.shared_in(|lanes| &lanes.read, listed).await
}

fn is_wanted(html: Option<i64>) -> Result<bool> {
    match html {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(_) => Err(Error::BadRequest(Problem::invalid("html", "html is 0 or 1"))),
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HtmlFields {
    /// 1: the notice has `html`.
    html: Option<i64>,
}

/// Returns a notice and counts a view
///
/// With `html=1` the notice has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
#[utoipa::path(
    get,
    path = "/get_notice/{notice_obi}",
    tag = "notice",
    security((), ("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice"), HtmlFields),
    responses((status = 200, body = docs::Success<OneNotice>), docs::Missing),
)]
pub(crate) async fn get_notice(mut call: Call) -> Answer {
    let [id] = call.ids();
    if is_wanted(call.parameters::<HtmlFields>()?.html)? {
        return call.read(move |tidings, caller| notice::get_rendered(tidings, caller, &id)).await;
    }
    if call.is_guest()
        && let Some(notice) = notice::try_get(call.tidings(), &id)
    {
        return call.encoded(&Arc::new(Encoded::new(answer::success(&notice?)))).await;
    }
    call.read(move |tidings, caller| notice::get(tidings, caller, &id)).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct NoticeFields {
    /// {notice-title} characters.
    title: Option<String>,
    /// {notice-text} characters.
    post: Option<String>,
    /// 1 for shown; 0 for hidden, which only administrators see. 1 by default for a new notice.
    activation: Option<i64>,
    /// The time from which the notice is visible; `""` for no limit.
    visible_from: Option<String>,
    /// The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
    visible_until: Option<String>,
    /// 1 to list the notice before the others; 0 by default.
    pinned: Option<i64>,
    /// The topic on whose page the notice is; `""` for the general page.
    topic: Option<String>,
    /// 1 to show the notice to members only; 0 by default.
    members_only: Option<i64>,
}

impl From<NoticeFields> for Draft {
    fn from(fields: NoticeFields) -> Self {
        let NoticeFields {
            title,
            post,
            activation,
            visible_from,
            visible_until,
            pinned,
            topic,
            members_only,
        } = fields;
        Self { title, post, activation, visible_from, visible_until, pinned, topic, members_only }
    }
}

/// Publishes a notice
///
/// `title` and `post` are required. `result` is `success`; or `Not admin`.
#[utoipa::path(
    post,
    path = "/insert_notice",
    tag = "notice",
    security(("token" = [])),
    request_body = NoticeFields,
    responses((status = 200, body = docs::Success<Inserted>)),
)]
pub(crate) async fn insert_notice(mut call: Call) -> Answer {
    let draft = call.fields::<NoticeFields>().await?.into();
    call.answer(move |tidings, caller| notice::insert(tidings, caller, &draft)).await
}

/// Changes the given fields of a notice
///
/// `result` is `success`; or `Not admin`.
#[utoipa::path(
    post,
    path = "/update_notice/{notice_obi}",
    tag = "notice",
    security(("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice")),
    request_body = NoticeFields,
    responses((status = 200, body = docs::Done), docs::Missing),
)]
pub(crate) async fn update_notice(mut call: Call) -> Answer {
    let [id] = call.ids();
    let draft = call.fields::<NoticeFields>().await?.into();
    call.answer(move |tidings, caller| notice::update(tidings, caller, &id, &draft)).await
}

/// Removes a notice
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[utoipa::path(
    get,
    path = "/remove_notice/{notice_obi}",
    tag = "notice",
    security(("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice")),
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn remove_notice(mut call: Call) -> Answer {
    let [id] = call.ids();
    call.answer(move |tidings, caller| notice::remove(tidings, caller, &id)).await
}

/// Lists the saved drafts of all administrators, the one that was saved last first
#[utoipa::path(
    get,
    path = "/get_notice_drafts",
    tag = "notice",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<DraftList>), docs::Administrators),
)]
pub(crate) async fn get_notice_drafts(call: Call) -> Answer {
    call.answer(notice::drafts).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct NoticeDraftFields {
    /// The `_id` of a saved draft, which is replaced. A new draft is saved by default.
    draft: Option<String>,
    /// The `_id` of the notice that the draft changes. A new notice by default.
    notice: Option<String>,
    /// {notice-title} characters.
    title: Option<String>,
    /// {notice-text} characters.
    post: Option<String>,
    /// 1 for shown; 0 for hidden, which only administrators see. 1 by default for a new notice.
    activation: Option<i64>,
    /// The time from which the notice is visible; `""` for no limit.
    visible_from: Option<String>,
    /// The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
    visible_until: Option<String>,
    /// 1 to list the notice before the others; 0 by default.
    pinned: Option<i64>,
    /// The topic on whose page the notice is; `""` for the general page.
    topic: Option<String>,
    /// 1 to show the notice to members only; 0 by default.
    members_only: Option<i64>,
}

impl From<NoticeDraftFields> for Draft {
    fn from(fields: NoticeDraftFields) -> Self {
        let NoticeDraftFields {
            title,
            post,
            activation,
            visible_from,
            visible_until,
            pinned,
            topic,
            members_only,
            ..
        } = fields;
        Self { title, post, activation, visible_from, visible_until, pinned, topic, members_only }
    }
}

/// Saves a draft of a notice
///
/// At least one field of the notice is required. There are at most 200 drafts.
#[utoipa::path(
    post,
    path = "/save_notice_draft",
    tag = "notice",
    security(("token" = [])),
    request_body = NoticeDraftFields,
    responses((status = 200, body = docs::Success<Inserted>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn save_notice_draft(mut call: Call) -> Answer {
    let mut fields = call.fields::<NoticeDraftFields>().await?;
    let (draft, notice) = (fields.draft.take(), fields.notice.take());
    let fields = fields.into();
    call.answer(move |tidings, caller| {
        notice::save_draft(tidings, caller, draft.as_deref(), notice.as_deref(), &fields)
    })
    .await
}

/// Publishes a draft and removes it
///
/// Inserts the notice, or changes the notice that the draft names, and returns the `_id` of the notice.
#[utoipa::path(
    get,
    path = "/publish_notice_draft/{draft_obi}",
    tag = "notice",
    security(("token" = [])),
    params(("draft_obi" = String, Path, description = "The `_id` of the draft")),
    responses((status = 200, body = docs::Success<Inserted>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn publish_notice_draft(mut call: Call) -> Answer {
    let [id] = call.ids();
    call.answer(move |tidings, caller| notice::publish_draft(tidings, caller, &id)).await
}

/// Removes a draft
#[utoipa::path(
    get,
    path = "/remove_notice_draft/{draft_obi}",
    tag = "notice",
    security(("token" = [])),
    params(("draft_obi" = String, Path, description = "The `_id` of the draft")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn remove_notice_draft(mut call: Call) -> Answer {
    let [id] = call.ids();
    call.answer(move |tidings, caller| notice::remove_draft(tidings, caller, &id)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReadsFields {
    /// The number of days, {notice-days}; 30 by default.
    days: Option<i64>,
}

/// Returns how often a notice was read on each of the last days
///
/// One entry for each calendar day, oldest first; the last one is today.
#[utoipa::path(
    get,
    path = "/get_notice_reads/{notice_obi}",
    tag = "notice",
    security(("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice"), ReadsFields),
    responses((status = 200, body = docs::Success<Reads>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_notice_reads(mut call: Call) -> Answer {
    let [id] = call.ids();
    let days = call.parameters::<ReadsFields>()?.days.unwrap_or(READ_DAYS);
    call.answer(move |tidings, caller| notice::reads(tidings, caller, &id, days)).await
}
