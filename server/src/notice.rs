//! The administrators' notices.

use std::sync::Arc;

use serde::Deserialize;
use tidings_core::answer::{self, Encoded, Inserted};
use tidings_core::notice::{self, Draft, NoticeList, OneNotice};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;
use crate::syndication::{self, Format, FormatFields, Outline};

const ALL: &str = "/get_all_notice";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get(ALL, get_all_notice).public().with_formats(),
        Route::get("/get_notice/{notice_obi}", get_notice),
        Route::post("/insert_notice", insert_notice).counts_as(Counted::Write),
        Route::post("/update_notice/{notice_obi}", update_notice).counts_as(Counted::Write),
        Route::get("/remove_notice/{notice_obi}", remove_notice).counts_as(Counted::Write),
    ]
}

/// Lists all notices, newest first
///
/// Administrators also see hidden notices.
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
            (Object = "application/feed+json"),
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
            None => call.encoded(Arc::clone(list.answer())).await,
            Some(outline) => syndication::notices(call, outline, list).await,
        };
    }
    if let Some(outline) = outline {
        return syndication::notices_in_lane(call, outline, notice::list).await;
    }
    let listed = |tidings: &_, caller: &_| Ok(Arc::clone(notice::list(tidings, caller)?.answer()));
    call.shared_in(|lanes| &lanes.read, listed).await
}

/// Returns a notice and counts a view
#[utoipa::path(
    get,
    path = "/get_notice/{notice_obi}",
    tag = "notice",
    security((), ("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice")),
    responses((status = 200, body = docs::Success<OneNotice>), docs::Missing),
)]
pub(crate) async fn get_notice(mut call: Call) -> Answer {
    let [id] = call.ids();
    if call.is_guest()
        && let Some(notice) = notice::try_get(call.tidings(), &id)
    {
        return call.encoded(Arc::new(Encoded::new(answer::success(&notice?)))).await;
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
}

impl From<NoticeFields> for Draft {
    fn from(NoticeFields { title, post, activation }: NoticeFields) -> Self {
        Self { title, post, activation }
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
