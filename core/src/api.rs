//! The operations that a server has by itself: its health, its documentation, and live events.

use serde::{Deserialize, Serialize};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, Required, Type};
use utoipa::{PartialSchema as _, ToSchema};

use crate::operation::{Access, JSON, Spec, Stream};

/// Liveness
///
/// Answers `success` whenever the server runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Healthz {}

impl Stream for Healthz {
    type Line = String;
    type Answer = ();
    const SPEC: Spec = Spec::get("server", "/healthz", Access::Open).unrecorded();
}

/// Readiness
///
/// Answers `success` when the server can take requests. Answers 503 `overloaded` when the database does not respond,
/// when writes fail, as on a full disk, and before and while the server shuts down.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Readyz {}

impl Stream for Readyz {
    type Line = String;
    type Answer = ();
    const SPEC: Spec = Spec::get("server", "/readyz", Access::Open).unrecorded();
}

/// Returns this document
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetDocument {}

impl Stream for GetDocument {
    type Line = String;
    type Answer = ();
    const SPEC: Spec =
        Spec::get("server", "/openapi.json", Access::Open).named("openapi_json").document().unrecorded();

    fn describe(operation: &mut Operation) {
        let Some(RefOr::T(done)) = operation.responses.responses.get_mut("200") else { return };
        let object = ObjectBuilder::new().schema_type(Type::Object).build();
        done.content.insert(JSON.into(), ContentBuilder::new().schema(Some(object)).build().into());
    }
}

/// Sends live events as they happen
///
/// Server-sent events, which browsers read with `EventSource`. The `data` of each event is a JSON object: the schema
/// `LiveEvents` has one for each name. `notice`: a notice
/// was published, changed, or hidden, which has only its id. `post`: a post was inserted. `counts`: the counts of today,
/// first and whenever they change, every five seconds at most. `reset`: events of the kind `event` are left out, so read the
/// data again. After a lost connection, the stream continues with the events after `Last-Event-ID`, also at another server.
/// An event may come twice. A comment comes every 15 to 20 seconds. A token is not needed; all callers get the same.
///
/// `changes` comes only if `events` names it, and only for administrators and API keys with `analytics:read`: for each part
/// of the data a number that grows when the part changes, first and then whenever one grows, twice a second at most. The
/// numbers are those of one server. The stream ends when the right ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Listen {
    /// The kinds of events, separated by commas: `notice`, `post`, `counts` and `changes`; by default all but `changes`.
    pub events: Option<String>,
    /// The id of the last event, for clients that cannot send the header `Last-Event-ID`. The header takes precedence.
    pub last_event_id: Option<String>,
}

impl Stream for Listen {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("server", "/events", Access::Anyone);
    const GIVES: &'static [&'static str] = &["text/event-stream"];

    fn describe(operation: &mut Operation) {
        let last = ParameterBuilder::new()
            .name("Last-Event-ID")
            .parameter_in(ParameterIn::Header)
            .description(Some("The id of the last event"))
            .required(Required::False)
            .schema(Some(String::schema()));
        operation.parameters.get_or_insert_default().push(last.build().into());
        for (status, response) in [("401", "BadToken"), ("403", "NotAdmin")] {
            let response = Ref::from_response_name(response);
            operation.responses.responses.insert(status.into(), response.into());
        }
    }
}
