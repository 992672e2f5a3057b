//! What a member sees and sets of their own.

use serde::Deserialize;
use tidings_core::profile::{self, Lists, UserInfo};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_userinfo", get_userinfo),
        Route::get("/get_specific_userinfo/{type_num}", get_specific_userinfo),
        Route::post("/change_nickname", change_nickname).counts_as(Counted::Write),
        Route::get("/update_auto_login/{auto_login}", update_auto_login).counts_as(Counted::Write),
        Route::get("/reset_user_measurement", reset_user_measurement).counts_as(Counted::Write),
        Route::get("/remove_mine", remove_mine).counts_as(Counted::Write),
    ]
}

/// What is known of the member
///
/// `result` is `success`; or `not found` when the token fails.
#[utoipa::path(
    get,
    path = "/get_userinfo",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Outcome<UserInfo>)),
)]
pub(crate) async fn get_userinfo(call: Call) -> Answer {
    call.read(profile::user_info).await
}

/// The member's lists
///
/// `type_num` 0 gives all, 1 the liked posts, 2 the viewed posts, 3 the searches, 4 the opened newsfeeds. `result` is
/// `success`; or `bad request` for any other, or when the token fails.
#[utoipa::path(
    get,
    path = "/get_specific_userinfo/{type_num}",
    tag = "account",
    security(("token" = [])),
    params(("type_num" = i64, Path, description = "Which lists, 0 to 4")),
    responses((status = 200, body = docs::Outcome<Lists>)),
)]
pub(crate) async fn get_specific_userinfo(mut call: Call) -> Answer {
    // Whatever is wrong with the number, existing clients read it with status 200.
    let [type_num] = call.ids();
    call.read(move |tidings, caller| profile::lists(tidings, caller, &type_num)).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct NicknameFields {
    /// 1 to 30 characters.
    new_nickname: String,
}

/// Changes the member's nickname
///
/// `result` is `success`; or `No member` when the token fails, `rewrite_nickname` when the nickname breaks its rule.
#[utoipa::path(
    post,
    path = "/change_nickname",
    tag = "account",
    security(("token" = [])),
    request_body = NicknameFields,
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn change_nickname(mut call: Call) -> Answer {
    let fields: NicknameFields = call.fields().await?;
    call.answer(move |tidings, caller| profile::change_nickname(tidings, caller, &fields.new_nickname)).await
}

/// Sets whether the app signs the member in by itself
#[utoipa::path(
    get,
    path = "/update_auto_login/{auto_login}",
    tag = "account",
    security(("token" = [])),
    params(("auto_login" = i64, Path, description = "0 off, 1 on")),
    responses((status = 200, body = docs::Done), docs::Members),
)]
pub(crate) async fn update_auto_login(mut call: Call) -> Answer {
    let auto_login = call.number()?;
    call.answer(move |tidings, caller| profile::update_auto_login(tidings, caller, auto_login)).await
}

/// Begins the measurement of the member's interest anew
///
/// Viewed posts, searches and opened newsfeeds are forgotten; likes stay, but count no longer. `result` is `success`;
/// or `Not found` when the token fails.
#[utoipa::path(
    get,
    path = "/reset_user_measurement",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn reset_user_measurement(call: Call) -> Answer {
    call.answer(profile::reset_measurement).await
}

/// Removes the member's own account, with its lists and its interest
///
/// `result` is `success`; or `Not found` when the token fails.
#[utoipa::path(
    get,
    path = "/remove_mine",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Done), docs::LastAdministrator),
)]
pub(crate) async fn remove_mine(call: Call) -> Answer {
    call.answer(profile::remove_mine).await
}
