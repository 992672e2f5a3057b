//! Webhooks.

use serde::Deserialize;
use tidings_core::webhook::{self, Deliveries, Draft, Queued, WebhookSecret, Webhooks};
use tidings_core::{Error, Result};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_webhooks", get_webhooks).reads(),
        Route::post("/add_webhook", add_webhook).counts_as(Counted::Write),
        Route::get("/remove_webhook/{webhook_obi}", remove_webhook).counts_as(Counted::Write),
        Route::get("/rotate_webhook/{webhook_obi}", rotate_webhook).counts_as(Counted::Write),
        Route::get("/test_webhook/{webhook_obi}", test_webhook).counts_as(Counted::Write),
        Route::get("/get_webhook_deliveries", get_webhook_deliveries).reads(),
        Route::get("/retry_webhook_delivery/{delivery_obi}", retry_webhook_delivery)
            .counts_as(Counted::Write),
    ]
}

/// Lists the webhooks, without their secrets
#[utoipa::path(
    get,
    path = "/get_webhooks",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Webhooks>), docs::Administrators),
)]
pub(crate) async fn get_webhooks(call: Call) -> Answer {
    call.read(webhook::list).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct WebhookFields {
    /// What the webhook is for, 1 to 50 characters on one line. No two webhooks have the same name.
    name: String,
    /// The address of the receiver, which begins with `https://`.
    url: String,
    /// What the receiver is told about, at least one: `notice.published` or `feedback.created`.
    events: Vec<String>,
}

impl WebhookFields {
    fn draft(self) -> Result<Draft> {
        let Self { name, url, events } = self;
        let events =
            events.iter().map(|name| name.parse().map_err(|_| Error::BadRequest(webhook::EVENT_RULE)));
        Ok(Draft { events: events.collect::<Result<_>>()?, name, url })
    }
}

/// Adds a webhook: another system that is told about what happens from now on
///
/// The secret, with which the receiver verifies signatures, is not shown again.
#[utoipa::path(
    post,
    path = "/add_webhook",
    tag = "admin",
    security(("token" = [])),
    request_body = WebhookFields,
    responses((status = 200, body = docs::Success<WebhookSecret>), docs::Administrators),
)]
pub(crate) async fn add_webhook(mut call: Call) -> Answer {
    let draft = call.fields::<WebhookFields>().await?.draft();
    call.answer(move |tidings, caller| match draft {
        Ok(draft) => webhook::add(tidings, caller, &draft),
        // A caller who may not add webhooks learns nothing about them.
        Err(error) => webhook::list(tidings, caller).and(Err(error)),
    })
    .await
}

/// Removes a webhook and what it has not been told yet
#[utoipa::path(
    get,
    path = "/remove_webhook/{webhook_obi}",
    tag = "admin",
    security(("token" = [])),
    params(("webhook_obi" = String, Path, description = "The id of the webhook, or its name")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn remove_webhook(mut call: Call) -> Answer {
    let [webhook] = call.ids();
    call.answer(move |tidings, caller| webhook::remove(tidings, caller, &webhook)).await
}

/// Gives a webhook a new secret; the one before also signs for 24 hours
#[utoipa::path(
    get,
    path = "/rotate_webhook/{webhook_obi}",
    tag = "admin",
    security(("token" = [])),
    params(("webhook_obi" = String, Path, description = "The id of the webhook, or its name")),
    responses((status = 200, body = docs::Success<WebhookSecret>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn rotate_webhook(mut call: Call) -> Answer {
    let [webhook] = call.ids();
    call.answer(move |tidings, caller| webhook::rotate(tidings, caller, &webhook)).await
}

/// Queues a delivery of the event `ping` to a webhook
#[utoipa::path(
    get,
    path = "/test_webhook/{webhook_obi}",
    tag = "admin",
    security(("token" = [])),
    params(("webhook_obi" = String, Path, description = "The id of the webhook, or its name")),
    responses((status = 200, body = docs::Success<Queued>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn test_webhook(mut call: Call) -> Answer {
    let [webhook] = call.ids();
    call.answer(move |tidings, caller| webhook::test(tidings, caller, &webhook)).await
}

/// Lists the deliveries of webhooks that wait or were given up, latest first
#[utoipa::path(
    get,
    path = "/get_webhook_deliveries",
    tag = "admin",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<Deliveries>), docs::Administrators),
)]
pub(crate) async fn get_webhook_deliveries(call: Call) -> Answer {
    call.read(webhook::deliveries).await
}

/// Sends a delivery of a webhook again that waits or was given up
#[utoipa::path(
    get,
    path = "/retry_webhook_delivery/{delivery_obi}",
    tag = "admin",
    security(("token" = [])),
    params(("delivery_obi" = String, Path, description = "The id of the delivery")),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn retry_webhook_delivery(mut call: Call) -> Answer {
    let [delivery] = call.ids();
    call.answer(move |tidings, caller| webhook::retry(tidings, caller, &delivery)).await
}
