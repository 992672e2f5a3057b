//! The audit trail.

use tidings_core::audit::ExportTrail;

use crate::filter::download;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::stream::<ExportTrail, _>(download::lines)]
}
