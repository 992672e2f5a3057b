//! The errors of operations, each with the `result` text of its answer. The core does not know HTTP statuses or exit statuses: the
//! server and the command line each map [`Error`] to theirs in one place. Besides its text, an error has a [`Code`], a message for
//! people, and the field at fault: see [`problem`].

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::base::config;
use crate::record::scope::Scope;
use crate::store::StoreError;
pub use problem::{Code, Problem};

pub mod problem;

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
    WrongUserInfo,
    /// The password and its repetition differ (`sign_up`, `change_pw`).
    CheckPw,
    /// The id is taken or reserved (`sign_up`).
    AlreadyId,
    /// Members do not sign up themselves (`sign_up`).
    SignUpFail,
    /// The password is wrong (`sign_in`, `change_pw`).
    IncorrectPw,
    /// The member is blacklisted (`sign_in`, `sign_in_up`).
    BlacklistUser,
    /// The member has enabled the second factor, and no code was given (`sign_in`, `sign_in_up`).
    OtpRequired,
    /// The code of the second factor is wrong or was used before (`sign_in`, `sign_in_up`, and changes of the factor).
    IncorrectOtp,
    /// The code for a new password or of an invitation is wrong, was used before or has expired (`reset_pw`, `sign_up_invited`).
    IncorrectCode,
    /// There is no such member (`sign_in`, `change_nickname`).
    NoMember,
    /// The university does not know the id (`sign_in_up`).
    NotSchool,
    /// The university knows the id, with another password (`sign_in_up`).
    PwIncorrect,
    /// The university's system did not answer (`sign_in_up`).
    ApiError,
    /// The nickname breaks its length condition (`change_nickname`).
    RewriteNickname,
    /// There is no such member or notice (`remove_mine`, `reset_user_measurement`, `admin_remove_user`,
    /// `push_blacklist`, `pop_blacklist`, `remove_notice`).
    NotFound,
    /// No member has the token (`get_userinfo`). The text is in lower case, unlike [`Self::NotFound`].
    UserNotFound,
    /// The token or the number of the list is invalid (`get_specific_userinfo`, feedback).
    BadRequest,
    /// The caller is not an administrator (the documented operations of administrators).
    NotAdmin,
    /// The feedback was not accepted.
    Fail,
}

impl Outcome {
    /// All documented failures, for tables and tests.
    pub const ALL: [Self; 19] = [
        Self::WrongUserInfo,
        Self::CheckPw,
        Self::AlreadyId,
        Self::SignUpFail,
        Self::IncorrectPw,
        Self::BlacklistUser,
        Self::OtpRequired,
        Self::IncorrectOtp,
        Self::IncorrectCode,
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

    /// Returns the `result` text.
    pub const fn result(self) -> &'static str {
        match self {
            Self::WrongUserInfo => "wrong user info",
            Self::CheckPw => "check pw",
            Self::AlreadyId => "already id",
            Self::SignUpFail => "sign_up fail",
            Self::IncorrectPw => "incorrect pw",
            Self::BlacklistUser => "blacklist user",
            Self::OtpRequired => "otp required",
            Self::IncorrectOtp => "incorrect otp",
            Self::IncorrectCode => "incorrect code",
            Self::NoMember => "No member",
            Self::NotSchool => "not school",
            Self::PwIncorrect => "pw incorrect",
            Self::ApiError => "api error",
            Self::RewriteNickname => "rewrite_nickname",
            Self::NotFound => "Not found",
            Self::UserNotFound => "not found",
            Self::BadRequest => "bad request",
            Self::NotAdmin => "Not admin",
            Self::Fail => "fail",
        }
    }

    /// Returns what is wrong unless the operation knows more.
    pub const fn problem(self) -> Problem {
        match self {
            Self::WrongUserInfo => {
                Problem::new(Code::InvalidValue, "the id, the password or the nickname breaks its rule")
            }
            Self::CheckPw => {
                Problem::new(Code::PasswordsDiffer, "the password and its repetition differ").of("pw_check")
            }
            Self::AlreadyId => Problem::new(
                Code::IdTaken,
                "another member has this id, or the university's roster reserves it",
            )
            .of("id"),
            Self::SignUpFail => SIGN_UP_CLOSED,
            Self::IncorrectPw => {
                Problem::new(Code::WrongPassword, "this is not the member's password").of("pw")
            }
            Self::BlacklistUser => {
                Problem::new(Code::Blacklisted, "an administrator has blacklisted the member")
            }
            Self::OtpRequired => {
                Problem::new(Code::OtpRequired, "send the code of the authenticator too, or a recovery code")
                    .of("otp")
            }
            Self::IncorrectOtp => Problem::new(
                Code::WrongOtp,
                "this is not the current code of the authenticator, or the code was used before",
            )
            .of("otp"),
            Self::IncorrectCode => Problem::new(
                Code::WrongCode,
                "the code is wrong, was used before, has expired, or a later one was issued: ask for another one",
            )
            .of("code"),
            Self::NoMember => Problem::new(Code::UnknownMember, "no member has this id").of("id"),
            Self::NotSchool => {
                Problem::new(Code::UnknownToUniversity, "the university does not know this id").of("id")
            }
            Self::PwIncorrect => {
                Problem::new(Code::WrongPassword, "the university has another password for this id").of("pw")
            }
            Self::ApiError => Problem::new(
                Code::UniversityUnavailable,
                "the university's system did not answer, or none is set: try again later",
            ),
            Self::RewriteNickname => {
                Problem::new(Code::InvalidValue, "the nickname breaks its rule").of("new_nickname")
            }
            Self::NotFound => NOT_FOUND,
            Self::UserNotFound => BAD_TOKEN,
            Self::BadRequest => {
                Problem::new(Code::InvalidValue, "the token or the number of the list is wrong")
            }
            Self::NotAdmin => NOT_ADMIN,
            Self::Fail => Problem::new(Code::InvalidValue, "the feedback was not accepted"),
        }
    }

    /// Returns the failure with this text and a problem that the operation knows.
    pub const fn because(self, problem: Problem) -> Error {
        Error::Documented(self, problem)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.result())
    }
}

pub(crate) const SIGN_UP_CLOSED: Problem =
    Problem::new(Code::SignUpClosed, "nobody can sign up here: ask an administrator for an account");
const BAD_TOKEN: Problem = Problem::new(
    Code::BadToken,
    "the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token",
);
const NOT_ADMIN: Problem = Problem::new(Code::NotAdmin, "only an administrator may do this");
const SECOND_FACTOR_NEEDED: Problem = Problem::new(
    Code::SecondFactorNeeded,
    "administrators need a session that gave a code of their second factor here: sign in with one, or set a second factor up \
     with begin_otp and enable_otp",
);
const NOT_FOUND: Problem = Problem::new(Code::NotFound, "it does not exist, or was removed in the meantime");
const OVERLOADED: Problem =
    Problem::new(Code::Overloaded, "the service is busy and nothing was changed: try again in a moment");

const OUTCOME_UNKNOWN: Problem = Problem::new(
    Code::Overloaded,
    "it is not known whether the change was stored: look before you repeat it",
);

/// The error of an operation. `Display` writes the `result` text of the answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A failure that the interface documents, and what was wrong.
    Documented(Outcome, Problem),
    /// The input breaks a rule, and nothing was written.
    BadRequest(Problem),
    /// The token is missing, malformed, expired or revoked.
    BadToken,
    /// The caller is a member, but the operation is for administrators or for another member.
    Forbidden,
    /// The caller is an API key, or a member with a role, without this scope.
    MissingScope(Scope),
    /// The settings require a second factor of administrators and members with a role, and the session of the caller gave no
    /// code of one.
    SecondFactorNeeded,
    /// The record that the operation names does not exist.
    NotFound,
    /// The operation would leave no administrator who can sign in.
    LastAdministrator,
    /// Another post has the url.
    DuplicateUrl,
    /// The client has sent too many requests or has failed to sign in too often.
    TooManyRequests {
        /// Whole seconds until the next request is processed, at least 1.
        retry_after_s: u64,
    },
    /// A bounded queue is full, or the service is shutting down; nothing was written.
    Overloaded,
    /// The store failed in an operation for which the interface documents a specific text.
    Failed {
        /// The operation's text: `sign_up fail` or `fail`.
        result: &'static str,
        /// The cause, for the log.
        #[source]
        cause: StoreError,
    },
    /// The store failed; the cause is for the log, never for the caller.
    Store(#[source] StoreError),
    /// The input of an import could not be read to its end; the records before are written. The cause is known to the
    /// caller that supplied the input, for example a failing file or a body that is too large.
    Input(#[source] std::io::Error),
    /// The store failed during an import. The records before are written, and importing again continues from there.
    Unfinished {
        /// The cause, for the log.
        #[source]
        cause: StoreError,
        /// The written records.
        done: Done,
    },
    /// The service cannot be opened with these settings.
    InvalidSetting(#[from] config::Invalid),
    /// The service itself failed, for example because it cannot write a key.
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The cause of an [`Error::Internal`] that says what is wrong outside the program, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Explained(String);

impl Explained {
    pub(crate) fn error(text: String) -> Error {
        Error::Internal(Box::new(Self(text)))
    }
}

/// An input is checked before its write, and the write, which may run more than once, returns the error after it has checked the
/// caller's authority. So this is `Copy`, which [`Error`] cannot be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrokenRule(pub(crate) Problem);

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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidSetting(invalid) => invalid.fmt(f),
            error => f.write_str(error.result()),
        }
    }
}

impl From<Outcome> for Error {
    fn from(outcome: Outcome) -> Self {
        outcome.because(outcome.problem())
    }
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
    /// Returns the `result` text of the answer.
    pub const fn result(&self) -> &'static str {
        match self {
            Self::Documented(outcome, _) => outcome.result(),
            Self::BadRequest(_) => "bad request",
            Self::BadToken => "bad token",
            Self::Forbidden | Self::MissingScope(_) | Self::SecondFactorNeeded => Outcome::NotAdmin.result(),
            Self::NotFound => Outcome::NotFound.result(),
            Self::LastAdministrator => "last administrator",
            Self::DuplicateUrl => "already url",
            Self::TooManyRequests { .. } => "too many requests",
            Self::Overloaded => "overloaded",
            Self::Failed { result, .. } => result,
            Self::Store(_)
            | Self::Input(_)
            | Self::Unfinished { .. }
            | Self::InvalidSetting(_)
            | Self::Internal(_) => "internal error",
        }
    }

    /// Returns what was wrong, without the cause of a failure of the service.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Documented(_, problem) | Self::BadRequest(problem) => *problem,
            Self::BadToken => BAD_TOKEN,
            Self::Forbidden => NOT_ADMIN,
            Self::MissingScope(scope) => Problem::scope(*scope),
            Self::SecondFactorNeeded => SECOND_FACTOR_NEEDED,
            Self::NotFound => NOT_FOUND,
            Self::LastAdministrator => Problem::new(
                Code::LastAdministrator,
                "no administrator would be left: make another member an administrator first",
            ),
            Self::DuplicateUrl => Problem::new(Code::UrlTaken, "another post has this address").of("url"),
            Self::TooManyRequests { .. } => {
                Problem::new(Code::TooManyRequests, "too many requests or failed sign-ins: try again later")
            }
            Self::Overloaded => OVERLOADED,
            _ if self.is_outcome_unknown() => OUTCOME_UNKNOWN,
            _ if self.is_unavailable() => OVERLOADED,
            Self::InvalidSetting(_) => Problem::new(Code::InvalidSetting, "a setting is invalid"),
            Self::Failed { .. }
            | Self::Store(_)
            | Self::Input(_)
            | Self::Unfinished { .. }
            | Self::Internal(_) => Problem::new(
                Code::InternalError,
                "the service failed: try again, and tell its operators, whose log has the cause",
            ),
        }
    }

    /// Returns the message of [`Error::problem`], with the time to wait if there is one.
    pub fn message(&self) -> Cow<'static, str> {
        match self {
            Self::TooManyRequests { retry_after_s } => format!("try again in {retry_after_s} s").into(),
            error => error.problem().message(),
        }
    }

    /// Returns details for people, if any: the broken rule, or the cause for the log.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::BadRequest(rule) => Some(rule.message().into_owned()),
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

    /// Returns whether the connection to the database server was lost during a commit, and it could not be found out whether the
    /// change was stored.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::OutcomeUnknown(_))
                | Self::Failed { cause: StoreError::OutcomeUnknown(_), .. }
        )
    }

    pub(crate) fn unless_authorised(self, text: Outcome) -> Self {
        match self {
            Self::BadToken | Self::Forbidden | Self::MissingScope(_) | Self::SecondFactorNeeded => {
                text.because(self.problem())
            }
            other => other,
        }
    }

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
    fn a_failing_token_has_one_code_whatever_the_text_of_the_operation() {
        for text in [Outcome::NoMember, Outcome::NotFound, Outcome::BadRequest, Outcome::NotAdmin] {
            let error = Error::BadToken.unless_authorised(text);
            assert_eq!((error.to_string(), error.problem().code), (text.to_string(), Code::BadToken));
        }
        assert_eq!(Error::from(Outcome::UserNotFound).problem().code, Code::BadToken);
        assert_eq!(Error::Forbidden.unless_authorised(Outcome::NotAdmin).problem().code, Code::NotAdmin);
    }

    #[test]
    fn the_cause_of_a_failure_is_for_the_log_alone() {
        let error = Error::Store(StoreError::Damaged("page 17 of campus.db".into()));
        assert!(error.detail().unwrap().contains("campus.db") && !error.message().contains("campus.db"));
    }
}
