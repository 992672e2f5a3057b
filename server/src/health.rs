//! Liveness and readiness, for monitoring.

use tidings_core::Error;

use crate::coding::Accepted;
use crate::docs;
use crate::reply::{Answer, Refusal, Reply};
use crate::request::Call;
use crate::route::Route;

const HEALTHZ: &str = "/healthz";
const READYZ: &str = "/readyz";

pub(crate) fn routes() -> Vec<Route> {
    [Route::get(HEALTHZ, healthz), Route::get(READYZ, readyz)].map(|route| route.reads().unrecorded()).into()
}

/// Returns whether a path is a health check, which no rate limit applies to.
pub(crate) fn is_health(path: &str) -> bool {
    matches!(path, HEALTHZ | READYZ)
}

/// Liveness
///
/// Answers `success` whenever the server runs.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, body = docs::Done)))]
pub(crate) async fn healthz(_: Call) -> Answer {
    Ok(Reply::success(&(), Accepted::default()))
}

/// Readiness
///
/// Answers `success` when the server can take requests. Answers 503 `overloaded` when the database does not respond,
/// when writes fail, as on a full disk, and before and while the server shuts down.
#[utoipa::path(get, path = "/readyz", tag = "server", responses((status = 200, body = docs::Done)))]
pub(crate) async fn readyz(call: Call) -> Answer {
    if call.app().is_leaving() {
        return Err(Error::Overloaded.into());
    }
    call.read(|tidings, _| tidings.ready()).await.map_err(|refusal| match refusal {
        Refusal::Operation(error @ (Error::Store(_) | Error::Internal(_))) => {
            tracing::warn!(cause = error.detail(), "not ready");
            Error::Overloaded.into()
        }
        refusal => refusal,
    })
}
