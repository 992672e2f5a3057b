//! Where members are signed in.

use tidings_core::account::{ListSessions, SignOutSession};
use tidings_core::member;

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::of::<ListSessions>(),
        Route::of::<SignOutSession>(),
        Route::of::<member::ListSessions>(),
        Route::of::<member::SignOut>(),
        Route::of::<member::SignOutSession>(),
    ]
}
