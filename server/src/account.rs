//! Sign-up, sign-in, sign-out and password changes.

use tidings_core::account::{self, ChangePassword, SignIn, SignInUp, SignUp};
use tidings_core::operation::Operation as _;

use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<SignUp>().answered_by(sign_up),
        Route::of::<SignIn>().answered_by(sign_in),
        Route::of::<SignInUp>().answered_by(sign_in_up),
        Route::of::<ChangePassword>().answered_by(change_pw),
    ]
}

async fn sign_up(call: Call, form: SignUp) -> Answer {
    let client = call.sign_in_client();
    let sign_up = move |tidings: &_, _: &_| account::sign_up_from(tidings, &form, client);
    call.answer_in(|lanes| lanes.of(SignUp::SPEC.work), sign_up).await
}

async fn sign_in(call: Call, form: SignIn) -> Answer {
    let attempt = move |tidings: &_, _: &_, client| account::sign_in_with(tidings, &form, client);
    call.sign_in(SignIn::SPEC.work, attempt).await
}

async fn sign_in_up(call: Call, SignInUp { form }: SignInUp) -> Answer {
    let attempt = move |tidings: &_, _: &_, client| account::sign_in_up_with(tidings, &form, client);
    call.sign_in(SignInUp::SPEC.work, attempt).await
}

async fn change_pw(call: Call, form: ChangePassword) -> Answer {
    let attempt = move |tidings: &_, caller: &_, client| account::change_pw(tidings, caller, &form, client);
    call.sign_in(ChangePassword::SPEC.work, attempt).await
}
