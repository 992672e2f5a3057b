//! What was wrong with a request: a stable code for programs, the field at fault, and a message for people.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::base::config::Bounds;
use crate::record::scope::Scope;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The condition of a failure, for programs. The text of a code never changes.
        ///
        /// `result` has the texts of the interface, of which several mean the same and some mean several conditions. A
        /// condition has one code, whatever the operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns its text.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

codes! {
    /// A field or a parameter breaks its rule, or has another type.
    InvalidValue = "invalid_value",
    /// A required field is missing.
    MissingValue = "missing_value",
    /// A change changes nothing, because it has none of its fields.
    NothingGiven = "nothing_given",
    /// The body is neither a JSON object nor a form, or did not arrive completely.
    MalformedBody = "malformed_body",
    /// The request is not valid HTTP.
    MalformedRequest = "malformed_request",
    /// The page that `next` continues is no longer known.
    NextExpired = "next_expired",
    /// The state of the database does not allow the operation.
    NotPossible = "not_possible",
    /// The token is missing, malformed, expired or revoked: the member has to sign in again.
    BadToken = "bad_token",
    /// The caller is a member, but the operation is for administrators or for another member.
    NotAdmin = "not_admin",
    /// The API key, or the role of the member, lacks the scope that the operation needs.
    MissingScope = "missing_scope",
    /// Another API key has the name.
    NameTaken = "name_taken",
    /// The record that the request names does not exist.
    NotFound = "not_found",
    /// No operation has this path.
    UnknownPath = "unknown_path",
    /// The operation of this path has another method.
    MethodNotAllowed = "method_not_allowed",
    /// The password and its repetition differ.
    PasswordsDiffer = "passwords_differ",
    /// Another member has the id, or it is reserved.
    IdTaken = "id_taken",
    /// Only others make members: the university's system, or administrators.
    SignUpClosed = "sign_up_closed",
    /// No member has the id.
    UnknownMember = "unknown_member",
    /// The password is wrong.
    WrongPassword = "wrong_password",
    /// The member has enabled the second factor, and no code was given.
    OtpRequired = "otp_required",
    /// The code of the second factor is wrong, or was used before.
    WrongOtp = "wrong_otp",
    /// The code for a new password or of an invitation is wrong, was used before, or has expired.
    WrongCode = "wrong_code",
    /// Administrators and members with a role need a second factor, and the session of the caller gave no code of one.
    SecondFactorNeeded = "second_factor_needed",
    /// The member is blacklisted.
    Blacklisted = "blacklisted",
    /// The university does not know the id.
    UnknownToUniversity = "unknown_to_university",
    /// The university's system did not answer, or there is none.
    UniversityUnavailable = "university_unavailable",
    /// No administrator would be left.
    LastAdministrator = "last_administrator",
    /// Another post has the url.
    UrlTaken = "url_taken",
    /// The body is larger than the limit.
    BodyTooLarge = "body_too_large",
    /// The operation does not read bodies of this type.
    UnsupportedMediaType = "unsupported_media_type",
    /// The client has sent too many requests, or has failed to sign in too often.
    TooManyRequests = "too_many_requests",
    /// The service is busy or shutting down, and nothing was changed.
    Overloaded = "overloaded",
    /// A setting is invalid.
    InvalidSetting = "invalid_setting",
    /// The service or its database failed.
    InternalError = "internal_error",
}

impl Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its condition.
    pub code: Code,
    /// The field or the parameter at fault, if there is one.
    pub field: Option<&'static str>,
    message: Message,
}

/// May name bounds, which are settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Text(&'static str),
    Id(Bounds),
    Password(Bounds),
    Nickname(Bounds),
    Scope(Scope),
    Line(u64, &'static str),
}

impl Problem {
    /// Returns a problem without a field. The message is a clause in lower case without a full stop, which says what was
    /// wrong or what to do.
    pub const fn new(code: Code, message: &'static str) -> Self {
        Self { code, field: None, message: Message::Text(message) }
    }

    /// Returns the problem of a field or a parameter that breaks its rule, which is the message.
    pub const fn invalid(field: &'static str, message: &'static str) -> Self {
        Self::new(Code::InvalidValue, message).of(field)
    }

    /// Returns the problem of a field that is missing.
    pub const fn missing(field: &'static str, message: &'static str) -> Self {
        Self::new(Code::MissingValue, message).of(field)
    }

    /// Returns the problem of an id that breaks its rule.
    pub const fn id(bounds: Bounds) -> Self {
        Self { code: Code::InvalidValue, field: Some("id"), message: Message::Id(bounds) }
    }

    /// Returns the problem of a password that breaks its rule.
    pub const fn password(field: &'static str, bounds: Bounds) -> Self {
        Self { code: Code::InvalidValue, field: Some(field), message: Message::Password(bounds) }
    }

    /// Returns the problem of a nickname that breaks its rule.
    pub const fn nickname(field: &'static str, bounds: Bounds) -> Self {
        Self { code: Code::InvalidValue, field: Some(field), message: Message::Nickname(bounds) }
    }

    /// Returns the problem of an API key or a member without this scope.
    pub const fn scope(scope: Scope) -> Self {
        Self { code: Code::MissingScope, field: None, message: Message::Scope(scope) }
    }

    /// Returns the problem of a line of a file.
    pub const fn line(code: Code, line: u64, message: &'static str) -> Self {
        Self { code, field: None, message: Message::Line(line, message) }
    }

    /// Returns the problem with the field at fault.
    #[must_use]
    pub const fn of(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    /// Returns what was wrong, or what to do about it.
    pub fn message(&self) -> Cow<'static, str> {
        match self.message {
            Message::Text(text) => text.into(),
            Message::Id(Bounds { min, max }) => format!(
                "an id has {min} to {max} ASCII letters, digits, _ - or ., and begins with a letter or a digit; guest and \
                 removed are nobody's"
            )
            .into(),
            Message::Password(Bounds { min, max }) => {
                format!("a password has {min} to {max} characters").into()
            }
            Message::Nickname(Bounds { min, max }) => {
                format!("a nickname has {min} to {max} visible characters on one line").into()
            }
            Message::Scope(scope) => format!("this needs an API key or a role with the scope {scope}").into(),
            Message::Line(line, text) => format!("line {line}: {text}").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_bounds_in_force() {
        let bounds = Bounds { min: 12, max: 64 };
        let password = Problem::password("new_pw", bounds);
        assert_eq!((password.code.as_str(), password.field), ("invalid_value", Some("new_pw")));
        assert_eq!(password.message(), "a password has 12 to 64 characters");
        assert_eq!(Problem::id(bounds).field, Some("id"));
        let nickname = Problem::nickname("new_nickname", bounds).message();
        assert_eq!(nickname, "a nickname has 12 to 64 visible characters on one line");
    }
}
