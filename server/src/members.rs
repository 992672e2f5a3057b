//! Members and their data, for administrators and API keys.

use tidings_core::member::{
    ChangeNickname, Get, GetLists, IssueOtp, List, ListRoster, Remove, ResetMeasurement, ResetOtp,
    SetPassword, UpdateAutoLogin,
};

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::of::<List>(),
        Route::of::<Get>(),
        Route::of::<GetLists>(),
        Route::of::<ResetMeasurement>(),
        Route::of::<ChangeNickname>(),
        Route::of::<UpdateAutoLogin>(),
        Route::of::<SetPassword>(),
        Route::of::<ResetOtp>(),
        Route::of::<IssueOtp>(),
        Route::of::<ListRoster>(),
        Route::of::<Remove>(),
    ]
}
