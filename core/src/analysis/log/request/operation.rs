//! The operations of the service, as the log shows them.

use std::borrow::Cow;

use super::NAMED_SEGMENT;

/// In bytes.
const PATH_MAX: usize = 300;

/// The path in the log of requests to paths without an operation, so that these have few rows. No request has this path, because
/// a percent-encoded path has no blank.
const UNKNOWN_PATH: &str = "unknown path";

const SESSION: &str = "{session_obi}";

/// An operation of the service: a method and a path template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    pub(in crate::analysis::log) method: &'static str,
    pub(in crate::analysis::log) template: &'static str,
    varies: bool,
    /// The first parameter is a member's id.
    pub(super) names: bool,
}

impl Operation {
    /// Creates an operation from a method and a path template, for example `/get_log_user/{user_id}/{limit}`. If the
    /// first parameter is called `{user_id}`, it is a member's id.
    pub fn new(method: &str, template: &'static str) -> Self {
        let names = template.split('/').nth(NAMED_SEGMENT) == Some("{user_id}");
        let is_varying = |segment: &str| segment.starts_with('{') && segment != SESSION;
        Self { method: method_text(method), template, varies: template.split('/').any(is_varying), names }
    }

    /// Returns what the log shows for a request whose path has no operation: a method and `unknown path`. Such a request
    /// is no communication, so it is not counted.
    pub fn unknown(method: &str) -> Self {
        Self::new(method, UNKNOWN_PATH)
    }

    pub(in crate::analysis) fn is_counted(self) -> bool {
        self.template != UNKNOWN_PATH
    }

    /// Returns the operation with a different method.
    #[must_use]
    pub fn by(self, method: &str) -> Self {
        Self { method: method_text(method), ..self }
    }

    /// The id of a session would outlast the session and its member in the log.
    fn without_session(self, path: &str) -> Cow<'_, str> {
        if !self.template.contains(SESSION) {
            return Cow::Borrowed(path);
        }
        let segments = path.split('/').zip(self.template.split('/'));
        let segments = segments.map(|(given, template)| if template == SESSION { SESSION } else { given });
        Cow::Owned(segments.collect::<Vec<_>>().join("/"))
    }

    /// `None` if the path equals the template.
    pub(in crate::analysis) fn varying(self, path: &str) -> Option<Box<str>> {
        self.varies.then(|| {
            let path = self.without_session(path);
            let mut end = path.len().min(PATH_MAX);
            while !path.is_char_boundary(end) {
                end -= 1;
            }
            path[..end].into()
        })
    }
}

/// `other` for a method that HTTP does not define, which a client may have made up.
fn method_text(method: &str) -> &'static str {
    let known = ["GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|known| *known == method).unwrap_or("other")
}
