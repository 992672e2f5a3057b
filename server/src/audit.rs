//! The audit trail.

use tidings_core::audit::{AuditExport, ExportTrail};

use crate::download;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::stream::<ExportTrail, _>(export_audit)]
}

/// Sends the whole audit trail.
async fn export_audit(call: Call, _: ExportTrail) -> Answer {
    let records = AuditExport::new(call.tidings(), call.caller());
    download::lines(&call, records, "audit.jsonl").await
}
