//! Gives the driver's errors their meaning.

use std::error::Error as StdError;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

use crate::error::{ServerError, StoreError};

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error.as_db_error() {
            Some(answer) => of_answer(answer),
            None if is_of_connection(&error) => Self::Disconnected(cause(&error)),
            None => Self::other(format!("{error}: {}", cause(&error))),
        }
    }
}

/// Source: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn of_answer(answer: &DbError) -> StoreError {
    let message = || answer.message().to_owned();
    let ends_session = matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    match answer.code().code() {
        "23505" | "23P01" => StoreError::Duplicate,
        "23503" => StoreError::Dangling,
        // A serialization failure, a deadlock, a lock that is not free.
        "40001" | "40P01" | "55P03" => StoreError::Conflict(message()),
        "42501" => ServerError::Denied { message: message(), grant: grant(answer.message()) }.into(),
        "53100" => StoreError::Full,
        "53300" => ServerError::TooManyConnections { message: message() }.into(),
        "57014" => StoreError::Interrupted,
        "XX001" | "XX002" => StoreError::Damaged(message()),
        // A statement that writes on a server that is no longer the primary, and an unknown outcome.
        "25006" | "40003" => StoreError::Disconnected(message()),
        code if is_end(code) || ends_session => StoreError::Disconnected(message()),
        code => StoreError::other(format!("{} ({code})", message())),
    }
}

/// The server or the connection ends, or does not yet accept connections.
pub(super) fn is_end(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P")
}

/// Returns the statement that probably grants a missing right. `NAME` stands for the user. The messages for schemas end with the
/// name of the schema.
fn grant(message: &str) -> String {
    match message.rsplit_once(' ') {
        Some((before, schema)) if before.contains("schema") => {
            format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO NAME")
        }
        _ => "GRANT ALL ON ALL TABLES IN SCHEMA public TO NAME; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO NAME"
            .to_owned(),
    }
}

/// The connection failed, rather than a conversion on this side of it.
fn is_of_connection(error: &Error) -> bool {
    let failed = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    // The driver reports a message that is too large to be sent as invalid input.
    error.is_closed() || failed.is_some_and(|failed| failed.kind() != io::ErrorKind::InvalidInput)
}

/// The innermost cause is the most specific one.
pub(super) fn cause(error: &Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
