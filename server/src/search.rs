//! Searching posts, and recording searches.

use serde::Deserialize;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::error::{Error, Problem, Result};
use tidings_core::search::{self, Domains, LatelySearches, Paging, SearchResult};
use utoipa::{IntoParams, ToSchema};

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

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagingFields {
    /// 1: the answer has `next`, which continues the search.
    paged: Option<i64>,
    /// The `next` of the previous page. The pages together have the best 3,000 results.
    next: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SnippetFields {
    /// 1: each post has `snippet`, in which the words found are marked.
    snippets: Option<i64>,
}

impl SnippetFields {
    fn wanted(&self) -> Result<bool> {
        match self.snippets {
            None | Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(_) => Err(Error::BadRequest(Problem::invalid("snippets", "snippets is 0 or 1"))),
        }
    }
}

impl PagingFields {
    fn paging(&self) -> Result<Paging<'_>> {
        match (&self.next, self.paged) {
            (_, Some(number)) if !matches!(number, 0 | 1) => {
                Err(Error::BadRequest(Problem::invalid("paged", "paged is 0 or 1")))
            }
            (Some(next), _) => Ok(Paging::After(next)),
            (None, Some(1)) => Ok(Paging::First),
            (None, _) => Ok(Paging::Off),
        }
    }
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
    params(("num" = i64, Path, description = "The maximum number, {num}"), PagingFields, SnippetFields),
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<SearchResult>)),
)]
pub(crate) async fn priority_search(mut call: Call) -> Answer {
    let num = call.number("num")?;
    let SearchFields { search } = call.fields().await?;
    let (paging, snippets) = (call.parameters::<PagingFields>()?, call.parameters::<SnippetFields>()?);
    let page = move |tidings: &_, _: &_| {
        search::page(tidings, &search, None, num, paging.paging()?, snippets.wanted()?)
    };
    call.query(page).await
}

/// Returns the posts of a category that match best
#[utoipa::path(
    post,
    path = "/category_search/{category_name}/{num}",
    tag = "search",
    params(
        ("category_name" = String, Path, description = "A topic or a tag"),
        ("num" = i64, Path, description = "The maximum number, {num}"),
        PagingFields,
        SnippetFields,
    ),
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<SearchResult>)),
)]
pub(crate) async fn category_search(mut call: Call) -> Answer {
    let [category, num] = call.segments()?;
    let num = number("num", &num)?;
    let SearchFields { search } = call.fields().await?;
    let (paging, snippets) = (call.parameters::<PagingFields>()?, call.parameters::<SnippetFields>()?);
    let page = move |tidings: &_, _: &_| {
        search::page(tidings, &search, Some(&category), num, paging.paging()?, snippets.wanted()?)
    };
    call.query(page).await
}

/// Returns the web sites of matching posts, the site with the most matches first
#[utoipa::path(
    post,
    path = "/domain_search",
    tag = "search",
    params(PagingFields),
    request_body = SearchFields,
    responses((status = 200, body = docs::Success<Domains>)),
)]
pub(crate) async fn domain_search(mut call: Call) -> Answer {
    let SearchFields { search } = call.fields().await?;
    let paging = call.parameters::<PagingFields>()?;
    call.query(move |tidings, _| search::domains_page(tidings, &search, paging.paging()?)).await
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
