//! The answers with lists of a member: encoded from the records of posts, and kept while nothing in them changes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::history;
use super::listed::Listed;
use super::record_cache::RecordCache;
use crate::account::Member;
use crate::base::keyed::OwnSet;
use crate::base::sized_lru::SizedLru;
use crate::record::answer::Encoded;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{StoreError, Topic, Tx, complete_version_in};

/// The maximum size of the answers in bytes.
const BYTES_MAX: usize = 32 << 20;
/// The maximum number of answers, most of which are short.
const ANSWERS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");
/// The maximum size of the sets of liked posts in bytes.
const LIKED_BYTES_MAX: usize = 8 << 20;
/// The maximum number of liked posts of a member that are kept.
const LIKED_MAX: usize = 1_024;
/// The size of such a set without its posts, approximately.
const LIKED_BYTES: usize = 160;

/// The versions of what the answers to a member are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// The revision of the member's acts, 0 without any. A late commit changes it too; it may become smaller.
    acts: i64,
    /// The version of the texts of posts, if the transaction sees all of it; 0 for lists that have no posts.
    texts: Option<i64>,
}

impl Versions {
    /// Returns the versions for each of the members whose acts have these revisions.
    pub(crate) fn of(tx: &mut dyn Tx, acts: Vec<i64>, lists: &[Listed]) -> Result<Vec<Self>, StoreError> {
        let have_posts = acts.iter().any(|acts| *acts > 0) && lists.iter().any(|list| list.has_posts());
        let texts = if have_posts { complete_version_in(tx, Topic::PostTexts)? } else { Some(0) };
        Ok(acts.into_iter().map(|acts| Self { acts, texts }).collect())
    }
}

/// The answers to members that were made last.
#[derive(Default)]
pub(crate) struct ListCache {
    records: RecordCache,
    answers: Answers,
    liked: Liked,
}

struct Answers(Mutex<SizedLru<(MemberKey, Lists), Answer>>);

/// The lists of an answer.
type Lists = Box<[Listed]>;

struct Answer {
    versions: Versions,
    /// The answer with empty lists.
    frame: Vec<u8>,
    encoded: Arc<Encoded>,
}

impl Default for Answers {
    fn default() -> Self {
        Self(Mutex::new(SizedLru::new(ANSWERS_MAX, BYTES_MAX)))
    }
}

/// The liked posts of members.
struct Liked(Mutex<SizedLru<MemberKey, LikedAt>>);

/// The posts that a member likes, and the revision of the member's acts.
type LikedAt = (i64, Arc<OwnSet<PostKey>>);

impl Default for Liked {
    fn default() -> Self {
        Self(Mutex::new(SizedLru::new(ANSWERS_MAX, LIKED_BYTES_MAX)))
    }
}

impl ListCache {
    /// Returns an answer to a member: `frame`, the JSON object with empty lists, in which the `lists` take their places.
    ///
    /// # Errors
    /// An error of the store.
    pub(crate) fn answer(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        versions: Versions,
        frame: Vec<u8>,
        lists: &[Listed],
    ) -> Result<Arc<Encoded>, StoreError> {
        let key = (member.key, lists.into());
        if let Some(answer) = lock(&self.answers.0).get(&key)
            && answer.versions == versions
            && answer.frame == frame
        {
            return Ok(Arc::clone(&answer.encoded));
        }
        let (mut json, mut rest) = (Vec::new(), &frame[..]);
        for list in lists {
            let empty = format!("\"{}\":[]", list.name());
            // No text contains this, because quotes are escaped in texts.
            let at = rest.windows(empty.len()).position(|part| part == empty.as_bytes());
            let at = at.expect("the object has the list") + empty.len() - 1;
            json.extend_from_slice(&rest[..at]);
            list.write(tx, member, &self.records, versions.texts, &mut json)?;
            rest = &rest[at..];
        }
        json.extend_from_slice(rest);
        json.shrink_to_fit();
        let encoded = Arc::new(Encoded::new(json));
        if versions.texts.is_some() {
            let bytes = encoded.json().len() + frame.len() + size_of::<Answer>();
            let answer = Answer { versions, frame, encoded: Arc::clone(&encoded) };
            lock(&self.answers.0).put(key, answer, bytes);
        }
        Ok(encoded)
    }

    /// Does the same as [`ListCache::answer`] for a member whose versions are not known.
    ///
    /// # Errors
    /// An error of the store.
    pub(crate) fn of_member(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        frame: Vec<u8>,
        lists: &[Listed],
    ) -> Result<Arc<Encoded>, StoreError> {
        let acts = history::acts_revisions(tx, &[member])?;
        let versions = Versions::of(tx, acts, lists)?.pop();
        let versions = versions.ok_or_else(|| StoreError::other("a member has no versions"))?;
        self.answer(tx, member, versions, frame, lists)
    }

    /// Returns the posts that a member likes; `None` if they are too many to keep.
    ///
    /// # Errors
    /// An error of the store.
    pub(crate) fn liked(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
    ) -> Result<Option<Arc<OwnSet<PostKey>>>, StoreError> {
        let acts = history::acts_revisions(tx, &[member])?.pop().unwrap_or_default();
        if let Some((_, liked)) = lock(&self.liked.0).get(&member.key).filter(|(then, _)| *then == acts) {
            return Ok(Some(Arc::clone(liked)));
        }
        let Some(liked) = history::all_liked(tx, member, LIKED_MAX)? else { return Ok(None) };
        let bytes = LIKED_BYTES + liked.capacity() * (size_of::<PostKey>() + 1);
        let liked = Arc::new(liked);
        lock(&self.liked.0).put(member.key, (acts, Arc::clone(&liked)), bytes);
        Ok(Some(liked))
    }
}

fn lock<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
