//! The audit trail.

use tidings_core::audit::{AuditExport, List, Verify};

use crate::docs;
use crate::download;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::of::<List>(), Route::of::<Verify>(), Route::get("/export_audit", export_audit).reads()]
}

/// Returns the whole audit trail, earliest first
///
/// The response is a download of any length with one JSON object on each line: what a record of `/get_audit` has, and in
/// `stored` the fields that its hash covers. At most 16 downloads run at the same time, four of one caller, each for at most
/// ten minutes; the client reads at least 64 KiB in 20 seconds.
#[utoipa::path(
    get,
    path = "/export_audit",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/x-ndjson"), docs::Administrators),
)]
pub(crate) async fn export_audit(call: Call) -> Answer {
    let records = AuditExport::new(call.tidings(), call.caller());
    download::lines(&call, records, "audit.jsonl").await
}
