//! The elements of lists of posts in the form in which they are sent, without the dates of the acts. Lists of all members copy
//! them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use super::TOKENS_SHOWN;
use super::records::{JsonList, PostRecord, TokenList};
use crate::base::clock::Timestamp;
use crate::base::lock::lock;
use crate::base::sized_lru::SizedLru;
use crate::record::id::PostKey;
use crate::store::{Row, StoreError, Tx, row_each};

/// The version of the texts of posts that a transaction sees completely, 0 for lists without posts; then the number of
/// periods since the cache was created after which it is renewed.
pub(super) type TextsVersion = (i64, u64);

/// In bytes.
const BYTES_MAX: usize = 32 << 20;
const RECORDS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("not zero");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    All,
    First,
}

/// A [`PostRecord`] as JSON without its date, and positions in the JSON.
#[derive(Debug)]
pub(super) struct Record {
    json: Box<[u8]>,
    shown: usize,
    tokens: usize,
    date: usize,
}

impl Record {
    fn new(mut post: PostRecord) -> Self {
        const TO_DATE: &str = r#"],"date":"#;
        let json = |post: &PostRecord| serde_json::to_string(post).expect("texts serialise without errors");
        // No text contains this, because quotes are escaped in texts.
        let end_of_tokens = |json: &str| json.find(TO_DATE).expect("the date follows the tokens");
        let all = json(&post);
        post.token.truncate(TOKENS_SHOWN);
        let (tokens, shown) = (end_of_tokens(&all), end_of_tokens(&json(&post)));
        let date = tokens + TO_DATE.len();
        let date_length = format!("\"{}\"", post.date).len();
        let json = [&all[..date], &all[date + date_length..]].concat().into_bytes().into();
        Self { json, shown, tokens, date }
    }

    pub(super) fn write(&self, list: &mut Vec<u8>, tokens: Tokens, date: Timestamp) {
        use std::io::Write as _;
        let before = if tokens == Tokens::All { self.tokens } else { self.shown };
        list.extend_from_slice(&self.json[..before]);
        list.extend_from_slice(&self.json[self.tokens..self.date]);
        write!(list, "\"{date}\"").expect("memory is written without errors");
        list.extend_from_slice(&self.json[self.date..]);
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.json.len()
    }
}

pub(super) struct RecordCache(Mutex<State>);

struct State {
    texts: TextsVersion,
    records: SizedLru<PostKey, Arc<Record>>,
}

impl Default for RecordCache {
    fn default() -> Self {
        Self(Mutex::new(State { texts: (0, 0), records: SizedLru::new(RECORDS_MAX, BYTES_MAX) }))
    }
}

impl RecordCache {
    /// `None` for a removed post. `texts` is the version of the texts of posts, if this transaction sees all of it.
    pub(super) fn of(
        &self,
        tx: &mut dyn Tx,
        texts: Option<TextsVersion>,
        posts: &[PostKey],
    ) -> Result<Vec<Option<Arc<Record>>>, StoreError> {
        let mut records = vec![None; posts.len()];
        if let Some(mut state) = texts.and_then(|texts| self.at_version(texts)) {
            records
                .iter_mut()
                .zip(posts)
                .for_each(|(record, post)| *record = state.records.get(post).cloned());
        }
        let missing: Vec<usize> = (0..posts.len()).filter(|at| records[*at].is_none()).collect();
        let keys: Vec<_> = missing.iter().map(|at| [posts[*at].into()]).collect();
        let sql = "SELECT id, topic, tag, token, date, title, url, img FROM post WHERE key = $1";
        for (at, row) in missing.iter().zip(row_each(tx, sql, &keys)?) {
            records[*at] = row.map(record).transpose()?.map(Arc::new);
        }
        if let Some(mut state) = texts.and_then(|texts| self.at_version(texts)) {
            for at in missing {
                let Some(record) = &records[at] else { continue };
                state.records.put(posts[at], Arc::clone(record), record.size());
            }
        }
        Ok(records)
    }

    /// Clears the records of an earlier version; returns `None` if a later version is known.
    fn at_version(&self, texts: TextsVersion) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.0);
        if state.texts < texts {
            state.texts = texts;
            state.records.clear();
        }
        (state.texts == texts).then_some(state)
    }
}

fn record(mut row: Row) -> Result<Record, StoreError> {
    Ok(Record::new(PostRecord {
        id: row.take(0)?,
        topic: JsonList(row.take(1)?),
        tag: JsonList(row.take(2)?),
        token: TokenList(row.take(3)?),
        date: Timestamp::default(),
        post_date: row.take(4)?,
        title: row.take(5)?,
        url: row.take(6)?,
        img: i64::from(!row.take::<String>(7)?.is_empty()),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_with_a_date_is_that_of_the_post(
            title in r#"[a"\\,:\]가]{0,12}|.{0,20}"#,
            words in prop::collection::vec("[a-z]{1,3}|date|가나", 0..70),
            date in 0_i64..4_000_000_000_000,
            tokens in prop_oneof![Just(Tokens::All), Just(Tokens::First)],
        ) {
            let post = |date| PostRecord {
                id: "6560c1a2ffeeddccbbaa0001".into(),
                topic: JsonList(serde_json::to_string(&[&title]).unwrap()),
                tag: JsonList("[]".into()),
                token: TokenList(words.join(" ")),
                date,
                post_date: Timestamp::from_millis(1),
                url: title.clone(),
                title: title.clone(),
                img: 1,
            };
            let date = Timestamp::from_millis(date);
            let mut expected = post(date);
            if tokens == Tokens::First {
                expected.token.truncate(TOKENS_SHOWN);
            }
            let mut written = Vec::new();
            Record::new(post(Timestamp::default())).write(&mut written, tokens, date);
            prop_assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&expected).unwrap());
        }
    }
}
