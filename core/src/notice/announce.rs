//! Tells webhooks about notices. A notice is announced once: when guests see it for the first time, on the general page or on that
//! of a topic. The column `announced` remembers that, so that hiding and showing it, or another server, does not announce it
//! again. A notice that begins later is announced by the thread of the webhooks, or by the next change of a notice after that.

use super::{FullNotice, sql};
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::store::{StoreError, Topic, Tx};
use crate::webhook::outbox::{self, Event};

/// Selects the notices that guests see at the time $1, or will see from `visible_from` on.
const UNANNOUNCED: &str =
    "announced = 0 AND activation = 1 AND members_only = 0 AND (visible_until IS NULL OR visible_until > $1)";

/// The transaction must run alone. Without webhooks it does nothing: adding one marks the notices of that time
/// ([`mark_announced`]).
pub(crate) fn announce(tx: &mut dyn Tx, now: Timestamp) -> Result<()> {
    if !outbox::has_webhooks(tx)? {
        return Ok(());
    }
    let clause = format!("WHERE {UNANNOUNCED} AND (visible_from IS NULL OR visible_from <= $1) ORDER BY key");
    for (notice, placement) in sql::select(tx, &clause, &[now.into()])? {
        let id = notice.id.to_string();
        let body = outbox::body(Event::NoticePublished.name(), now, &FullNotice { notice, placement })?;
        outbox::enqueue(tx, Event::NoticePublished, &id, Some(&body), now)?;
    }
    mark_announced(tx, now)?;
    // The thread has to know when the next one begins.
    tx.touch(Topic::Webhooks);
    Ok(())
}

pub(crate) fn mark_announced(tx: &mut dyn Tx, now: Timestamp) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE notice SET announced = 1 WHERE {UNANNOUNCED} AND (visible_from IS NULL OR visible_from <= $1)"
    );
    tx.run(&sql, &[now.into()]).map(drop)
}

/// Returns the time from which guests see the next unannounced notice. It may have passed.
pub(crate) fn next_announcement(tx: &mut dyn Tx, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let sql = format!("SELECT min(coalesce(visible_from, date)) FROM notice WHERE {UNANNOUNCED}");
    tx.one(&sql, &[now.into()])?.take(0)
}
