//! Members and their data, for administrators and API keys.

use serde::Deserialize;
use tidings_core::account::{self, EnrolmentCode, MemberFilter, MemberQuery, Members, RosterPage};
use tidings_core::profile::{self, Lists, UserInfo};
use tidings_core::{Error, Outcome};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::limit::Counted;
use crate::profile::NicknameFields;
use crate::reply::Answer;
use crate::request::{Call, number};
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_members", get_members).reads(),
        Route::get("/get_member/{user_id}", get_member).reads(),
        Route::get("/get_member_lists/{user_id}/{type_num}", get_member_lists).reads(),
        Route::get("/reset_member_measurement/{user_id}", reset_member_measurement).counts_as(Counted::Write),
        Route::post("/change_member_nickname/{user_id}", change_member_nickname).counts_as(Counted::Write),
        Route::get("/update_member_auto_login/{user_id}/{auto_login}", update_member_auto_login)
            .counts_as(Counted::Write),
        Route::post("/set_member_password/{user_id}", set_member_password).counts_as(Counted::Write),
        Route::get("/reset_member_otp/{user_id}", reset_member_otp).counts_as(Counted::Write),
        Route::get("/issue_member_otp/{user_id}", issue_member_otp).counts_as(Counted::Write),
        Route::get("/get_roster", get_roster).reads(),
    ]
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MemberParameters {
    /// A text that the id, the nickname or the verified name contains; case, width and accents do not matter.
    search: Option<String>,
    /// The maximum number of members, 1 to 1,000; 100 by default.
    limit: Option<i64>,
    /// The `next` of the previous page.
    after: Option<String>,
    /// `admins` for administrators only, `blacklisted` for blacklisted members only.
    only: Option<String>,
}

/// Lists the members by id
#[utoipa::path(
    get,
    path = "/get_members",
    tag = "admin",
    security(("token" = [])),
    params(MemberParameters),
    responses((status = 200, body = docs::Success<Members>), docs::Administrators),
)]
pub(crate) async fn get_members(call: Call) -> Answer {
    let MemberParameters { search, limit, after, only } = call.parameters()?;
    call.query(move |tidings, caller| {
        let only = only.as_deref().map(MemberFilter::parse).transpose()?;
        account::list(tidings, caller, &MemberQuery { search, limit, after, only })
    })
    .await
}

/// Returns a member's information
#[utoipa::path(
    get,
    path = "/get_member/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Success<UserInfo>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_member(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.read(move |tidings, caller| profile::user_info_of(tidings, caller, &user_id)).await
}

/// Returns the lists of a member
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
#[utoipa::path(
    get,
    path = "/get_member_lists/{user_id}/{type_num}",
    tag = "admin",
    security(("token" = [])),
    params(
        ("user_id" = String, Path, description = "The id of the member"),
        ("type_num" = i64, Path, description = "The lists, 0 to 4"),
    ),
    responses((status = 200, body = docs::Success<Lists>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_member_lists(mut call: Call) -> Answer {
    let [user_id, type_num] = call.ids();
    call.read(move |tidings, caller| profile::lists_of(tidings, caller, &user_id, &type_num)).await
}

/// Resets the measurement of a member's interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count.
#[utoipa::path(
    get,
    path = "/reset_member_measurement/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn reset_member_measurement(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| profile::reset_measurement_of(tidings, caller, &user_id)).await
}

/// Changes a member's nickname
///
/// `result` is `success`, or `rewrite_nickname` when the nickname is not valid.
#[utoipa::path(
    post,
    path = "/change_member_nickname/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    request_body = NicknameFields,
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn change_member_nickname(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    let NicknameFields { new_nickname } = call.fields().await?;
    let change =
        move |tidings: &_, caller: &_| profile::change_nickname_of(tidings, caller, &user_id, &new_nickname);
    call.answer(change).await
}

/// Sets whether the app signs a member in automatically
#[utoipa::path(
    get,
    path = "/update_member_auto_login/{user_id}/{auto_login}",
    tag = "admin",
    security(("token" = [])),
    params(
        ("user_id" = String, Path, description = "The id of the member"),
        ("auto_login" = i64, Path, description = "0 off, 1 on"),
    ),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn update_member_auto_login(mut call: Call) -> Answer {
    let [user_id, auto_login] = call.ids();
    let auto_login = number("auto_login", &auto_login)?;
    let update =
        move |tidings: &_, caller: &_| profile::update_auto_login_of(tidings, caller, &user_id, auto_login);
    call.answer(update).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct MemberPasswordFields {
    /// The new password, {pw} characters.
    new_pw: String,
}

/// Sets a member's password and signs the member out everywhere
///
/// `result` is `success`, or `wrong user info` when the password is not valid. Only a person sets passwords: an API key
/// cannot.
#[utoipa::path(
    post,
    path = "/set_member_password/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    request_body = MemberPasswordFields,
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn set_member_password(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    let MemberPasswordFields { new_pw } = call.fields().await?;
    let set = move |tidings: &_, caller: &_| {
        account::set_password(tidings, caller, &user_id, &new_pw).map_err(|error| match error {
            // The core names the password as the command line does.
            Error::Documented(outcome @ Outcome::WrongUserInfo, problem) => {
                outcome.because(problem.of("new_pw"))
            }
            error => error,
        })
    };
    call.answer_in(|lanes| &lanes.change_pw, set).await
}

/// Disables the second factor of a member who has lost it
///
/// Only a person does this: an API key cannot.
#[utoipa::path(
    get,
    path = "/reset_member_otp/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn reset_member_otp(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| account::reset_otp(tidings, caller, &user_id)).await
}

/// Issues a code with which a member sets up a second factor where administrators need one
///
/// The code works once and for an hour, and replaces an earlier one. Administrators cannot issue one to themselves. Only a
/// person does this: an API key cannot.
#[utoipa::path(
    get,
    path = "/issue_member_otp/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Success<EnrolmentCode>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn issue_member_otp(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    call.answer(move |tidings, caller| account::issue_otp(tidings, caller, &user_id)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RosterParameters {
    /// The maximum number of entries, 1 to 1,000; 100 by default.
    limit: Option<i64>,
    /// The `next` of the previous page.
    after: Option<String>,
}

/// Lists the roster, the members of the university, by id
#[utoipa::path(
    get,
    path = "/get_roster",
    tag = "admin",
    security(("token" = [])),
    params(RosterParameters),
    responses((status = 200, body = docs::Success<RosterPage>), docs::Administrators),
)]
pub(crate) async fn get_roster(call: Call) -> Answer {
    let RosterParameters { limit, after } = call.parameters()?;
    call.query(move |tidings, caller| account::roster_page(tidings, caller, after.as_deref(), limit)).await
}
