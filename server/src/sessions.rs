//! Where members are signed in.

use tidings_core::account::{self, Sessions};

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_sessions", get_sessions).reads(),
        Route::get("/sign_out_session/{session_obi}", sign_out_session).counts_as(Counted::Write),
        Route::get("/get_member_sessions/{user_id}", get_member_sessions).reads(),
        Route::get("/sign_out_member/{user_id}", sign_out_member).counts_as(Counted::Write),
        Route::get("/sign_out_member_session/{user_id}/{session_obi}", sign_out_member_session)
            .counts_as(Counted::Write),
    ]
}

/// Lists where the member is signed in
#[utoipa::path(
    get,
    path = "/get_sessions",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Sessions>), docs::Members),
)]
pub(crate) async fn get_sessions(call: Call) -> Answer {
    call.read(account::sessions).await
}

/// Signs the member out of one session, which may be that of this request
#[utoipa::path(
    get,
    path = "/sign_out_session/{session_obi}",
    tag = "account",
    security(("token" = [])),
    params(("session_obi" = String, Path, description = "The id of the session")),
    responses((status = 200, body = docs::Done), docs::Members, docs::Missing),
)]
pub(crate) async fn sign_out_session(mut call: Call) -> Answer {
    let [session] = call.ids();
    call.answer(move |tidings, caller| account::sign_out_session(tidings, caller, &session)).await
}

/// Lists where a member is signed in
#[utoipa::path(
    get,
    path = "/get_member_sessions/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Success<Sessions>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_member_sessions(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.read(move |tidings, caller| account::sessions_of(tidings, caller, &user_id)).await
}

/// Signs a member out everywhere
#[utoipa::path(
    get,
    path = "/sign_out_member/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn sign_out_member(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| account::sign_out_member(tidings, caller, &user_id, None)).await
}

/// Signs a member out of one session
#[utoipa::path(
    get,
    path = "/sign_out_member_session/{user_id}/{session_obi}",
    tag = "admin",
    security(("token" = [])),
    params(
        ("user_id" = String, Path, description = "The id of the member"),
        ("session_obi" = String, Path, description = "The id of the session"),
    ),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn sign_out_member_session(mut call: Call) -> Answer {
    let [user_id, session] = call.ids();
    let sign_out =
        move |tidings: &_, caller: &_| account::sign_out_member(tidings, caller, &user_id, Some(&session));
    call.answer(sign_out).await
}
