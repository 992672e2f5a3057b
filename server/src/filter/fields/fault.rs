//! Why the fields of a request cannot be read.

use std::fmt::{self, Display};

use serde::de;
use tidings_core::Error;
use tidings_core::error::{Code, Problem};

/// The message of a parser is dropped: it may quote a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Neither a JSON object nor a form.
    Malformed,
    /// A parameter of the query is not UTF-8.
    Query,
    /// A segment of the path is not UTF-8.
    Path,
    /// This segment of the path is not a whole number.
    Number(&'static str),
    Missing(&'static str),
    Type(&'static str),
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(_: T) -> Self {
        Self::Malformed
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

impl Fault {
    pub(super) fn of_query(self) -> Self {
        if self == Self::Malformed { Self::Query } else { self }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::BadRequest(match fault {
            Fault::Malformed => {
                Problem::new(Code::MalformedBody, "the body is neither a JSON object nor a form in UTF-8")
            }
            Fault::Query => Problem::new(Code::MalformedRequest, "a parameter of the address is not UTF-8"),
            Fault::Path => Problem::new(Code::MalformedRequest, "the path is not UTF-8"),
            Fault::Number(field) => Problem::invalid(field, "this is not a whole number"),
            Fault::Missing(field) => Problem::missing(field, "this field is required"),
            Fault::Type(field) => Problem::invalid(field, "this has the wrong type"),
        })
    }
}
