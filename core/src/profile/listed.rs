use std::cmp::Reverse;

use super::LIST_MAX;
use super::history::{self, LISTED};
use super::record_cache::{RecordCache, TextsVersion, Tokens};
use super::records::{JsonList, NewsfeedAccess};
use crate::account::Member;
use crate::base::clock::Timestamp;
use crate::record::answer;
use crate::record::id::PostKey;
use crate::store::{Row, StoreError, Tx};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listed {
    /// With their first tokens, as in the member's information.
    Favourites,
    Liked,
    Viewed,
    Searched,
    /// The newest, at most this number.
    LatelySearched(i64),
    Opened,
}

impl Listed {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Favourites => "user_fav_list",
            Self::Liked => "fav_list",
            Self::Viewed => "view_list",
            Self::Searched => "search_list",
            Self::LatelySearched(_) => "lately_search_list",
            Self::Opened => "newsfeed_list",
        }
    }

    pub(super) const fn has_posts(self) -> bool {
        matches!(self, Self::Favourites | Self::Liked | Self::Viewed)
    }

    /// Newest first. `texts` is the version of the texts of posts, if this transaction sees all of it.
    pub(super) fn write(
        self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        records: &RecordCache,
        texts: Option<TextsVersion>,
        json: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let (acts, tokens): (Acts, _) = match self {
            Self::Favourites => (liked, Tokens::First),
            Self::Liked => (liked, Tokens::All),
            Self::Viewed => (viewed, Tokens::All),
            Self::Searched => return searches(tx, member, LIST_MAX, json),
            Self::LatelySearched(limit) => return searches(tx, member, limit, json),
            Self::Opened => {
                answer::elements(json, &opened(tx, member)?);
                return Ok(());
            }
        };
        // Removed posts leave acts behind, so that more are needed where the member acted on one.
        let mut limit = LIST_MAX;
        loop {
            let acts = acts(tx, member, limit)?;
            let posts: Vec<PostKey> = acts.iter().map(|(post, _)| *post).collect();
            let found = records.of(tx, texts, &posts)?;
            let is_all = i64::try_from(acts.len()).is_ok_and(|count| count < limit);
            if !is_all && found.iter().flatten().count() < LISTED {
                limit *= 2;
                continue;
            }
            let mut is_first = true;
            let found =
                found.iter().zip(acts).filter_map(|(record, (_, date))| Some((record.as_ref()?, date)));
            for (record, date) in found.take(LISTED) {
                if !std::mem::take(&mut is_first) {
                    json.push(b',');
                }
                record.write(json, tokens, date);
            }
            return Ok(());
        }
    }
}

/// Reads at most the given number of acts, the newest first.
type Acts = fn(&mut dyn Tx, &Member<'_>, i64) -> Result<Vec<(PostKey, Timestamp)>, StoreError>;

fn liked(tx: &mut dyn Tx, member: &Member<'_>, limit: i64) -> Result<Vec<(PostKey, Timestamp)>, StoreError> {
    // SQLite would sort the rows of the view `liked`.
    let mut liked = acts(tx, "settled_like", NEWEST, member, limit)?;
    let recent = acts(tx, "recent_like", "LIMIT $2", member, i64::MAX)?;
    if !recent.is_empty() {
        liked.extend(recent);
        liked.sort_unstable_by_key(|(post, date)| Reverse((*date, *post)));
        liked.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(liked)
}

fn viewed(tx: &mut dyn Tx, member: &Member<'_>, limit: i64) -> Result<Vec<(PostKey, Timestamp)>, StoreError> {
    acts(tx, "viewed", NEWEST, member, limit)
}

const NEWEST: &str = "ORDER BY date DESC, post DESC LIMIT $2";

fn acts(
    tx: &mut dyn Tx,
    table: &str,
    order: &str,
    member: &Member<'_>,
    limit: i64,
) -> Result<Vec<(PostKey, Timestamp)>, StoreError> {
    let sql = format!("SELECT post, date FROM {table} WHERE member = $1 {order}");
    let mut acts = Vec::new();
    tx.for_each(&sql, &[member.key.into(), limit.into()], &mut |row| {
        acts.push((row.take(0)?, row.take(1)?));
        Ok(())
    })?;
    Ok(acts)
}

fn searches(tx: &mut dyn Tx, member: &Member<'_>, limit: i64, json: &mut Vec<u8>) -> Result<(), StoreError> {
    answer::elements(json, &history::recent_searches(tx, member, limit)?);
    Ok(())
}

fn opened(tx: &mut dyn Tx, member: &Member<'_>) -> Result<Vec<NewsfeedAccess>, StoreError> {
    let sql = "SELECT newsfeed, tag, date FROM opened
               WHERE member = $1 ORDER BY date DESC, key DESC LIMIT $2";
    let rows = tx.rows(sql, &[member.key.into(), LIST_MAX.into()])?;
    let access = |mut row: Row| {
        let (newsfeed_name, tag) = (row.take(0)?, JsonList(row.take(1)?));
        Ok(NewsfeedAccess { newsfeed_name, tag, date: row.take(2)? })
    };
    rows.into_iter().map(access).collect()
}
