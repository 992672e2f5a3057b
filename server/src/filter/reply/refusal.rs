//! Refused requests: the `result`, the status and the headers of each reason.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use tidings_core::error::{Code, Problem};
use tidings_core::{Error, answer};

use super::{JSON, Response, ResultText, response};

/// In seconds.
const RETRY_SOON_S: u64 = 1;

#[derive(Debug)]
pub(crate) enum Refusal {
    Operation(Error),
    OutcomeUnknown(Problem),
    UnknownPath,
    MethodNotAllowed(HeaderValue),
    PayloadTooLarge,
    UnsupportedMediaType,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        if error.is_unavailable() {
            // The store has logged the outage once.
            tracing::debug!(cause = error.detail(), "the database server cannot be used");
            if error.is_outcome_unknown() {
                return Self::OutcomeUnknown(error.problem());
            }
            return Self::Operation(Error::Overloaded);
        }
        Self::Operation(error)
    }
}

impl Refusal {
    pub(crate) fn result(&self) -> &'static str {
        self.parts().1
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.parts().0
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        match self {
            Self::Operation(error) => answer::failure(error),
            _ => answer::refused(self.result(), &self.parts().2),
        }
    }

    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Operation(Error::BadToken) => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::Operation(Error::TooManyRequests { retry_after_s }) => {
                Some((RETRY_AFTER, HeaderValue::from(*retry_after_s)))
            }
            Self::Operation(Error::Overloaded) | Self::OutcomeUnknown(_) => {
                Some((RETRY_AFTER, HeaderValue::from(RETRY_SOON_S)))
            }
            Self::MethodNotAllowed(allowed) => Some((ALLOW, allowed.clone())),
            _ => None,
        }
    }

    fn parts(&self) -> (StatusCode, &'static str, Problem) {
        match self {
            Self::Operation(error) => (status(error), error.result(), error.problem()),
            Self::OutcomeUnknown(problem) => {
                (StatusCode::SERVICE_UNAVAILABLE, Error::Overloaded.result(), *problem)
            }
            Self::UnknownPath => {
                let message = "no operation has this path: /docs lists them, unless it is switched off";
                (StatusCode::NOT_FOUND, Error::NotFound.result(), Problem::new(Code::UnknownPath, message))
            }
            Self::MethodNotAllowed(_) => {
                let message = "the operation of this path has another method: Allow names it";
                let problem = Problem::new(Code::MethodNotAllowed, message);
                (StatusCode::METHOD_NOT_ALLOWED, "method not allowed", problem)
            }
            Self::PayloadTooLarge => {
                let message = "the body is larger than the limit of this operation";
                let problem = Problem::new(Code::BodyTooLarge, message);
                (StatusCode::PAYLOAD_TOO_LARGE, "payload too large", problem)
            }
            Self::UnsupportedMediaType => {
                let message = "the operation reads no body of this Content-Type: most read application/json, and /docs lists the types of each";
                let problem = Problem::new(Code::UnsupportedMediaType, message);
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type", problem)
            }
        }
    }
}

/// A documented outcome is 200: existing clients read `result` in their success handler and ignore the status.
const fn status(error: &Error) -> StatusCode {
    match error {
        Error::Documented(..) => StatusCode::OK,
        Error::BadRequest(_) => StatusCode::BAD_REQUEST,
        Error::BadToken => StatusCode::UNAUTHORIZED,
        Error::Forbidden | Error::MissingScope(_) | Error::SecondFactorNeeded => StatusCode::FORBIDDEN,
        Error::NotFound => StatusCode::NOT_FOUND,
        Error::LastAdministrator | Error::DuplicateUrl => StatusCode::CONFLICT,
        Error::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        Error::Failed { .. }
        | Error::Store(_)
        | Error::Input(_)
        | Error::Unfinished { .. }
        | Error::InvalidSetting(_)
        | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Without the headers of [`Scope::complete`](super::Scope::complete). `path` is the operation's path, for the log.
pub(crate) fn refused(refusal: &Refusal, path: &str) -> Response {
    let status = refusal.status();
    if status == StatusCode::INTERNAL_SERVER_ERROR
        && let Refusal::Operation(error) = refusal
    {
        tracing::error!(path, cause = error.detail(), "{error}");
    }
    let mut response = response(status, refusal.body().into());
    response.extensions_mut().insert(ResultText(refusal.result()));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response.headers_mut().extend(refusal.header());
    response
}

#[cfg(test)]
mod tests {
    use tidings_core::import::Done;
    use tidings_core::{Outcome, StoreError};

    use super::super::{Scope, respond};
    use super::*;

    #[test]
    fn every_failure_has_its_text_its_status_and_its_header() {
        let documented = Outcome::ALL.into_iter().map(|outcome| Refusal::from(Error::from(outcome)));
        let cause = StoreError::Foreign;
        let others = [
            Error::BadRequest(Problem::new(Code::InvalidValue, "a rule")).into(),
            Error::BadToken.into(),
            Error::Forbidden.into(),
            Error::MissingScope(tidings_core::account::key::Scope::Posts).into(),
            Error::SecondFactorNeeded.into(),
            Error::NotFound.into(),
            Error::LastAdministrator.into(),
            Error::DuplicateUrl.into(),
            Error::TooManyRequests { retry_after_s: 7 }.into(),
            Error::Overloaded.into(),
            Error::Store(StoreError::OutcomeUnknown("a cause".into())).into(),
            Error::Failed { result: "sign_up fail", cause: cause.clone() }.into(),
            Error::Store(cause).into(),
            Error::Input(std::io::ErrorKind::UnexpectedEof.into()).into(),
            Error::Unfinished { cause: StoreError::Full, done: Done::default() }.into(),
            Error::Internal("a cause".into()).into(),
            Refusal::UnknownPath,
            Refusal::MethodNotAllowed(HeaderValue::from_static("GET, POST")),
            Refusal::PayloadTooLarge,
            Refusal::UnsupportedMediaType,
        ];
        let lines = documented.chain(others).map(|refusal| {
            let text = refusal.result();
            let response = respond(Err(refusal), "/path", Scope::default());
            assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{text}");
            assert_eq!(response.headers()["cache-control"], "no-store", "{text}");
            assert_eq!(response.headers()["tidings-result"], text);
            let header = [WWW_AUTHENTICATE, RETRY_AFTER, ALLOW].into_iter().find_map(|name| {
                let value = response.headers().get(&name)?;
                Some(format!("{name}: {}", value.to_str().ok()?))
            });
            let line = format!("{} {text} {}", response.status().as_u16(), header.unwrap_or_default());
            line.trim_end().to_owned()
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    }
}
