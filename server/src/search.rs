//! Searching posts, and recording searches.

use serde::Deserialize;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::search::{self, Domains, LatelySearches, SearchResult};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::{Call, number};
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/search_logging", search_logging).counts_as(Counted::Write),
        Route::post("/priority_search/{num}", priority_search).counts_as(Counted::Search),
        Route::post("/category_search/{category_name}/{num}", category_search).counts_as(Counted::Search),
        Route::post("/domain_search", domain_search).counts_as(Counted::Search),
        Route::get("/get_user_lately_search/{num}", get_user_lately_search).reads(),
    ]
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct SearchFields {
    /// {search} characters.
    pub(crate) search: String,
}

/// Records a search; a member's search is also added to the member's list
#[utoipa::path(
    post,
    path = "/search_logging",
    tag = "search",
    security((), ("token" = [])),
    request_body = SearchFields,
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn search_logging(mut call: Call) -> Answer {
    let SearchFields { search } = call.fields().await?;
    let guest = Some(call.guest());
    if call.is_guest() {
        return Reply::written(search::log(call.tidings(), call.caller(), guest, &search)).await;
    }
    // Finding words similar to a member's search takes long enough to need a lane.
    let log = move |tidings: &Tidings, caller: &Caller, _| Ok(search::log(tidings, caller, guest, &search));
    Reply::written(call.run_in(|lanes| &lanes.query, log).await?).await
}

/// Returns the posts that match best
#[utoipa::path(
    post,
    path = "/priority_search/{num}",
    tag = "search",
    params(("num" = i64, Path, description = "The maximum number, {num}")),
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<SearchResult>)),
)]
pub(crate) async fn priority_search(mut call: Call) -> Answer {
    let num = call.number("num")?;
    let SearchFields { search } = call.fields().await?;
    call.query(move |tidings, _| search::run(tidings, &search, num)).await
}

/// Returns the posts of a category that match best
#[utoipa::path(
    post,
    path = "/category_search/{category_name}/{num}",
    tag = "search",
    params(
        ("category_name" = String, Path, description = "A topic or a tag"),
        ("num" = i64, Path, description = "The maximum number, {num}"),
    ),
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<SearchResult>)),
)]
pub(crate) async fn category_search(mut call: Call) -> Answer {
    let [category, num] = call.segments()?;
    let num = number("num", &num)?;
    let SearchFields { search } = call.fields().await?;
    call.query(move |tidings, _| search::in_category(tidings, &category, &search, num)).await
}

/// Returns the web sites of matching posts, the site with the most matches first
#[utoipa::path(
    post,
    path = "/domain_search",
    tag = "search",
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<Domains>)),
)]
pub(crate) async fn domain_search(mut call: Call) -> Answer {
    let SearchFields { search } = call.fields().await?;
    call.query(move |tidings, _| search::domains(tidings, &search)).await
}

/// Returns the member's most recent searches
#[utoipa::path(
    get,
    path = "/get_user_lately_search/{num}",
    tag = "search",
    security(("token" = [])),
    params(("num" = i64, Path, description = "The maximum number, {num}")),
    responses((status = 200, body = docs::Success<LatelySearches>), docs::Members),
)]
pub(crate) async fn get_user_lately_search(mut call: Call) -> Answer {
    let num = call.number("num")?;
    call.read(move |tidings, caller| search::lately(tidings, caller, num)).await
}
