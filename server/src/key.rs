//! API keys.

use serde::Deserialize;
use tidings_core::Error;
use tidings_core::account::key::{self, Draft, Keys, NewKey, SCOPE_RULE, Scope};
use utoipa::ToSchema;

use crate::docs;
use crate::fields::{self, List};
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_keys", get_keys).reads(),
        Route::post("/add_key", add_key),
        Route::get("/remove_key/{key_obi}", remove_key),
    ]
}

/// Lists the API keys, without their secrets
#[utoipa::path(
    get,
    path = "/get_keys",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Keys>), docs::Administrators),
)]
pub(crate) async fn get_keys(call: Call) -> Answer {
    call.read(key::list).await
}
