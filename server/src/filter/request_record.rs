//! Records answered requests in the access log and the counters.

use std::net::IpAddr;

use http::header::USER_AGENT;
use http::{HeaderValue, StatusCode};
use tidings_core::account::Caller;
use tidings_core::analysis::{self, Communication, Operation};

use crate::filter::client;
use crate::filter::request::Context;
use crate::state::App;

/// Copied because the handler consumes the request.
pub(crate) struct RequestRecord {
    caller: Caller,
    address: IpAddr,
    user_agent: Option<HeaderValue>,
}

impl RequestRecord {
    pub(crate) fn of(context: &Context) -> Self {
        let headers = &context.head.headers;
        Self {
            caller: context.caller().clone(),
            address: context.address(),
            // A prefetch is no visit, so its client counts like a program without a person.
            user_agent: headers.get(USER_AGENT).filter(|_| !client::is_prefetch(headers)).cloned(),
        }
    }

    /// A request that was refused only because of its rate or the load does not count as a communication.
    pub(crate) fn record(
        self,
        app: &App,
        operation: Operation,
        path: &str,
        status: StatusCode,
        result: &'static str,
    ) {
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            return;
        }
        let communication = Communication {
            caller: &self.caller,
            operation,
            path,
            status: status.as_u16(),
            result,
            address: self.address,
            user_agent: self.user_agent.as_ref().map_or(b"", HeaderValue::as_bytes),
        };
        analysis::record(&app.tidings, &communication);
    }
}
