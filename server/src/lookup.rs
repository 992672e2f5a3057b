//! Looking up records by the beginning of their ids.

use tidings_core::lookup::FindIds;

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::of::<FindIds>()]
}
