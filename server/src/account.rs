//! Sign-up, sign-in, sign-out and password changes.

use serde::Deserialize;
use tidings_core::account::{self, AccessToken, NewPassword, SignIn, SignUp};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/sign_up", sign_up).counts_as(Counted::SignUp),
        Route::post("/sign_in", sign_in),
        Route::post("/sign_in_up", sign_in_up),
        Route::post("/change_pw", change_pw),
        Route::get("/sign_out_all", sign_out_all).counts_as(Counted::Write),
    ]
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct SignUpFields {
    /// The sign-in identifier: {id} ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
    id: String,
    /// The password, {pw} characters.
    pw: String,
    /// The password again.
    pw_check: String,
    /// The displayed name, {nickname} characters.
    nickname: String,
}

/// Registers a member and signs them in
///
/// `result` is `success`; or `sign_up fail` with the code `sign_up_closed` when the server is set up so that nobody signs up
/// here, `wrong user info` when the id, password or nickname is not valid, `check pw` when the passwords differ,
/// `already id` when the id is taken. The first that applies is returned.
#[utoipa::path(
    post,
    path = "/sign_up",
    tag = "account",
    request_body = SignUpFields,
    responses((status = 200, body = docs::Success<AccessToken>)),
)]
pub(crate) async fn sign_up(mut call: Call) -> Answer {
    let SignUpFields { id, pw, pw_check, nickname } = call.fields().await?;
    let (form, client) = (SignUp { id, pw, pw_check, nickname }, call.sign_in_client());
    let sign_up = move |tidings: &_, _: &_| account::sign_up_from(tidings, &form, client);
    call.answer_in(|lanes| &lanes.sign_up, sign_up).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct SignInFields {
    /// The sign-in identifier.
    id: String,
    /// The password.
    pw: String,
    /// The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
    #[serde(default)]
    otp: Option<String>,
}

impl From<SignInFields> for SignIn {
    fn from(SignInFields { id, pw, otp }: SignInFields) -> Self {
        Self { id, pw, otp }
    }
}

/// Signs a member in
///
/// `result` is `success`; or `No member`, `incorrect pw`, `blacklist user`; the first that applies is returned. Only for a
/// member who has enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
/// After several failed attempts, further attempts of the client are refused for a while with 429.
#[utoipa::path(
    post,
    path = "/sign_in",
    tag = "account",
    request_body = SignInFields,
    responses((status = 200, body = docs::Success<AccessToken>)),
)]
pub(crate) async fn sign_in(mut call: Call) -> Answer {
    let form: SignIn = call.fields::<SignInFields>().await?.into();
    let attempt = move |tidings: &_, _: &_, client| account::sign_in_with(tidings, &form, client);
    call.sign_in(|lanes| &lanes.sign_in, attempt).await
}

/// Signs a university member in, and registers a new member at the first sign-in
///
/// `result` is `success`; or `not school` when the university does not know the id, and with the code `sign_up_closed` when
/// it does but nobody becomes a member here; `pw incorrect` when the password is wrong, `api error` when the university's system does not respond, `blacklist user`. Only for a member who has enabled
/// the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
#[utoipa::path(
    post,
    path = "/sign_in_up",
    tag = "account",
    request_body = SignInFields,
    responses((status = 200, body = docs::Success<AccessToken>)),
)]
pub(crate) async fn sign_in_up(mut call: Call) -> Answer {
    let form: SignIn = call.fields::<SignInFields>().await?.into();
    let attempt = move |tidings: &_, _: &_, client| account::sign_in_up_with(tidings, &form, client);
    call.sign_in(|lanes| &lanes.university, attempt).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct NewPasswordFields {
    /// The current password.
    pw: String,
    /// The new password, {pw} characters.
    new_pw: String,
    /// The new password again.
    new_pw_check: String,
}

/// Changes the member's password and revokes all older tokens
///
/// `result` is `success`; or `incorrect pw`, `wrong user info` when the new password is not valid, `check pw` when
/// its two copies differ.
#[utoipa::path(
    post,
    path = "/change_pw",
    tag = "account",
    security(("token" = [])),
    request_body = NewPasswordFields,
    responses((status = 200, body = docs::Success<AccessToken>), docs::Members),
)]
pub(crate) async fn change_pw(mut call: Call) -> Answer {
    let NewPasswordFields { pw, new_pw, new_pw_check } = call.fields().await?;
    let form = NewPassword { pw, new_pw, new_pw_check };
    let attempt = move |tidings: &_, caller: &_, client| account::change_pw(tidings, caller, &form, client);
    call.sign_in(|lanes| &lanes.change_pw, attempt).await
}

/// Revokes all tokens of the member, including the one of this request
#[utoipa::path(
    get,
    path = "/sign_out_all",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Done), docs::Members),
)]
pub(crate) async fn sign_out_all(call: Call) -> Answer {
    call.answer(account::sign_out_all).await
}
