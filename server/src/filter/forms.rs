//! The forms of an answer that is sent many times: compressed ones, a page, and the tag. They are stored with the answer.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use siphasher::sip128::SipHasher13;
use tidings_core::answer::Encoded;

#[derive(Default)]
pub(crate) struct Kept {
    gzip: OnceLock<Bytes>,
    brotli: OnceLock<Bytes>,
    /// The number of calls of [`Forms::claim_brotli`], up to [`CLAIMED`].
    claims: AtomicU8,
    tag: OnceLock<Bytes>,
    page: OnceLock<Arc<Encoded>>,
}

/// The last of this many calls of [`Forms::claim_brotli`] computes the Brotli form.
const CLAIMED: u8 = 2;

pub(crate) trait Forms {
    fn kept(&self) -> &Kept;

    /// The [`tag`] of the JSON object also identifies its compressed forms. Computed only the first time.
    fn tag(&self) -> &Bytes;

    fn page(&self, render: impl FnOnce() -> String) -> &Arc<Encoded> {
        self.kept().page.get_or_init(|| Arc::new(Encoded::new(render())))
    }

    /// `None` before [`Forms::compress`].
    fn gzip(&self) -> Option<&Bytes> {
        self.kept().gzip.get()
    }

    fn compress(&self, compress: impl FnOnce(&[u8]) -> Bytes) -> &Bytes;

    /// The Brotli form is smaller than [`Forms::gzip`] and takes much longer to compute; `None` until [`Forms::set_brotli`].
    fn brotli(&self) -> Option<&Bytes> {
        self.kept().brotli.get()
    }

    /// Does nothing if the form is set: a second form has the same content.
    fn set_brotli(&self, brotli: Bytes) {
        let _ = self.kept().brotli.set(brotli);
    }

    /// Returns `true` for exactly one caller, which has to compute the Brotli form: the second, because the Brotli form of an
    /// answer that is sent once would never be used.
    fn claim_brotli(&self) -> bool {
        let claim = |claims: u8| (claims < CLAIMED).then_some(claims + 1);
        let claims = self.kept().claims.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim);
        claims.is_ok_and(|claims| claims + 1 == CLAIMED)
    }

    fn release_brotli(&self) {
        self.kept().claims.store(CLAIMED - 1, Ordering::Relaxed);
    }
}

impl Forms for Encoded {
    fn kept(&self) -> &Kept {
        self.forms()
    }

    fn tag(&self) -> &Bytes {
        self.kept().tag.get_or_init(|| tag(self.json()))
    }

    fn compress(&self, compress: impl FnOnce(&[u8]) -> Bytes) -> &Bytes {
        self.kept().gzip.get_or_init(|| compress(self.json()))
    }
}

/// Returns the value of the HTTP header `ETag`, which depends only on the content: it stays the same after a restart and on other
/// servers. It is weak, because the content has the same tag whether it is compressed or not. Source: RFC 9110 section 8.8.3.
pub(crate) fn tag(content: &[u8]) -> Bytes {
    let hash = SipHasher13::new().hash(content);
    format!("W/\"{:016x}{:016x}\"", hash.h1, hash.h2).into()
}

#[cfg(test)]
mod tests {
    use tidings_core::answer;

    use super::*;

    #[test]
    fn a_tag_depends_only_on_the_content() {
        let answer = Encoded::new(answer::success(&()));
        assert_eq!(&answer.tag()[..], br#"W/"4c3282b53cd7086b89a5f8d918591504""#);
        assert_eq!(*answer.tag(), tag(&answer::success(&())));
        assert_ne!(*answer.tag(), tag(b"other"));
    }

    #[test]
    fn the_dense_form_is_the_task_of_the_second_caller_only() {
        let answer = Encoded::new(answer::success(&()));
        let claims = || [(); 4].map(|()| answer.claim_brotli());
        assert_eq!(claims(), [false, true, false, false]);
        answer.release_brotli();
        assert_eq!(claims(), [true, false, false, false]);
    }
}
