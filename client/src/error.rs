use std::fmt;

use serde::Deserialize;
use tidings_core::Outcome;
use tidings_core::error::Code;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// `Display` writes the `result` text of the answer, or what went wrong on the way.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Core(#[from] tidings_core::Error),
    /// The server refused the operation, or failed.
    #[error("{}", .0.result)]
    Refused(Box<Refusal>),
    #[error("{server} cannot be reached: {cause}")]
    Unreachable { server: String, cause: String },
    /// The caller stopped an import on a server, which keeps what it has received so far.
    #[error("the import was stopped")]
    Stopped,
    /// The response is not from a tidings server, or from one of another version.
    #[error(
        "{server} answered {what}: check the address, and the versions of this program and of the server"
    )]
    Unexpected { server: String, what: String },
}

/// Of a server that refused an operation, or failed.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub result: String,
    /// `None` if this program does not know it.
    pub code: Option<Code>,
    /// The cause, or the remedy.
    pub message: String,
    /// The field or the parameter at fault.
    pub field: Option<String>,
    pub retry_after_s: Option<u64>,
    /// As the server sent it, a JSON object.
    pub json: Vec<u8>,
}

impl Refusal {
    /// `None` if the answer is no refusal.
    pub(crate) fn read(json: &[u8], retry_after_s: Option<u64>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields {
            result: String,
            #[serde(default)]
            code: String,
            #[serde(default)]
            message: String,
            #[serde(default)]
            field: Option<String>,
        }
        let Fields { result, code, message, field } = serde_json::from_slice(json).ok()?;
        let code = Code::ALL.iter().copied().find(|known| known.as_str() == code);
        Some(Self { result, code, message, field, retry_after_s, json: json.to_owned() })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.result, self.message)
    }
}

impl From<Outcome> for Error {
    fn from(outcome: Outcome) -> Self {
        Self::Core(outcome.into())
    }
}

impl Error {
    /// `None` if there was no answer, or its condition is unknown to this program.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Core(error) => Some(error.problem().code),
            Self::Refused(refusal) => refusal.code,
            Self::Unreachable { .. } | Self::Unexpected { .. } | Self::Stopped => None,
        }
    }

    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Core(error) => error.problem().field,
            Self::Refused(refusal) => refusal.field.as_deref(),
            Self::Unreachable { .. } | Self::Unexpected { .. } | Self::Stopped => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self.code(), Some(Code::NotFound | Code::UnknownMember))
    }

    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(Code::NotAdmin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_with_its_condition() {
        let json = br#"{"result":"Not admin","code":"missing_scope","message":"this needs posts"}"#;
        let refusal = Refusal::read(json, None).unwrap();
        assert_eq!(refusal.code, Some(Code::MissingScope));
        assert_eq!(refusal.to_string(), "Not admin: this needs posts");
        let error = Error::Refused(Box::new(refusal));
        assert!(!error.is_forbidden() && !error.is_not_found());
        // One of a newer server.
        let refusal = Refusal::read(br#"{"result":"gone","code":"gone_for_good"}"#, Some(3)).unwrap();
        assert_eq!((refusal.code, refusal.retry_after_s, &*refusal.result), (None, Some(3), "gone"));
        for other in [&b""[..], b"<html>", b"[]", b"{}", br#"{"result":1}"#] {
            assert!(Refusal::read(other, None).is_none());
        }
    }

    #[test]
    fn conditions_are_the_same_on_a_database_and_on_a_server() {
        for outcome in Outcome::ALL {
            let error = tidings_core::Error::from(outcome);
            let refusal = Refusal::read(&tidings_core::answer::failure(&error), None).unwrap();
            let (refused, error) = (Error::Refused(Box::new(refusal)), Error::from(error));
            assert_eq!((refused.code(), refused.field()), (error.code(), error.field()), "{outcome}");
        }
    }
}
