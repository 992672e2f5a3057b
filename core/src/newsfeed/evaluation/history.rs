//! The acts of members before and after a time in the past.

use super::super::recent::PastAct;
use crate::account::Operator;
use crate::base::clock::Timestamp;
use crate::profile::history::{self, Acts};
use crate::record::error::Result;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{Row, Store, StoreError};

/// The number of acts per page, so that no transaction delays the checkpoint of the log for long.
const PAGE: i64 = 20_000;

/// Reads all likes and views, the earliest first.
pub(super) fn all(store: &Store, _: Operator, progress: &mut dyn FnMut(f64)) -> Result<Vec<PastAct>> {
    let last: i64 = store.read(|tx| tx.one("SELECT coalesce(max(key), 0) FROM member", &[])?.take(0))?;
    let mut acts = Vec::new();
    for (done, table) in ["liked", "viewed"].into_iter().enumerate() {
        let mut after = (MemberKey::MIN, PostKey::MIN);
        loop {
            let sql = format!(
                "SELECT member, post, date FROM {table} WHERE (member, post) > ($1, $2) ORDER BY member, post LIMIT $3"
            );
            let page = store.read(|tx| {
                let mut page = Vec::new();
                tx.for_each(&sql, &[after.0.into(), after.1.into(), PAGE.into()], &mut |row| {
                    let (member, post, at) = (row.take(0)?, row.take(1)?, row.take(2)?);
                    page.push(PastAct { at, member, post, is_like: done == 0 });
                    Ok(())
                })?;
                Ok::<_, StoreError>(page)
            })?;
            let Some(PastAct { member, post, .. }) = page.last().copied() else { break };
            after = (member, post);
            #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
            progress(0.5 * (done as f64 + member.as_i64() as f64 / last.max(1) as f64));
            acts.extend(page);
        }
    }
    acts.sort_unstable_by_key(PastAct::order);
    Ok(acts)
}

/// Returns the time at or after which a fifth of all likes and views happened; `None` if there are no likes and views.
pub(super) fn fifth_from_last(store: &Store) -> Result<Option<Timestamp>> {
    store.read(|tx| {
        let count = "SELECT (SELECT count(*) FROM liked) + (SELECT count(*) FROM viewed)";
        let acts: i64 = tx.one(count, &[])?.take(0)?;
        // Both tables are sorted as one.
        let sql = "SELECT date FROM (SELECT date FROM liked UNION ALL SELECT date FROM viewed) AS act
                   ORDER BY date DESC LIMIT 1 OFFSET $1";
        let row = tx.row(sql, &[((acts / 5 - 1).max(0)).into()])?;
        Ok(row.map(|mut row| row.take(0)).transpose()?)
    })
}

/// The acts of a member before a time, and the posts that the member turned to from then on.
pub(super) struct Tested {
    pub(super) acts: Acts,
    /// The posts that the member had liked or viewed.
    pub(super) seen: Vec<PostKey>,
    /// The posts that the member liked or viewed from then on.
    pub(super) turned_to: Vec<PostKey>,
}

impl Tested {
    /// Reads the acts of a member before the time `at`, and those from then on and before `until`.
    pub(super) fn read(store: &Store, member: MemberKey, at: Timestamp, until: Timestamp) -> Result<Self> {
        store.read(|tx| {
            let acts = history::acts_before(tx, member, at)?;
            let mut posts = |from: Timestamp, until: Timestamp| -> Result<Vec<PostKey>, StoreError> {
                let sql = "SELECT post FROM liked WHERE member = $1 AND date >= $2 AND date < $3
                           UNION SELECT post FROM viewed WHERE member = $1 AND date >= $2 AND date < $3";
                let rows = tx.rows(sql, &[member.into(), from.into(), until.into()])?;
                rows.into_iter().map(|mut row: Row| row.take(0)).collect()
            };
            let (seen, turned_to) = (posts(Timestamp::MIN, at)?, posts(at, until)?);
            Ok(Self { acts, seen, turned_to })
        })
    }
}
