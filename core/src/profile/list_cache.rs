//! The answers with lists of a member: encoded from the records of posts, and kept while nothing in them changes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::history;
use super::listed::Listed;
use super::record_cache::{RecordCache, TextsVersion};
use crate::account::Member;
use crate::base::keyed::OwnSet;
use crate::base::lock::lock;
use crate::base::sized_lru::SizedLru;
use crate::record::answer::Encoded;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{StoreError, Topic, Tx, complete_version_in};

/// In bytes.
const BYTES_MAX: usize = 32 << 20;
/// Answers and records are renewed after this time: a program of an earlier version, which serves the same database during an
/// upgrade, does not tell that it has changed or removed posts.
const RENEWED: Duration = Duration::from_secs(10 * 60);
/// Most answers are short.
const ANSWERS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");
/// In bytes, of the sets of liked posts.
const LIKED_BYTES_MAX: usize = 8 << 20;
/// A member's liked posts are not cached if there are more.
const LIKED_MAX: usize = 1_024;
/// The approximate size of such a set without its posts, in bytes.
const LIKED_BYTES: usize = 160;

pub(crate) struct ListCache {
    records: RecordCache,
    answers: Mutex<SizedLru<AnswerKey, CachedAnswer>>,
    liked: Mutex<SizedLru<MemberKey, LikedAt>>,
    began: Instant,
}

type AnswerKey = (MemberKey, Box<[Listed]>);

struct CachedAnswer {
    versions: AnswerVersions,
    /// The answer with empty lists.
    frame: Vec<u8>,
    encoded: Arc<Encoded>,
}

/// The revision of the member's acts, and the posts that the member likes, if they are not too many.
type LikedAt = (i64, Option<Arc<OwnSet<PostKey>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerVersions {
    /// 0 without acts. A late commit changes it too; it may become smaller.
    acts: i64,
    texts: Option<TextsVersion>,
}

impl Default for ListCache {
    fn default() -> Self {
        Self {
            records: RecordCache::default(),
            answers: Mutex::new(SizedLru::new(ANSWERS_MAX, BYTES_MAX)),
            liked: Mutex::new(SizedLru::new(ANSWERS_MAX, LIKED_BYTES_MAX)),
            began: Instant::now(),
        }
    }
}

impl ListCache {
    /// `acts` are the revisions of the acts of the members.
    pub(crate) fn versions(
        &self,
        tx: &mut dyn Tx,
        acts: Vec<i64>,
        lists: &[Listed],
    ) -> Result<Vec<AnswerVersions>, StoreError> {
        let needs_texts = acts.iter().any(|acts| *acts > 0) && lists.iter().any(|list| list.has_posts());
        let texts = if needs_texts { complete_version_in(tx, Topic::PostTexts)? } else { Some(0) };
        let texts = texts.map(|texts| (texts, self.began.elapsed().as_secs() / RENEWED.as_secs()));
        Ok(acts.into_iter().map(|acts| AnswerVersions { acts, texts }).collect())
    }

    /// `frame` is the JSON object of the answer with empty lists.
    pub(crate) fn answer(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        versions: AnswerVersions,
        frame: Vec<u8>,
        lists: &[Listed],
    ) -> Result<Arc<Encoded>, StoreError> {
        let key = (member.key, lists.into());
        if let Some(answer) = lock(&self.answers).get(&key)
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
            let bytes = encoded.json().len() + frame.len() + size_of::<CachedAnswer>();
            let answer = CachedAnswer { versions, frame, encoded: Arc::clone(&encoded) };
            lock(&self.answers).put(key, answer, bytes);
        }
        Ok(encoded)
    }

    /// For a member whose versions are not known.
    pub(crate) fn of_member(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        frame: Vec<u8>,
        lists: &[Listed],
    ) -> Result<Arc<Encoded>, StoreError> {
        let acts = history::acts_revisions(tx, &[member])?;
        let versions = self.versions(tx, acts, lists)?.pop();
        let versions = versions.ok_or_else(|| StoreError::other("a member has no versions"))?;
        self.answer(tx, member, versions, frame, lists)
    }

    /// `None` if they are too many to cache.
    pub(crate) fn liked(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
    ) -> Result<Option<Arc<OwnSet<PostKey>>>, StoreError> {
        let acts = history::acts_revisions(tx, &[member])?.pop().unwrap_or_default();
        if let Some((_, liked)) = lock(&self.liked).get(&member.key).filter(|(then, _)| *then == acts) {
            return Ok(liked.clone());
        }
        let liked = history::all_liked(tx, member, LIKED_MAX)?.map(Arc::new);
        let posts = liked.as_ref().map_or(0, |liked| liked.capacity());
        let bytes = LIKED_BYTES + posts * (size_of::<PostKey>() + 1);
        lock(&self.liked).put(member.key, (acts, liked.clone()), bytes);
        Ok(liked)
    }
}

#[cfg(test)]
mod tests;
