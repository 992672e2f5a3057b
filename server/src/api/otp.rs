//! The second factor of members.

use tidings_core::account::{BeginOtp, DisableOtp, EnableOtp, RenewRecoveryCodes};

use crate::api::account::run;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<BeginOtp>().answered_by(run::<BeginOtp>),
        Route::of::<EnableOtp>().answered_by(run::<EnableOtp>),
        Route::of::<DisableOtp>().answered_by(run::<DisableOtp>),
        Route::of::<RenewRecoveryCodes>().answered_by(run::<RenewRecoveryCodes>),
    ]
}
