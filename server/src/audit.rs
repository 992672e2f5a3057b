//! The audit trail.

use serde::Deserialize;
use tidings_core::Error;
use tidings_core::audit::{self, AuditPage, AuditQuery, Head, Verification};
use tidings_core::error::Problem;
use utoipa::IntoParams;

use crate::docs;
use crate::download;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_audit", get_audit).reads(),
        Route::get("/verify_audit", verify_audit).reads(),
        Route::get("/export_audit", export_audit).reads(),
    ]
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParameters {
    /// Records before the one with this number.
    before: Option<i64>,
    /// The maximum number of records, at most 1,000; 100 by default.
    limit: Option<i64>,
    /// What was done, such as `notice.insert`, or its first word, such as `notice`.
    action: Option<String>,
    /// Who acted: the id of a member, the name of an API key, `operator` or `service`.
    actor: Option<String>,
    /// What was acted on: the id of a member, or of a record.
    subject: Option<String>,
}

/// Lists what administrators, operators and API keys have done, latest first
#[utoipa::path(
    get,
    path = "/get_audit",
    tag = "admin",
    security(("token" = [])),
    params(AuditParameters),
    responses((status = 200, body = docs::Success<AuditPage>), docs::Administrators),
)]
pub(crate) async fn get_audit(call: Call) -> Answer {
    let AuditParameters { before, limit, action, actor, subject } = call.parameters()?;
    let query = AuditQuery { before, limit, action, actor, subject };
    call.query(move |tidings, caller| audit::list(tidings, caller, &query)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct VerifyParameters {
    /// The number of a record and its hash, as an earlier verification returned them: `SEQ:HASH`.
    head: Option<String>,
}

const HEAD_RULE: Problem =
    Problem::invalid("head", "head is the number of a record, a colon and its hash of 64 hexadecimal digits");

/// Verifies the audit trail: that no record was changed, inserted or removed
#[utoipa::path(
    get,
    path = "/verify_audit",
    tag = "admin",
    security(("token" = [])),
    params(VerifyParameters),
    responses((status = 200, body = docs::Success<Verification>), docs::Administrators),
)]
pub(crate) async fn verify_audit(call: Call) -> Answer {
    let VerifyParameters { head } = call.parameters()?;
    let head: Option<Head> =
        head.map(|head| head.parse()).transpose().map_err(|_| Error::BadRequest(HEAD_RULE))?;
    call.query(move |tidings, caller| audit::verify(tidings, caller, head.as_ref())).await
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
    let records = audit::AuditExport::new(call.tidings(), call.caller());
    download::lines(&call, records, "audit.jsonl").await
}
