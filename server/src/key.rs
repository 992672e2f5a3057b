//! API keys.

use tidings_core::account::key::{Add, List, Revoke};

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::of::<List>(), Route::of::<Add>(), Route::of::<Revoke>()]
}
