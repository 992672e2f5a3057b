//! The second factor of members.

use tidings_core::account::{self, BeginOtp, DisableOtp, EnableOtp, RenewRecoveryCodes};
use tidings_core::operation::Operation as _;

use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<BeginOtp>().answered_by(begin_otp),
        Route::of::<EnableOtp>().answered_by(enable_otp),
        Route::of::<DisableOtp>().answered_by(disable_otp),
        Route::of::<RenewRecoveryCodes>().answered_by(renew_recovery_codes),
    ]
}

async fn begin_otp(call: Call, form: BeginOtp) -> Answer {
    let begin = move |tidings: &_, caller: &_, client| account::begin_otp(tidings, caller, &form, client);
    call.sign_in(BeginOtp::SPEC.work, begin).await
}

async fn enable_otp(call: Call, EnableOtp { otp }: EnableOtp) -> Answer {
    let enable = move |tidings: &_, caller: &_, client| account::enable_otp(tidings, caller, &otp, client);
    call.sign_in(EnableOtp::SPEC.work, enable).await
}

async fn disable_otp(call: Call, DisableOtp { pw, otp }: DisableOtp) -> Answer {
    let disable =
        move |tidings: &_, caller: &_, client| account::disable_otp(tidings, caller, &pw, &otp, client);
    call.sign_in(DisableOtp::SPEC.work, disable).await
}

async fn renew_recovery_codes(call: Call, RenewRecoveryCodes { pw, otp }: RenewRecoveryCodes) -> Answer {
    let renew = move |tidings: &_, caller: &_, client| {
        account::renew_recovery_codes(tidings, caller, &pw, &otp, client)
    };
    call.sign_in(RenewRecoveryCodes::SPEC.work, renew).await
}
