//! Liveness and readiness, for monitoring.

use tidings_core::Error;
use tidings_core::api::{Healthz, Readyz};
use tidings_core::operation::Stream as _;

use crate::filter::coding::Accepted;
use crate::filter::reply::{Answer, Refusal, Reply};
use crate::filter::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::stream::<Healthz, _>(healthz), Route::stream::<Readyz, _>(readyz)]
}

/// No rate limit applies to a health check.
pub(crate) fn is_health(path: &str) -> bool {
    path == Healthz::SPEC.path || path == Readyz::SPEC.path
}

async fn healthz(_: Call, _: Healthz) -> Answer {
    Ok(Reply::success(&(), Accepted::default()))
}

async fn readyz(call: Call, _: Readyz) -> Answer {
    if call.app().is_leaving() {
        return Err(Error::Overloaded.into());
    }
    call.answer_in(|lanes| &lanes.read, |tidings, _| tidings.ready()).await.map_err(|refusal| match refusal {
        Refusal::Operation(error @ (Error::Store(_) | Error::Internal(_))) => {
            tracing::warn!(cause = error.detail(), "not ready");
            Error::Overloaded.into()
        }
        refusal => refusal,
    })
}
