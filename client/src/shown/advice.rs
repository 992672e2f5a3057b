//! The advice on each error: what is wrong, or what the user can do about it. The matches have no `_` arm, so a new error
//! without advice does not compile.

use std::borrow::Cow;

use tidings_core::error::{Code, Explained, Problem};
use tidings_core::import::Done;
use tidings_core::{Error, StoreError};

/// Returns the advice on an error: a clause in lower case without a full stop, unless the error quotes a name.
pub fn advice(error: &crate::Error) -> String {
    match error {
        crate::Error::Core(error) => of_core(error),
        crate::Error::Refused(refusal) => of_code(refusal.code).unwrap_or(&refusal.message).to_owned(),
        error => error.to_string(),
    }
}

pub fn of_core(error: &Error) -> String {
    match error {
        Error::Documented(_, problem) => of_problem(problem).into_owned(),
        Error::InvalidSetting(invalid) => invalid.to_string(),
        Error::Overloaded => BUSY.to_owned(),
        Error::BadRequest(_)
        | Error::BadToken
        | Error::Forbidden
        | Error::MissingScope(_)
        | Error::SecondFactorNeeded
        | Error::NotFound
        | Error::LastAdministrator
        | Error::DuplicateUrl => of_problem(&error.problem()).into_owned(),
        Error::TooManyRequests { .. } => error.message().into_owned(),
        Error::Failed { cause, .. } | Error::Store(cause) => of_store(cause),
        Error::Input(cause) => format!("the input cannot be read to its end: {cause}"),
        Error::Unfinished { cause, done: Done { inserted, updated, skipped } } => format!(
            "{}\nBefore that, {inserted} were inserted, {updated} updated and {skipped} skipped. Import again to \
             continue from there.",
            of_store(cause)
        ),
        Error::Internal(cause) if cause.is::<Explained>() => cause.to_string(),
        Error::Internal(cause) => format!("{cause}: this is a fault of the program or of the system"),
    }
}

const BUSY: &str = "the database is busy and nothing was changed: try again in a moment";

/// The message of the API, unless the command line has a better remedy.
fn of_problem(problem: &Problem) -> Cow<'static, str> {
    match problem.code {
        Code::BadToken => "this needs a member: name one with --as ID".into(),
        code => of_code(Some(code)).map_or_else(|| problem.message(), Cow::from),
    }
}

fn of_code(code: Option<Code>) -> Option<&'static str> {
    match code? {
        Code::BadToken => Some("the server does not accept the sign-in or the key: see tidings login"),
        Code::NotAdmin => Some("only an administrator may do this: leave --as out, or name an administrator"),
        Code::Blacklisted => Some("tidings blacklist remove ID lets the member sign in again"),
        Code::UniversityUnavailable => {
            Some("the university's system did not answer, or none is set: see --verifier")
        }
        // Programs know the paths of the operations.
        Code::UnknownPath => Some("the server does not know this operation: it is older than this program"),
        _ => None,
    }
}

pub fn of_store(error: &StoreError) -> String {
    match error {
        StoreError::Duplicate => {
            "another command added the same record at the same time: try again".to_owned()
        }
        StoreError::Dangling => {
            "a record that this one refers to was removed in the meantime: try again".to_owned()
        }
        StoreError::Overloaded | StoreError::Conflict(_) => BUSY.to_owned(),
        // The messages of these errors already contain the advice.
        StoreError::Newer { .. }
        | StoreError::Older { .. }
        | StoreError::TooOld { .. }
        | StoreError::Zone { .. }
        | StoreError::NoDirectory(_)
        | StoreError::NotAFile { .. }
        | StoreError::Replaced { saves: true, .. }
        | StoreError::Server(_)
        | StoreError::OutcomeUnknown(_)
        | StoreError::OtherKey { .. }
        | StoreError::MissingKey { .. } => error.to_string(),
        StoreError::Disconnected(_) => format!("{error}: try again when the server answers"),
        StoreError::Emptied { .. } => format!("{error}: tidings restore FILE"),
        StoreError::Replaced { saves: false, .. } => {
            format!("{error} (tidings restore FILE restores a backup)")
        }
        StoreError::Foreign => "the file is not a tidings database: name another file with --db; tidings restore FILE replaces a damaged one"
            .to_owned(),
        StoreError::Damaged(cause) => format!(
            "the database is damaged: {cause}: tidings check reports details; tidings restore FILE restores a backup"
        ),
        StoreError::Interrupted => "the work was cancelled: start it again to finish it".to_owned(),
        StoreError::Full => {
            "the disk is full: make room, or move the database to another disk, and try again".to_owned()
        }
        StoreError::Other(cause) => {
            format!("the database failed: {cause}: check its disk and its permissions, then try again")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use tidings_core::config::Config;
    use tidings_core::{Outcome, ServerError};

    use super::*;

    #[test]
    fn every_error_has_its_advice() {
        let file = || PathBuf::from("tidings.db");
        let stores = [
            StoreError::Duplicate,
            StoreError::Dangling,
            StoreError::Overloaded,
            StoreError::Newer { found: 9, known: 4 },
            StoreError::Older { found: 3, known: 4 },
            StoreError::TooOld { found: 3, oldest: 4 },
            StoreError::Zone { counted: "Asia/Seoul".into(), asked: "UTC".into() },
            StoreError::Foreign,
            StoreError::NoDirectory("data".into()),
            StoreError::NotAFile { path: ":memory:".into(), what: "is not the name of a file" },
            StoreError::Damaged("malformed".into()),
            StoreError::Interrupted,
            StoreError::Full,
            StoreError::Replaced { database: file(), file: file(), fault: "was removed", saves: true },
            StoreError::Replaced { database: file(), file: file(), fault: "was removed", saves: false },
            StoreError::Emptied { database: file(), beside: file() },
            StoreError::Conflict("deadlock detected".into()),
            StoreError::Disconnected("terminating connection".into()),
            StoreError::OtherKey { file: "campus.key".into() },
            StoreError::MissingKey { file: "campus.key".into() },
            StoreError::Other(Arc::from(Box::from("disk I/O error"))),
        ];
        let errors = [
            Error::BadRequest(Problem::invalid("title", "title has 1 to 200 characters")),
            Error::BadToken,
            Error::Forbidden,
            Error::SecondFactorNeeded,
            Error::NotFound,
            Error::LastAdministrator,
            Error::DuplicateUrl,
            Error::TooManyRequests { retry_after_s: 7 },
            Error::Overloaded,
            Error::Failed { result: "fail", cause: StoreError::Full },
            Error::Input(io::Error::other("the pipe broke")),
            Error::Unfinished { cause: StoreError::Full, done: Done::default() },
            Error::InvalidSetting(Config { token_days: 0, ..Config::default() }.check().unwrap_err()),
            Error::Internal("the key cannot be written".into()),
        ];
        let text = || String::from("TEXT");
        let servers = [
            ServerError::Url { fault: text() },
            ServerError::NotBuilt,
            ServerError::Unreachable { hosts: text() },
            ServerError::NoPrimary { hosts: text() },
            ServerError::NoPassword { user: text(), advice: text() },
            ServerError::WrongPassword { user: text() },
            ServerError::Refused { message: text() },
            ServerError::NoDatabase { database: text() },
            ServerError::Denied { message: text(), grant: text() },
            ServerError::TooOld { found: text() },
            ServerError::NotPostgres { found: text() },
            ServerError::Encoding { database: text(), found: text() },
            ServerError::Tls { host: text(), cause: text() },
            ServerError::SharedConnections,
            ServerError::TooManyConnections { message: text() },
        ];
        let outcomes = Outcome::ALL.into_iter().map(Error::from);
        let stores = stores.into_iter().chain(servers.map(StoreError::Server)).map(Error::Store);
        let lines =
            outcomes.chain(errors).chain(stores).map(|error| format!("{error}: {}\n", of_core(&error)));
        insta::assert_snapshot!(lines.collect::<String>());
    }
}
