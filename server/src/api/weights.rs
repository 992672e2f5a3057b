//! The weights of the recommended feed.

use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::account::key::Scope;
use tidings_core::newsfeed::LearnWeights;
use tidings_core::operation::Operation as _;

use crate::api::import;
use crate::endpoint;
use crate::filter::reply::Answer;
use crate::filter::request::Call;
use crate::filter::right::Right;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<LearnWeights>().answered_by(learn)]
}

/// Takes a place of an import.
async fn learn(call: Call, fields: LearnWeights) -> Answer {
    Right::of(&call, Scope::Posts).await?;
    let place = import::take_place(&call)?;
    let learn = endpoint::boxed(fields);
    let learn = move |tidings: &Tidings, caller: &Caller| {
        let _place = place;
        learn(tidings, caller)
    };
    call.run(LearnWeights::SPEC.work, Box::new(learn)).await
}
