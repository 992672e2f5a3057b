//! API keys.

use serde::Deserialize;
use tidings_core::account::key::{self, Draft, Keys, NewKey};
use tidings_core::{Error, Result};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_keys", get_keys).reads(),
        Route::post("/add_key", add_key).counts_as(Counted::Write),
        Route::get("/remove_key/{key_obi}", remove_key).counts_as(Counted::Write),
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

#[derive(Deserialize, ToSchema)]
pub(crate) struct KeyFields {
    /// What the key is for, 1 to 50 characters on one line. No two keys have the same name.
    name: String,
    /// What the key may do: names of scopes, at least one.
    scopes: Vec<String>,
    /// The date from which on the key fails, RFC 3339; never by default.
    #[serde(default)]
    expires: Option<String>,
}

impl KeyFields {
    fn draft(self) -> Result<Draft> {
        let scopes =
            self.scopes.iter().map(|name| name.parse().map_err(|_| Error::BadRequest(key::SCOPE_RULE)));
        let expires = self.expires.as_deref().filter(|text| !text.is_empty()).map(key::expiry).transpose()?;
        Ok(Draft { scopes: scopes.collect::<Result<_>>()?, expires, name: self.name })
    }
}

/// Makes an API key, which a program sends in place of a token
///
/// The key is not shown again. Only a person makes keys: an API key cannot.
#[utoipa::path(
    post,
    path = "/add_key",
    tag = "admin",
    security(("token" = [])),
    request_body = KeyFields,
    responses((status = 200, body = docs::Success<NewKey>), docs::Administrators),
)]
pub(crate) async fn add_key(mut call: Call) -> Answer {
    let draft = call.fields::<KeyFields>().await?.draft();
    call.answer(move |tidings, caller| match draft {
        Ok(draft) => key::add(tidings, caller, &draft),
        // Who may not make keys learns nothing about them.
        Err(error) => key::list(tidings, caller).and(Err(error)),
    })
    .await
}

/// Revokes an API key: its next request fails
#[utoipa::path(
    get,
    path = "/remove_key/{key_obi}",
    tag = "admin",
    security(("token" = [])),
    params(("key_obi" = String, Path, description = "The id of the key, or its name")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn remove_key(mut call: Call) -> Answer {
    let [key] = call.ids();
    call.answer(move |tidings, caller| key::revoke(tidings, caller, &key)).await
}
