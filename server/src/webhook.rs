//! Webhooks.

use tidings_core::webhook::{Add, List, ListDeliveries, Remove, Retry, Rotate, Test};

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::of::<List>(),
        Route::of::<Add>(),
        Route::of::<Remove>(),
        Route::of::<Rotate>(),
        Route::of::<Test>(),
        Route::of::<ListDeliveries>(),
        Route::of::<Retry>(),
    ]
}
