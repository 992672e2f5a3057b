//! Revisions grow also when a standby takes the place of the primary.

use super::super::StoreError;
use super::session::Session;

/// More than the transactions that a standby can lack, because transaction ids have 32 bits.
const STEP: i64 = 1 << 32;

/// Makes the revisions of a primary greater than all earlier ones. Runs on each new connection that writes, before its first
/// transaction.
///
/// A standby that was promoted may lack the last transactions of its primary, and uses their ids again. Caches of the servers may
/// have seen these transactions, and would take new changes for known ones.
pub(super) fn continue_revisions(session: &mut Session, timeline: u32) -> Result<(), StoreError> {
    let timeline = i64::from(timeline);
    let mut is_new = false;
    session.for_each("SELECT 1 FROM revision_base WHERE timeline <> $1", &[timeline.into()], &mut |_| {
        is_new = true;
        Ok(())
    })?;
    if is_new {
        // Of several servers one changes the row; the others wait for it, and find nothing to change.
        session.control("BEGIN")?;
        let sql = format!(
            "UPDATE revision_base SET base = base + CASE timeline WHEN 0 THEN 0 ELSE {STEP} END, timeline = $1
             WHERE timeline <> $1"
        );
        session.run(&sql, &[timeline.into()])?;
        session.commit()?;
    }
    Ok(())
}
