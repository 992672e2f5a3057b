//! Administrators and the blacklist.

use tidings_core::admin::{Check, GetBlacklist, Grant, List, PopBlacklist, PushBlacklist, Revoke};

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::of::<Check>(),
        Route::of::<List>(),
        Route::of::<Grant>(),
        Route::of::<Revoke>(),
        Route::of::<GetBlacklist>(),
        Route::of::<PushBlacklist>(),
        Route::of::<PopBlacklist>(),
    ]
}
