//! Live events as server-sent events: `GET /events`.

use futures_util::StreamExt as _;
use http::HeaderValue;
use http::header::HeaderName;
use tidings_core::api::Listen;
use tidings_core::changes::Changes;
use tidings_core::events::{Kind, NewPost, NoticeChange, TodayCounts};
use utoipa::ToSchema;

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

mod history;
pub(crate) mod hub;
mod listener;
#[cfg(test)]
mod tests;

use history::{CHANGES, Kinds, Since};
use listener::Watch;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Proxies such as nginx pass the stream on without collecting it.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::stream::<Listen, _>(events)]
}

/// The data of live events by the names of the events. The document describes them here, because it has no schema for the
/// parts of a stream; the end-to-end tests compare every event with it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the fields are for the document only")]
pub(crate) struct LiveEvents {
    /// A notice was published, changed or hidden.
    notice: NoticeChange,
    /// A post was inserted.
    post: NewPost,
    /// The counts of today.
    counts: TodayCounts,
    /// The numbers of changes of each part of the data.
    changes: Changes,
    /// Events are left out.
    reset: ResetData,
}

/// The data of the event `reset`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the fields are for the document only")]
struct ResetData {
    /// The name of the events that are left out: read the data again.
    event: Kind,
}

pub(crate) async fn events(call: Call, fields: Listen) -> Answer {
    let kinds = fields.events.as_deref().map_or_else(|| Ok(Kinds::public()), Kinds::parse)?;
    let header = call.headers().get(LAST_EVENT_ID).map(HeaderValue::as_bytes);
    let last = header.or(fields.last_event_id.as_deref().map(str::as_bytes)).unwrap_or_default();
    let since = match str::from_utf8(last).map(str::parse) {
        Ok(Ok(place)) => Since::After(place),
        _ if last.is_empty() => Since::Now,
        _ => Since::Unknown,
    };
    let app = call.app();
    let watch = if kinds.contains(CHANGES) { Some(Watch::begin(&call).await?) } else { None };
    let (begin, listener) = app.events.listen(&app.config, call.address().into(), since, kinds).await?;
    let frames = listener::frames(begin, listener, watch).map(Ok);
    let reply = Reply::stream(frames, EVENT_STREAM);
    Ok(reply.with(ACCEL_BUFFERING, HeaderValue::from_static("no")))
}
