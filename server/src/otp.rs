//! The second factor of members.

use serde::Deserialize;
use tidings_core::account::{self, BeginOtp, OtpSecret, OtpStatus, RecoveryCodes};
use utoipa::ToSchema;

use crate::docs;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_otp", get_otp).reads(),
        Route::post("/begin_otp", begin_otp),
        Route::post("/enable_otp", enable_otp),
        Route::post("/disable_otp", disable_otp),
        Route::post("/renew_recovery_codes", renew_recovery_codes),
    ]
}

/// Tells whether the member has enabled the second factor
#[utoipa::path(
    get,
    path = "/get_otp",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<OtpStatus>), docs::Members),
)]
pub(crate) async fn get_otp(call: Call) -> Answer {
    call.read(account::otp_status).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct BeginOtpFields {
    /// The password.
    pw: String,
    /// The code that `issue_member_otp` or `tidings member otp` has issued, where administrators need a second factor.
    #[serde(default)]
    enrolment_code: Option<String>,
}

/// Makes a secret for the member's authenticator, such as an app on their phone
///
/// The second factor is enabled by `enable_otp`. `result` is `success`; or `incorrect pw`. Only where administrators need a second
/// factor, it is `otp required` without an enrolment code and `incorrect otp` with a wrong one.
#[utoipa::path(
    post,
    path = "/begin_otp",
    tag = "account",
    security(("token" = [])),
    request_body = BeginOtpFields,
    responses((status = 200, body = docs::Success<OtpSecret>), docs::Members),
)]
pub(crate) async fn begin_otp(mut call: Call) -> Answer {
    let BeginOtpFields { pw, enrolment_code } = call.fields().await?;
    let form = BeginOtp { pw, enrolment_code };
    let begin = move |tidings: &_, caller: &_, client| account::begin_otp(tidings, caller, &form, client);
    call.sign_in(|lanes| &lanes.change_pw, begin).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct EnableOtpFields {
    /// The code that the authenticator shows.
    otp: String,
}

/// Enables the second factor: from then on, a sign-in needs a code of the authenticator
///
/// The member's other sessions end. `result` is `success`; or `incorrect otp`. The recovery codes are not shown again.
#[utoipa::path(
    post,
    path = "/enable_otp",
    tag = "account",
    security(("token" = [])),
    request_body = EnableOtpFields,
    responses((status = 200, body = docs::Success<RecoveryCodes>), docs::Members),
)]
pub(crate) async fn enable_otp(mut call: Call) -> Answer {
    let EnableOtpFields { otp } = call.fields().await?;
    let enable = move |tidings: &_, caller: &_, client| account::enable_otp(tidings, caller, &otp, client);
    call.sign_in(|lanes| &lanes.store, enable).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct OtpFields {
    /// The password.
    pw: String,
    /// The code that the authenticator shows, or a recovery code.
    otp: String,
}

/// Disables the second factor
///
/// The member's other sessions end.
/// `result` is `success`; or `incorrect pw`, `incorrect otp`.
#[utoipa::path(
    post,
    path = "/disable_otp",
    tag = "account",
    security(("token" = [])),
    request_body = OtpFields,
    responses((status = 200, body = docs::Done), docs::Members),
)]
pub(crate) async fn disable_otp(mut call: Call) -> Answer {
    let OtpFields { pw, otp } = call.fields().await?;
    let disable =
        move |tidings: &_, caller: &_, client| account::disable_otp(tidings, caller, &pw, &otp, client);
    call.sign_in(|lanes| &lanes.change_pw, disable).await
}

/// Replaces the recovery codes of the member
///
/// The member's other sessions end. `result` is `success`; or `incorrect pw`, `incorrect otp`. The recovery codes are not shown again.
#[utoipa::path(
    post,
    path = "/renew_recovery_codes",
    tag = "account",
    security(("token" = [])),
    request_body = OtpFields,
    responses((status = 200, body = docs::Success<RecoveryCodes>), docs::Members),
)]
pub(crate) async fn renew_recovery_codes(mut call: Call) -> Answer {
    let OtpFields { pw, otp } = call.fields().await?;
    let renew = move |tidings: &_, caller: &_, client| {
        account::renew_recovery_codes(tidings, caller, &pw, &otp, client)
    };
    call.sign_in(|lanes| &lanes.change_pw, renew).await
}
