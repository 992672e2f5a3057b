//! HTTP caching: how long caches may use a response, and requests of clients that already have it.

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderValue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Can change at any time. A browser asks every time whether the data has changed, so that a page shows what was published
    /// just before. Shared caches, which only an operator puts before the server, answer for five seconds without asking, so that
    /// any number of readers is one request per five seconds. `stale-while-revalidate` would let browsers show old data.
    Data,
    /// A document or a file of the program changes only with the program or its settings.
    Document,
}

impl Content {
    pub(crate) const fn cache_control(self) -> HeaderValue {
        match self {
            Self::Data => {
                const { HeaderValue::from_static("public, max-age=0, s-maxage=5, must-revalidate") }
            }
            Self::Document => const { HeaderValue::from_static("public, max-age=300") },
        }
    }
}

/// The tags that a client has, for a response of another thread: the lines of `If-None-Match`, usually one. `None` if the
/// response has no tag.
#[derive(Debug)]
pub(crate) struct Condition(Option<Vec<HeaderValue>>);

pub(crate) enum Checked {
    Unchanged(HeaderValue),
    Changed(Option<HeaderValue>),
}

impl Condition {
    pub(crate) fn of(headers: &HeaderMap, is_tagged: bool) -> Self {
        Self(is_tagged.then(|| headers.get_all(IF_NONE_MATCH).iter().cloned().collect()))
    }

    /// The tag is copied: references to that of a shared answer would make processors wait for each other.
    pub(crate) fn check<T: AsRef<[u8]>>(&self, tag: impl FnOnce() -> T) -> Checked {
        let Some(lines) = &self.0 else { return Checked::Changed(None) };
        let tag = tag();
        let value = HeaderValue::from_bytes(tag.as_ref()).expect("a tag is ASCII");
        let is_known = lines.iter().any(|line| has_tag(line.as_bytes(), tag.as_ref()));
        if is_known { Checked::Unchanged(value) } else { Checked::Changed(Some(value)) }
    }
}

/// Uses weak comparison. A comma within another tag splits that tag into parts that are no tags.
/// Source: RFC 9110 sections 8.8.3.2 and 13.1.2.
fn has_tag(line: &[u8], tag: &[u8]) -> bool {
    let line = line.trim_ascii();
    line == tag
        || line == b"*"
        || line.split(|byte| *byte == b',').any(|one| opaque(one.trim_ascii()) == opaque(tag))
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests;
