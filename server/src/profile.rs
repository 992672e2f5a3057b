//! The member's own profile: information, lists, nickname and settings.

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
        Route::get("/get_userinfo", get_userinfo).reads(),
        Route::get("/get_specific_userinfo/{type_num}", get_specific_userinfo).reads(),
        Route::post("/change_nickname", change_nickname).counts_as(Counted::Write),
        Route::get("/update_auto_login/{auto_login}", update_auto_login).counts_as(Counted::Write),
        Route::get("/reset_user_measurement", reset_user_measurement).counts_as(Counted::Write),
        Route::get("/remove_mine", remove_mine).counts_as(Counted::Write),
    ]
}

/// Returns the member's information
///
/// `result` is `success`; or `not found` when the token fails.
#[utoipa::path(
    get,
    path = "/get_userinfo",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<UserInfo>)),
)]
pub(crate) async fn get_userinfo(call: Call) -> Answer {
    if call.tidings().is_on_server() {
        let read = profile::submit_user_info(call.tidings(), call.caller());
        return call.read_together(read).await;
    }
    call.read_few(profile::user_info).await
}

/// Returns the member's lists
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
/// `result` is `success`; or `bad request` for any other value, or when the token fails.
#[utoipa::path(
    get,
    path = "/get_specific_userinfo/{type_num}",
    tag = "account",
    security(("token" = [])),
    params(("type_num" = i64, Path, description = "The lists, 0 to 4")),
    responses((status = 200, body = docs::Success<Lists>)),
)]
pub(crate) async fn get_specific_userinfo(mut call: Call) -> Answer {
    // Existing clients read every error of this number with status 200.
    let [type_num] = call.ids();
    call.read(move |tidings, caller| profile::lists(tidings, caller, &type_num)).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct NicknameFields {
    /// {nickname} characters.
    pub(crate) new_nickname: String,
}

/// Changes the member's nickname
///
/// `result` is `success`; or `No member` when the token fails, `rewrite_nickname` when the nickname is not valid.
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

/// Sets whether the app signs the member in automatically
#[utoipa::path(
    get,
    path = "/update_auto_login/{auto_login}",
    tag = "account",
    security(("token" = [])),
    params(("auto_login" = i64, Path, description = "0 off, 1 on")),
    responses((status = 200, body = docs::Done), docs::Members),
)]
pub(crate) async fn update_auto_login(mut call: Call) -> Answer {
    let auto_login = call.number("auto_login")?;
    call.answer(move |tidings, caller| profile::update_auto_login(tidings, caller, auto_login)).await
}

/// Resets the measurement of the member's interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count. `result` is `success`; or `Not found` when the token fails.
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

/// Removes the member's own account with its lists and interests
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
