//! Liveness and readiness, for what watches over the server.

use tidings_core::Error;

use crate::docs;
use crate::reply::{Answer, Refusal, Reply};
use crate::request::Call;
use crate::route::Route;

const HEALTHZ: &str = "/healthz";
const READYZ: &str = "/readyz";

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get(HEALTHZ, healthz).unrecorded(), Route::get(READYZ, readyz).unrecorded()]
}

/// Whether a path is asked by what watches over the server, which no rate limit holds off.
pub(crate) fn is_health(path: &str) -> bool {
    matches!(path, HEALTHZ | READYZ)
}

/// Whether the server is alive
///
/// Always, when it answers.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, body = docs::Done)))]
pub(crate) async fn healthz(_: Call) -> Answer {
    Ok(Reply::success(&(), false))
}

/// Whether the server takes requests
///
/// Not when the database does not answer, while writes fail, nor while the server shuts down: 503 `overloaded`.
#[utoipa::path(get, path = "/readyz", tag = "server", responses((status = 200, body = docs::Done)))]
pub(crate) async fn readyz(call: Call) -> Answer {
    if call.app().is_stopping() {
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
