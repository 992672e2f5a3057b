//! The sessions of members: where they are signed in, and signing out one of them. Each sign-in inserts a session, and its token
//! names it. The look-up of a token's member also looks its session up, so a session that was signed out fails in the next
//! request. The last use of a session is written at most once an hour.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::credential::code;
use super::device::Device;
use super::places::Places;

use crate::Tidings;
use crate::account::{Identity, Member, Transaction};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::record::error::{Error, Result};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::operation::{Access, Failure, Spec};
use crate::record::schema::Switch;
use crate::store::{Isolation, StoreError, Tx};

#[cfg(test)]
mod tests;

/// The maximum number of sessions of a member. A further sign-in signs out the one that was used least recently.
pub const SESSIONS_MAX: usize = 1_000;
const SEEN_MS: i64 = 60 * 60 * SECOND_MS;
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(16_384).expect("not zero");

/// The sessions of a member.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    /// At most 1,000 sessions, the one that was used last first.
    pub sessions: Vec<Session>,
}

/// A place where a member is signed in.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The family of the program and its system, such as `Firefox on Linux`; `unknown` if the client did not tell.
    #[schema(max_length = 100, examples("Firefox on Linux"))]
    pub device: String,
    /// The date of the sign-in.
    pub date: Timestamp,
    /// The time of the latest request, up to an hour late.
    pub last_seen: Timestamp,
    /// 1 if it is the session of this request, otherwise 0.
    #[schema(value_type = Switch)]
    pub current: u8,
}

/// Sign out everywhere
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SignOutAll {}

impl Transaction for SignOutAll {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get("account", "/sign_out_all", Access::Members).writes();

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<()> {
        Ok(super::sign_out(tx, member)?)
    }
}

/// List the member's sessions
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListSessions {}

impl Transaction for ListSessions {
    type By = Member<'static>;
    type Answer = Sessions;
    const SPEC: Spec = Spec::get("account", "/get_sessions", Access::Members);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, identity: &Identity) -> Result<Sessions> {
        Ok(Sessions { sessions: sql::list(tx, member.key, identity.session(), identity.now())? })
    }
}

/// Sign out one session
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOutSession {
    /// The id of the session
    #[schema(value_type = ObjectId)]
    pub session_obi: String,
}

impl Transaction for SignOutSession {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get("account", "/sign_out_session/{session_obi}", Access::Members)
        .writes()
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, identity: &Identity) -> Result<()> {
        let session = self.session_obi.to_ascii_lowercase();
        let is_ended = end_one(tx, member.key, &session, identity.session())?;
        if is_ended { Ok(()) } else { Err(Error::NotFound) }
    }
}

pub(super) struct NewSession {
    pub(super) id: ObjectId,
    pub(super) device: Device,
    pub(super) at: Timestamp,
    pub(super) expires: Timestamp,
    /// `None` for this machine.
    pub(super) places: Option<Places>,
    pub(super) by_issuer: bool,
}

impl NewSession {
    /// Has no effect if the member's tokens have been revoked since the generation was read. Ends the sessions beyond the maximum
    /// that were used least recently. `gave_code` tells whether the member gave a code of the second factor. Locks only sessions
    /// and places of the member, which two sign-ins of the member lock in the same order.
    pub(super) fn insert(
        &self,
        tx: &mut dyn Tx,
        member: MemberKey,
        generation: i64,
        gave_code: bool,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO session (id, member, device, date, last_seen, expires, otp, by_issuer)
                   SELECT CAST($3 AS TEXT), key, CAST($4 AS TEXT), CAST($5 AS BIGINT), CAST($5 AS BIGINT),
                          CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT)
                   FROM member WHERE key = $1 AND generation = $2";
        let id = self.id.to_string();
        let args = [
            member.into(),
            generation.into(),
            (&id).into(),
            self.device.name().into(),
            self.at.into(),
            self.expires.into(),
            gave_code.then_some(self.at).into(),
            i64::from(self.by_issuer).into(),
        ];
        tx.run(sql, &args)?;
        let sql = "DELETE FROM session WHERE id IN (
                       SELECT id FROM session WHERE member = $1 AND expires > $2
                       ORDER BY last_seen DESC, date DESC, id DESC LIMIT 100 OFFSET $3)";
        let most = i64::try_from(SESSIONS_MAX).unwrap_or(i64::MAX);
        tx.run(sql, &[member.into(), self.at.into(), most.into()])?;
        if let Some(places) = &self.places {
            places.insert(tx, member, generation, self.at)?;
        }
        Ok(())
    }
}

/// For a member whose second factor changes: ends all sessions except `current`, of which `gave_code` is recorded, and withdraws
/// what is pending for the member.
pub(super) fn end_others(
    tx: &mut dyn Tx,
    member: MemberKey,
    current: Option<&str>,
    gave_code: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let current = current.unwrap_or_default();
    tx.run("DELETE FROM session WHERE member = $1 AND id <> $2", &[member.into(), current.into()])?;
    tx.run("UPDATE session SET otp = $2 WHERE member = $1", &[member.into(), gave_code.into()])?;
    code::withdraw(tx, Some(member))?;
    // This revokes tokens without a session too.
    tx.run("UPDATE member SET sessions_from = $2 WHERE key = $1", &[member.into(), now.into()]).map(drop)
}

/// Returns false if the member has no such session. Unless it is the session `current`, another person may have been signed in,
/// so what is pending for the member is withdrawn.
pub(crate) fn end_one(
    tx: &mut dyn Tx,
    member: MemberKey,
    id: &str,
    current: Option<&str>,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM session WHERE id = $1 AND member = $2";
    let is_ended = tx.run(sql, &[id.into(), member.into()])? > 0;
    if is_ended && current != Some(id) {
        code::withdraw(tx, Some(member))?;
    }
    Ok(is_ended)
}

pub(super) fn end_by_issuer(
    tx: &mut dyn Tx,
    member: MemberKey,
    current: Option<&str>,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM session WHERE member = $1 AND by_issuer = 1 AND id <> $2";
    tx.run(sql, &[member.into(), current.unwrap_or_default().into()]).map(drop)
}

/// Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE expires <= $1 ORDER BY expires LIMIT $2)";
    Ok(tx.run(sql, &[now.into(), limit.cast_signed().into()])? == limit)
}

/// The times at which this process has written the last use of sessions.
pub(crate) struct SeenSessions(Mutex<LruCache<Box<str>, Timestamp>>);

impl SeenSessions {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::unbounded()))
    }

    /// The session was used at `last_seen` before. Writes the use at most once an hour, and does not wait.
    pub(super) fn used(&self, tidings: &Tidings, session: &str, last_seen: Timestamp) {
        let now = tidings.now();
        if now - last_seen < SEEN_MS {
            return;
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.get(session).is_some_and(|written| now - *written < SEEN_MS) {
            return;
        }
        sessions.put(session.into(), now);
        // An unbounded cache allocates only as it fills.
        if sessions.len() > REMEMBERED.get() {
            sessions.pop_lru();
        }
        drop(sessions);
        let session = session.to_owned();
        // It changes one row. The next hour makes up for a write that fails.
        drop(tidings.store().submit::<_, StoreError>(Isolation::Locking, move |tx| {
            let sql = "UPDATE session SET last_seen = $2 WHERE id = $1 AND last_seen <= $3";
            tx.run(sql, &[(&session).into(), now.into(), (now - SEEN_MS).into()]).map(drop)
        }));
    }
}

pub(crate) mod sql {
    use super::{MemberKey, Session, StoreError, Timestamp, Tx};

    pub(crate) fn list(
        tx: &mut dyn Tx,
        member: MemberKey,
        current: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Session>, StoreError> {
        let sql = "SELECT id, device, date, last_seen FROM session WHERE member = $1 AND expires > $2
                   ORDER BY last_seen DESC, date DESC, id DESC";
        let rows = tx.rows(sql, &[member.into(), now.into()])?.into_iter();
        rows.map(|mut row| {
            let id: String = row.take(0)?;
            let current = u8::from(current == Some(&id));
            Ok(Session { id, device: row.take(1)?, date: row.take(2)?, last_seen: row.take(3)?, current })
        })
        .collect()
    }

    pub(crate) fn exists(tx: &mut dyn Tx, member: MemberKey, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM session WHERE id = $1 AND member = $2";
        Ok(tx.row(sql, &[id.into(), member.into()])?.is_some())
    }
}
