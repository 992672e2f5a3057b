//! The two lines of an app's front page.

use tidings_core::main_info::{Get, Update};

use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::of::<Get>(), Route::of::<Update>()]
}
