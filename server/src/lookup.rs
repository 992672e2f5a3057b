//! Looking up records by the beginning of their ids.

use tidings_core::lookup::{self, FoundIds};

use crate::docs;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get("/find_ids/{kind}/{prefix}", find_ids).reads()]
}

/// Finds the posts, the notices or the feedback whose ids begin with a prefix
///
/// At most 20, in the order of their ids. Posts are for everyone, notices for callers who see them, and feedback for
/// administrators.
#[utoipa::path(
    get,
    path = "/find_ids/{kind}/{prefix}",
    tag = "search",
    security((), ("token" = [])),
    params(
        ("kind" = String, Path, description = "`post`, `notice` or `feedback`"),
        ("prefix" = String, Path, description = "The beginning of the id, 4 to 24 hex digits"),
    ),
    responses((status = 200, body = docs::Success<FoundIds>), docs::Administrators),
)]
pub(crate) async fn find_ids(mut call: Call) -> Answer {
    let [kind, prefix] = call.ids();
    call.read(move |tidings, caller| lookup::find(tidings, caller, &kind, &prefix)).await
}
