//! Refused requests: the `result`, the status and the headers of each reason.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use tidings_core::error::{Code, Problem};
use tidings_core::{Error, Outcome, answer};

use super::{JSON, Response, response};
use crate::filter::security;

/// In seconds.
const RETRY_SOON_S: u64 = 1;

#[derive(Debug)]
pub(crate) enum Refusal {
    Operation(Error),
    OutcomeUnknown(Problem),
    UnknownPath,
    /// Contains the methods that the path has.
    MethodNotAllowed(HeaderValue),
    PayloadTooLarge,
    /// The operation does not read bodies of this content type.
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

impl From<Outcome> for Refusal {
    fn from(outcome: Outcome) -> Self {
        Self::Operation(outcome.into())
    }
}

impl Refusal {
    pub(crate) const fn result(&self) -> &'static str {
        match self {
            Self::Operation(error) => error.result(),
            Self::OutcomeUnknown(_) => Error::Overloaded.result(),
            Self::UnknownPath => Error::NotFound.result(),
            Self::MethodNotAllowed(_) => "method not allowed",
            Self::PayloadTooLarge => "payload too large",
            Self::UnsupportedMediaType => "unsupported media type",
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let problem = match self {
            Self::Operation(error) => return answer::failure(error),
            Self::OutcomeUnknown(problem) => *problem,
            Self::UnknownPath => Problem::new(
                Code::UnknownPath,
                "no operation has this path: /docs lists them, unless it is switched off",
            ),
            Self::MethodNotAllowed(_) => Problem::new(
                Code::MethodNotAllowed,
                "the operation of this path has another method: Allow names it",
            ),
            Self::PayloadTooLarge => {
                Problem::new(Code::BodyTooLarge, "the body is larger than the limit of this operation")
            }
            Self::UnsupportedMediaType => Problem::new(
                Code::UnsupportedMediaType,
                "the operation reads no body of this Content-Type: most read application/json, and /docs lists the types of each",
            ),
        };
        answer::refused(self.result(), &problem)
    }

    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::Operation(error) => status(error),
            Self::OutcomeUnknown(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
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

/// `path` is the operation's path, for the log.
pub(super) fn refuse(refusal: &Refusal, path: &str) -> Response {
    let status = refusal.status();
    if status == StatusCode::INTERNAL_SERVER_ERROR
        && let Refusal::Operation(error) = refusal
    {
        tracing::error!(path, cause = error.detail(), "{error}");
    }
    let mut response = response(status, security::headers(), refusal.body().into());
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    let header = match refusal {
        Refusal::Operation(Error::BadToken) => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        Refusal::Operation(Error::TooManyRequests { retry_after_s }) => {
            Some((RETRY_AFTER, HeaderValue::from(*retry_after_s)))
        }
        Refusal::Operation(Error::Overloaded) | Refusal::OutcomeUnknown(_) => {
            Some((RETRY_AFTER, HeaderValue::from(RETRY_SOON_S)))
        }
        Refusal::MethodNotAllowed(allowed) => Some((ALLOW, allowed.clone())),
        _ => None,
    };
    response.headers_mut().extend(header);
    response
}

#[cfg(test)]
mod tests {
    use tidings_core::StoreError;
    use tidings_core::import::Done;

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
            format!("{} {text} {}", response.status().as_u16(), header.unwrap_or_default())
                .trim_end()
                .to_owned()
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    }
}
