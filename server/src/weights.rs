//! The weights of the recommended feed.

use std::collections::BTreeMap;

use serde::Deserialize;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::account::key::Scope;
use tidings_core::newsfeed::{self, FeedWeights, SignalWeights};
use utoipa::ToSchema;

use crate::docs;
use crate::import;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::right::Right;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_feed_weights", get_feed_weights).reads(),
        Route::get("/learn_feed_weights", learn_feed_weights).counts_as(Counted::Write),
        Route::post("/pin_feed_weights", pin_feed_weights).counts_as(Counted::Write),
        Route::get("/unpin_feed_weights", unpin_feed_weights).counts_as(Counted::Write),
    ]
}

/// Returns the weights of the signals of the recommended feed
#[utoipa::path(
    get,
    path = "/get_feed_weights",
    tag = "newsfeed",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<FeedWeights>), docs::Administrators),
)]
pub(crate) async fn get_feed_weights(call: Call) -> Answer {
    call.read(newsfeed::weights).await
}

/// Learns the weights from the acts of the members now, which may take minutes
///
/// `overloaded` means that imports run, or that others are learning: try again later.
#[utoipa::path(
    get,
    path = "/learn_feed_weights",
    tag = "newsfeed",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<FeedWeights>), docs::Administrators),
)]
pub(crate) async fn learn_feed_weights(call: Call) -> Answer {
    Right::of(&call, Scope::Posts).await?;
    let place = import::take_place(&call)?;
    let learn = move |tidings: &Tidings, caller: &Caller| {
        let _place = place;
        newsfeed::learn_weights(tidings, caller)
    };
    call.answer_in(|lanes| &lanes.import, learn).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct WeightFields {
    /// The weights to pin, each from 0 to 1,000, by the names of their signals. The weights in use of other signals are
    /// pinned with them.
    #[schema(value_type = SignalWeights)]
    weights: BTreeMap<String, f64>,
}

/// Pins the weights in use, with some changes
#[utoipa::path(
    post,
    path = "/pin_feed_weights",
    tag = "newsfeed",
    security(("token" = [])),
    request_body = WeightFields,
    responses((status = 200, body = docs::Success<FeedWeights>), docs::Administrators),
)]
pub(crate) async fn pin_feed_weights(mut call: Call) -> Answer {
    let WeightFields { weights } = call.fields().await?;
    let weights: Vec<_> = weights.into_iter().collect();
    call.answer(move |tidings, caller| newsfeed::pin_weights(tidings, caller, &weights)).await
}

/// Unpins the weights, so that those learned or those of the settings are used
#[utoipa::path(
    get,
    path = "/unpin_feed_weights",
    tag = "newsfeed",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<FeedWeights>), docs::Administrators),
)]
pub(crate) async fn unpin_feed_weights(call: Call) -> Answer {
    call.answer(newsfeed::unpin_weights).await
}
