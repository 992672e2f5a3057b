//! The callback of subscriptions at hubs, which hubs alone call.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use tidings_core::operation::{Access, Rate, Spec};
use tidings_core::source::websub::{self, BODY_MAX, PATH};

use crate::filter::fields;
use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::raw(Spec::get("", PATH, Access::Open).counts().unrecorded(), confirm),
        Route::raw(Spec::post("", PATH, Access::Open).limited(Rate::General).unrecorded(), receive),
    ]
}

#[derive(Deserialize)]
struct Subscription {
    token: String,
}

async fn confirm(call: Call, Subscription { token }: Subscription) -> Answer {
    let query = call.query().to_owned();
    let confirm = move |tidings: &_, _: &_, _| websub::confirm(tidings, &token, &query);
    let answer = call.run_in(|lanes| &lanes.store, confirm).await?;
    Ok(Reply::plain(answer.into(), TEXT))
}

async fn receive(mut call: Call, Subscription { token }: Subscription) -> Answer {
    // A caller with an unknown token is refused before the body arrives.
    let (tidings, known) = (call.tidings().clone(), token.clone());
    let check = move || websub::check(&tidings, &known);
    call.app().lanes.read.run_for(call.address().into(), check).await?;
    let (body, held) = call.bytes(BODY_MAX).await?;
    let charset = call.headers().get(CONTENT_TYPE).and_then(fields::charset).map(str::to_owned);
    let signature = call.headers().get("x-hub-signature").and_then(|value| value.to_str().ok());
    let signature = signature.map(str::to_owned);
    let receive = move |tidings: &_, _: &_, _| {
        let _held = held;
        websub::receive(tidings, &token, signature.as_deref(), charset.as_deref(), &body)
    };
    call.run_in(|lanes| &lanes.import, receive).await?;
    Ok(Reply::plain("".into(), TEXT))
}
