//! Sign-up, sign-in, sign-out and password changes.

use tidings_core::account::{
    BeginPasskey, ChangePassword, ConfirmEmail, ForClient, RequestReset, ResetPassword, SetEmail, SignIn,
    SignInPasskey, SignInUp, SignUp, SignUpInvited,
};
use tidings_core::operation::Operation as _;

use crate::filter::reply::Answer;
use crate::filter::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<SignUp>().answered_by(sign_up),
        Route::of::<SignUpInvited>().answered_by(run::<SignUpInvited>),
        Route::of::<SignIn>().answered_by(run::<SignIn>),
        Route::of::<SignInUp>().answered_by(run::<SignInUp>),
        Route::of::<ChangePassword>().answered_by(run::<ChangePassword>),
        Route::of::<RequestReset>().answered_by(run::<RequestReset>),
        Route::of::<ResetPassword>().answered_by(run::<ResetPassword>),
        Route::of::<SetEmail>().answered_by(run::<SetEmail>),
        Route::of::<ConfirmEmail>().answered_by(run::<ConfirmEmail>),
        Route::of::<BeginPasskey>().answered_by(run::<BeginPasskey>),
        Route::of::<SignInPasskey>().answered_by(run::<SignInPasskey>),
    ]
}

async fn sign_up(call: Call, form: SignUp) -> Answer {
    let client = call.sign_in_client();
    let sign_up = move |tidings: &_, caller: &_| form.run_for(tidings, caller, client);
    call.answer_in(|lanes| lanes.of(SignUp::SPEC.work), sign_up).await
}

/// The attempts of the operation count for the client.
pub(crate) async fn run<O: ForClient>(call: Call, operation: O) -> Answer {
    let attempt = move |tidings: &_, caller: &_, client| operation.run_for(tidings, caller, client);
    call.sign_in(O::SPEC.work, attempt).await
}
