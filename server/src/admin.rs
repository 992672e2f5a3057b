//! Administrators and the blacklist.

use tidings_core::admin::{self, Admins, Blacklist};

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/check_admin", check_admin).reads(),
        Route::get("/get_admins", get_admins).reads(),
        Route::get("/grant_admin/{user_id}", grant_admin).counts_as(Counted::Write),
        Route::get("/revoke_admin/{user_id}", revoke_admin).counts_as(Counted::Write),
        Route::get("/admin_remove_user/{user_id}", admin_remove_user).counts_as(Counted::Write),
        Route::get("/get_blacklist", get_blacklist).reads(),
        Route::get("/push_blacklist/{user_id}", push_blacklist).counts_as(Counted::Write),
        Route::get("/pop_blacklist/{user_id}", pop_blacklist).counts_as(Counted::Write),
    ]
}

/// Checks whether the caller is an administrator
///
/// `result` is `success`; or `Not admin`.
#[utoipa::path(
    get,
    path = "/check_admin",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn check_admin(call: Call) -> Answer {
    call.read_few(admin::check).await
}

/// Lists the administrators by the date of the grant
#[utoipa::path(
    get,
    path = "/get_admins",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Admins>), docs::Administrators),
)]
pub(crate) async fn get_admins(call: Call) -> Answer {
    call.read(admin::list).await
}

/// Makes a member an administrator; idempotent
///
/// Only a person does this: an API key cannot.
#[utoipa::path(
    get,
    path = "/grant_admin/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn grant_admin(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| admin::grant(tidings, caller, &user_id)).await
}

/// Revokes a member's administrator rights; idempotent
///
/// Only a person does this: an API key cannot.
#[utoipa::path(
    get,
    path = "/revoke_admin/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses(
        (status = 200, body = docs::Done),
        docs::Administrators,
        docs::Missing,
        docs::LastAdministrator,
    ),
)]
pub(crate) async fn revoke_admin(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| admin::revoke(tidings, caller, &user_id)).await
}

/// Removes a member
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[utoipa::path(
    get,
    path = "/admin_remove_user/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::LastAdministrator),
)]
pub(crate) async fn admin_remove_user(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| admin::remove_user(tidings, caller, &user_id)).await
}

/// Lists the members who may not sign in
#[utoipa::path(
    get,
    path = "/get_blacklist",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Blacklist>), docs::Administrators),
)]
pub(crate) async fn get_blacklist(call: Call) -> Answer {
    call.read(admin::blacklist).await
}

/// Adds a member to the blacklist: the member cannot sign in, and all their tokens are revoked
///
/// `result` is `success`, or `Not found` for an unknown member.
#[utoipa::path(
    get,
    path = "/push_blacklist/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::LastAdministrator),
)]
pub(crate) async fn push_blacklist(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| admin::push_blacklist(tidings, caller, &user_id)).await
}

/// Removes a member from the blacklist: the member can sign in again
///
/// `result` is `success`, or `Not found` for an unknown member.
#[utoipa::path(
    get,
    path = "/pop_blacklist/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators),
)]
pub(crate) async fn pop_blacklist(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| admin::pop_blacklist(tidings, caller, &user_id)).await
}
