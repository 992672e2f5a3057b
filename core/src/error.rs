//! Why an operation is refused, each with the `result` text that its answer carries.
//!
//! The core knows texts, never HTTP statuses or exit statuses: the server and the command line each map
//! [`Error`] to theirs in one place.

use crate::config;
use crate::store::StoreError;

/// What every operation answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The answer of an operation that does not wait for the disk: it comes once the operation's write is on disk.
pub type Pending<T, E = Error> = crate::store::Pending<T, E>;

/// The failures the interface documents, each with its `result` text to the letter.
///
/// Clients match on these texts in their success handler, so spelling and case may not change. The same
/// condition has other texts in other operations, so an operation names its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outcome {
    /// An id, a password or a nickname breaks its length condition (`sign_up`, `change_pw`).
    #[error("wrong user info")]
    WrongUserInfo,
    /// The password and its repetition differ (`sign_up`, `change_pw`).
    #[error("check pw")]
    CheckPw,
    /// The id is taken or reserved (`sign_up`).
    #[error("already id")]
    AlreadyId,
    /// The password is wrong (`sign_in`, `change_pw`).
    #[error("incorrect pw")]
    IncorrectPw,
    /// The member is blacklisted (`sign_in`, `sign_in_up`).
    #[error("blacklist user")]
    BlacklistUser,
    /// There is no such member (`sign_in`, `change_nickname`).
    #[error("No member")]
    NoMember,
    /// The university does not know the id (`sign_in_up`).
    #[error("not school")]
    NotSchool,
    /// The university knows the id, with another password (`sign_in_up`).
    #[error("pw incorrect")]
    PwIncorrect,
    /// The university's system did not answer (`sign_in_up`).
    #[error("api error")]
    ApiError,
    /// The nickname breaks its length condition (`change_nickname`).
    #[error("rewrite_nickname")]
    RewriteNickname,
    /// There is no such member or notice (`remove_mine`, `reset_user_measurement`, `admin_remove_user`,
    /// `push_blacklist`, `pop_blacklist`, `remove_notice`).
    #[error("Not found")]
    NotFound,
    /// The token is nobody's (`get_userinfo`); lower case, unlike the one above.
    #[error("not found")]
    UserNotFound,
    /// The token or the number of the list is unusable (`get_specific_userinfo`, feedback).
    #[error("bad request")]
    BadRequest,
    /// The caller is no administrator (the documented administrators' operations).
    #[error("Not admin")]
    NotAdmin,
    /// The feedback could not be taken.
    #[error("fail")]
    Fail,
}

impl Outcome {
    /// Every documented failure, for tables and tests.
    pub const ALL: [Self; 15] = [
        Self::WrongUserInfo,
        Self::CheckPw,
        Self::AlreadyId,
        Self::IncorrectPw,
        Self::BlacklistUser,
        Self::NoMember,
        Self::NotSchool,
        Self::PwIncorrect,
        Self::ApiError,
        Self::RewriteNickname,
        Self::NotFound,
        Self::UserNotFound,
        Self::BadRequest,
        Self::NotAdmin,
        Self::Fail,
    ];
}

/// The lines that an import wrote before it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Done {
    /// Lines that were new.
    pub inserted: u64,
    /// Lines that changed an existing record.
    pub updated: u64,
    /// Lines whose record existed already.
    pub skipped: u64,
}

/// Why an operation was refused. `Display` is the `result` text of the answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A failure that the interface documents.
    #[error(transparent)]
    Documented(#[from] Outcome),
    /// The input breaks a rule; nothing was written. Holds the rule, for people.
    #[error("bad request")]
    BadRequest(&'static str),
    /// The token is missing, malformed, expired or revoked.
    #[error("bad token")]
    BadToken,
    /// The caller is a member, but the operation is for administrators or for another member.
    #[error("Not admin")]
    Forbidden,
    /// The thing that the operation names does not exist.
    #[error("Not found")]
    NotFound,
    /// The act would leave no administrator who can sign in.
    #[error("last administrator")]
    LastAdministrator,
    /// Another post has the url.
    #[error("already url")]
    DuplicateUrl,
    /// Too many requests of the client, or too many failed sign-ins; try again after so many seconds.
    #[error("too many requests")]
    TooManyRequests {
        /// Whole seconds until the next one is looked at, at least 1.
        retry_after_s: u64,
    },
    /// A bounded queue is full, or the service is shutting down; nothing was written.
    #[error("overloaded")]
    Overloaded,
    /// The store failed in an operation whose document gives this its own text.
    #[error("{result}")]
    Failed {
        /// The operation's text: `sign_up fail` or `fail`.
        result: &'static str,
        /// The cause, for the log.
        #[source]
        cause: StoreError,
    },
    /// The store failed; the cause is for the log, never for the caller.
    #[error("internal error")]
    Store(#[source] StoreError),
    /// What an import reads could not be read to its end; what came before it is kept. Who handed it in knows
    /// more of the cause: a file that fails, a body that is too large.
    #[error("internal error")]
    Input(#[source] std::io::Error),
    /// The store failed in the midst of an import: what came before it is kept, and importing again goes on from there.
    #[error("internal error")]
    Unfinished {
        /// The cause, for the log.
        #[source]
        cause: StoreError,
        /// What is kept.
        done: Done,
    },
    /// The service cannot be opened with these settings.
    #[error(transparent)]
    InvalidSetting(#[from] config::Invalid),
    /// The service itself failed: a key that cannot be written, a random source that does not answer.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Error {
    fn from(cause: StoreError) -> Self {
        match cause {
            StoreError::Overloaded => Self::Overloaded,
            cause => Self::Store(cause),
        }
    }
}

impl Error {
    /// What was wrong, for people: the rule that was broken or the cause in the log, where there is one.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::BadRequest(rule) => Some((*rule).to_owned()),
            Self::Store(cause) | Self::Failed { cause, .. } | Self::Unfinished { cause, .. } => {
                Some(cause.to_string())
            }
            Self::Input(cause) => Some(cause.to_string()),
            Self::Internal(cause) => Some(cause.to_string()),
            _ => None,
        }
    }

    /// This error, where the document names the operation's own text for a token that fails or is no
    /// administrator's.
    pub(crate) fn unless_authorised(self, text: Outcome) -> Self {
        match self {
            Self::BadToken | Self::Forbidden => Self::Documented(text),
            other => other,
        }
    }

    /// This error, where the document names the operation's own text for an internal one.
    pub(crate) fn if_failed(self, result: &'static str) -> Self {
        match self {
            Self::Store(cause) => Self::Failed { result, cause },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_too_busy_overloads_the_service_and_every_other_failure_keeps_its_meaning() {
        assert!(matches!(StoreError::Overloaded.into(), Error::Overloaded));
        assert!(matches!(StoreError::Interrupted.into(), Error::Store(StoreError::Interrupted)));
        assert!(matches!(StoreError::Full.into(), Error::Store(StoreError::Full)));
    }
}
