//! The errors of operations, each with the `result` text of its answer.
//!
//! The core does not know HTTP statuses or exit statuses: the server and the command line each map [`Error`] to theirs in
//! one place.

use serde::Serialize;

use crate::config;
use crate::store::StoreError;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The future result of an operation that does not wait until its write is on disk.
pub type Pending<T, E = Error> = crate::store::Pending<T, E>;

/// The failures that the interface documents, each with its exact `result` text.
///
/// Clients compare these texts, so spelling and case must not change. The text for a condition depends on the operation.
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
    /// No member has the token (`get_userinfo`). The text is in lower case, unlike [`Self::NotFound`].
    #[error("not found")]
    UserNotFound,
    /// The token or the number of the list is invalid (`get_specific_userinfo`, feedback).
    #[error("bad request")]
    BadRequest,
    /// The caller is not an administrator (the documented operations of administrators).
    #[error("Not admin")]
    NotAdmin,
    /// The feedback was not accepted.
    #[error("fail")]
    Fail,
}

impl Outcome {
    /// All documented failures, for tables and tests.
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

/// The error of an operation. `Display` writes the `result` text of the answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A failure that the interface documents.
    #[error(transparent)]
    Documented(#[from] Outcome),
    /// The input breaks a rule, and nothing was written. Contains the rule, for people.
    #[error("bad request")]
    BadRequest(&'static str),
    /// The token is missing, malformed, expired or revoked.
    #[error("bad token")]
    BadToken,
    /// The caller is a member, but the operation is for administrators or for another member.
    #[error("Not admin")]
    Forbidden,
    /// The record that the operation names does not exist.
    #[error("Not found")]
    NotFound,
    /// The operation would leave no administrator who can sign in.
    #[error("last administrator")]
    LastAdministrator,
    /// Another post has the url.
    #[error("already url")]
    DuplicateUrl,
    /// The client has sent too many requests or has failed to sign in too often.
    #[error("too many requests")]
    TooManyRequests {
        /// Whole seconds until the next request is processed, at least 1.
        retry_after_s: u64,
    },
    /// A bounded queue is full, or the service is shutting down; nothing was written.
    #[error("overloaded")]
    Overloaded,
    /// The store failed in an operation for which the interface documents a specific text.
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
    /// The input of an import could not be read to its end; the records before are written. The cause is known to the
    /// caller that supplied the input, for example a failing file or a body that is too large.
    #[error("internal error")]
    Input(#[source] std::io::Error),
    /// The store failed during an import. The records before are written, and importing again continues from there.
    #[error("internal error")]
    Unfinished {
        /// The cause, for the log.
        #[source]
        cause: StoreError,
        /// The written records.
        done: Done,
    },
    /// The service cannot be opened with these settings.
    #[error(transparent)]
    InvalidSetting(#[from] config::Invalid),
    /// The service itself failed, for example because it cannot write a key.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The rule that an input breaks, as [`Error::BadRequest`] contains it.
///
/// An input is checked before its write, and the write, which may run more than once, returns the error after it has
/// checked the caller's authority. So this is `Copy`, which [`Error`] cannot be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrokenRule(pub(crate) &'static str);

impl From<BrokenRule> for Error {
    fn from(rule: BrokenRule) -> Self {
        Self::BadRequest(rule.0)
    }
}

impl From<&BrokenRule> for Error {
    fn from(rule: &BrokenRule) -> Self {
        (*rule).into()
    }
}

/// The records that an import wrote before it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The number of new records.
    pub inserted: u64,
    /// The number of records that existed and have changed.
    pub updated: u64,
    /// The number of records that already existed unchanged.
    pub skipped: u64,
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
    /// Returns details for people, if any: the broken rule, or the cause for the log.
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

    /// Returns whether the database server could not be used for a moment, so that the caller can try again later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Store(cause) | Self::Failed { cause, .. } if cause.is_unavailable())
    }

    /// Replaces `bad token` and `Not admin` with the text that the interface documents for the operation.
    pub(crate) fn unless_authorised(self, text: Outcome) -> Self {
        match self {
            Self::BadToken | Self::Forbidden => Self::Documented(text),
            other => other,
        }
    }

    /// Gives an error of the store the text that the interface documents for the operation.
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
    fn a_busy_store_means_overloaded_and_other_failures_of_it_stay_what_they_are() {
        assert!(matches!(StoreError::Overloaded.into(), Error::Overloaded));
        assert!(matches!(StoreError::Interrupted.into(), Error::Store(StoreError::Interrupted)));
        assert!(matches!(StoreError::Full.into(), Error::Store(StoreError::Full)));
    }
}
