//! The acts of members before and after a time in the past.

use crate::account::Operator;
use crate::clock::Timestamp;
use crate::config::Feed;
use crate::error::Result;
use crate::id::{MemberKey, PostKey};
use crate::keyed::{OwnMap, OwnSet};
use crate::post::heat::{Decay, VIEW_WEIGHT};
use crate::profile::history::{self, Acts};
use crate::store::{Row, Store, StoreError, Tx};

/// The number of acts per page, so that no transaction delays the checkpoint of the log for long.
const PAGE: i64 = 20_000;

/// The tables of acts on posts.
const TABLES: [&str; 2] = ["liked", "viewed"];

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

/// A summary of the acts of all members before the split.
pub(super) struct PastActs {
    /// The heat of each post.
    pub(super) heats: OwnMap<PostKey, f64>,
    /// The members with acts on posts after the split, by key.
    pub(super) tested: Vec<Asked>,
}

/// A member whose feed is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) key: MemberKey,
    /// Interest counts acts from this time on.
    measured: Timestamp,
}

impl PastActs {
    /// Reads all likes and views, and splits them at the time `at`.
    pub(super) fn read(
        store: &Store,
        operator: Operator,
        at: Timestamp,
        config: &Feed,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self> {
        let decay = Decay::new(config.popular_half_life_days);
        let last: i64 = store.read(|tx| tx.one("SELECT coalesce(max(key), 0) FROM member", &[])?.take(0))?;
        let mut heats: OwnMap<PostKey, f64> = OwnMap::default();
        let mut tested: OwnSet<MemberKey> = OwnSet::default();
        for (table, (name, weight)) in TABLES.iter().zip([config.like_weight, VIEW_WEIGHT]).enumerate() {
            let mut after = (MemberKey::MIN, PostKey::MIN);
            loop {
                let page = store.read(|tx| acts_after(tx, operator, name, after))?;
                let Some((member, post, _)) = page.last().copied() else { break };
                after = (member, post);
                for (member, post, date) in page {
                    if date >= at {
                        tested.insert(member);
                    } else if let Some(heat) = decay.add(heats.get(&post).copied(), weight, date) {
                        heats.insert(post, heat);
                    }
                }
                #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
                progress((table as f64 + member.as_i64() as f64 / last.max(1) as f64) / TABLES.len() as f64);
            }
        }
        let mut keys: Vec<MemberKey> = tested.into_iter().collect();
        keys.sort_unstable();
        let asked = |key: MemberKey| -> Result<Option<Asked>> {
            let row =
                store.read(|tx| tx.row("SELECT measured_since FROM member WHERE key = $1", &[key.into()]))?;
            // Members who have been removed in the meantime are skipped.
            Ok(row.map(|mut row| row.take(0).map(|measured| Asked { key, measured })).transpose()?)
        };
        let tested = keys.into_iter().filter_map(|key| asked(key).transpose()).collect::<Result<_>>()?;
        Ok(Self { heats, tested })
    }
}

/// Returns the next page of a table of acts: member, post and date.
fn acts_after(
    tx: &mut dyn Tx,
    _: Operator,
    table: &str,
    after: (MemberKey, PostKey),
) -> Result<Vec<(MemberKey, PostKey, Timestamp)>, StoreError> {
    let sql = format!(
        "SELECT member, post, date FROM {table} WHERE (member, post) > ($1, $2) ORDER BY member, post LIMIT $3"
    );
    let rows = tx.rows(&sql, &[after.0.into(), after.1.into(), PAGE.into()])?;
    rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?, row.take(2)?))).collect()
}

/// The acts of a member before and after the split.
pub(super) struct Tested {
    pub(super) acts: Acts,
    /// The posts that the member had liked or viewed.
    pub(super) seen: Vec<PostKey>,
    /// The posts that the member liked or viewed later.
    pub(super) turned_to: Vec<PostKey>,
}

impl Tested {
    /// Reads the acts of a member, and splits them at the time `at`.
    pub(super) fn read(store: &Store, operator: Operator, member: Asked, at: Timestamp) -> Result<Self> {
        store.read(|tx| {
            let acts = history::acts_before(tx, operator, member.key, member.measured, at)?;
            let mut posts = |when: &str| -> Result<Vec<PostKey>, StoreError> {
                let sql = format!(
                    "SELECT post FROM liked WHERE member = $1 AND date {when} $2
                     UNION SELECT post FROM viewed WHERE member = $1 AND date {when} $2"
                );
                let rows = tx.rows(&sql, &[member.key.into(), at.into()])?;
                rows.into_iter().map(|mut row: Row| row.take(0)).collect()
            };
            let (seen, turned_to) = (posts("<")?, posts(">=")?);
            Ok(Self { acts, seen, turned_to })
        })
    }
}
