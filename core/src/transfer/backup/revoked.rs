//! Revokes again, after a restore, what was revoked since the backup. The database that a restore replaces shows what was revoked
//! since. If it continues the backup, rights that it lacks were revoked. Otherwise, as after an earlier restore, only its audit
//! trail counts: rights may be missing that were added later.

use serde::Serialize;

use crate::account::{Operator, Scopes, find, fold, role};
use crate::audit::trail::{self, Action, Entry, Origin};
use crate::base::clock::Timestamp;
use crate::record::scope::Scope;
use crate::store::InspectedFile;
use crate::store::inspect::Inspected;
use crate::store::{StoreError, Topic, Tx};

/// What a backup contained and was revoked since, so that a restore has revoked it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RevokedAgain {
    /// The names of API keys.
    pub keys: Vec<String>,
    /// The ids of members who were administrators.
    pub administrators: Vec<String>,
    /// The ids of members whose roles had more scopes.
    pub roles: Vec<String>,
    /// The ids of members who are blacklisted.
    pub blacklisted: Vec<String>,
    /// The names of webhooks, which are removed with their deliveries.
    pub webhooks: Vec<String>,
}

impl RevokedAgain {
    /// Returns whether nothing was revoked.
    pub fn is_empty(&self) -> bool {
        let Self { keys, administrators, roles, blacklisted, webhooks } = self;
        [keys, administrators, roles, blacklisted, webhooks].iter().all(|names| names.is_empty())
    }
}

/// Revokes in the restored database of `tx` what was revoked in the `old` one.
pub(super) fn revoke_again(
    tx: &mut dyn Tx,
    old: &InspectedFile,
    operator: Operator,
    origin: &Origin,
) -> Result<RevokedAgain, StoreError> {
    let old: &dyn Inspected = old;
    let head = trail::sql::chain(tx)?.head;
    let continues = old.read(|old| sql::has_record(old, &head))?;
    let mut again = RevokedAgain::default();
    for (table, action) in [("api_key", Action::KeyRevoke), ("webhook", Action::WebhookRemove)] {
        for (id, name, date) in sql::named(tx, table)? {
            let is_revoked = old.read(|old| {
                let is_missing = !sql::has(old, table, &id)?;
                Ok::<_, StoreError>(is_missing && (continues || sql::tells(old, action, &name, date)?))
            })?;
            if is_revoked {
                sql::remove(tx, table, &id)?;
                operator.record(tx, origin, Entry::new(action).on(&name))?;
                if table == "webhook" { &mut again.webhooks } else { &mut again.keys }.push(name);
            }
        }
    }
    for (key, id, salt) in sql::administrators(tx)? {
        let proof = salt.map(|salt| trail::proof(&salt, &id));
        let is_revoked = old.read(|old| {
            let is_administrator = sql::is_administrator(old, &fold(&id))?;
            Ok::<_, StoreError>(
                !is_administrator && (continues || sql::tells_of_member(old, proof.as_deref())?),
            )
        })?;
        if is_revoked {
            tx.run("UPDATE member SET admin = NULL WHERE key = $1", &[key.into()])?;
            operator.record(tx, origin, Entry::new(Action::AdminRevoke).on_member(key))?;
            again.administrators.push(id);
        }
    }
    for (key, id, salt, scopes) in sql::roles(tx)? {
        let proof = salt.map(|salt| trail::proof(&salt, &id));
        let left = old.read(|old| {
            let now = find(old, &id)?.map(|member| member.scopes).unwrap_or_default();
            let lost = if continues { Scope::ALL.to_vec() } else { sql::lost(old, proof.as_deref())? };
            Ok::<_, StoreError>(scopes.filtered(|scope| now.allow(scope) || !lost.contains(&scope)))
        })?;
        if left != scopes {
            let (before, after) = (scopes.stored(), left.stored());
            role::sql::set(tx, key, &left)?;
            let entry = Entry::new(Action::MemberRole).on_member(key);
            operator.record(tx, origin, entry.change(before.as_deref(), after.as_deref()))?;
            again.roles.push(id);
        }
    }
    for (folded, date) in old.read(sql::blacklisted)? {
        if let Some((key, id)) = sql::not_blacklisted(tx, &folded)? {
            let sql = "UPDATE member SET blacklisted = $2 WHERE key = $1";
            tx.run(sql, &[key.into(), date.into()])?;
            operator.record(tx, origin, Entry::new(Action::MemberBlacklist).on_member(key))?;
            again.blacklisted.push(id);
        }
    }
    if !again.is_empty() {
        tx.touch(Topic::Members);
        tx.touch(Topic::Webhooks);
    }
    Ok(again)
}

mod sql {
    use super::{Action, Scope, Scopes, StoreError, Timestamp, Tx, trail};
    use crate::record::id::MemberKey;

    /// The database has this record of the audit trail, or has had it.
    pub(super) fn has_record(tx: &mut dyn Tx, (seq, hash): &(i64, String)) -> Result<bool, StoreError> {
        let trail::Chain { removed, head } = trail::sql::chain(tx)?;
        if *seq <= removed.0 {
            return Ok(*seq < head.0 || *hash == head.1);
        }
        let sql = "SELECT 1 FROM audit WHERE seq = $1 AND hash = $2";
        Ok(tx.row(sql, &[(*seq).into(), hash.into()])?.is_some())
    }

    /// The table is that of API keys or of webhooks.
    pub(super) fn named(
        tx: &mut dyn Tx,
        table: &str,
    ) -> Result<Vec<(String, String, Timestamp)>, StoreError> {
        let rows = tx.rows(&format!("SELECT id, name, date FROM {table} ORDER BY name"), &[])?.into_iter();
        rows.map(|mut row| Ok((row.take(0)?, row.take(1)?, row.take(2)?))).collect()
    }

    pub(super) fn has(tx: &mut dyn Tx, table: &str, id: &str) -> Result<bool, StoreError> {
        Ok(tx.row(&format!("SELECT 1 FROM {table} WHERE id = $1"), &[id.into()])?.is_some())
    }

    /// A webhook is removed with its deliveries.
    pub(super) fn remove(tx: &mut dyn Tx, table: &str, id: &str) -> Result<(), StoreError> {
        if table == "webhook" {
            tx.run("DELETE FROM webhook_delivery WHERE webhook = $1", &[id.into()])?;
        }
        tx.run(&format!("DELETE FROM {table} WHERE id = $1"), &[id.into()]).map(drop)
    }

    pub(super) fn tells(
        tx: &mut dyn Tx,
        action: Action,
        subject: &str,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM audit WHERE action = $1 AND subject = $2 AND date >= $3 LIMIT 1";
        Ok(tx.row(sql, &[action.name().into(), subject.into(), since.into()])?.is_some())
    }

    /// Returns their keys, ids and salts.
    pub(super) fn administrators(
        tx: &mut dyn Tx,
    ) -> Result<Vec<(MemberKey, String, Option<String>)>, StoreError> {
        let sql = "SELECT m.key, m.id, i.salt FROM member m LEFT JOIN audit_identity i ON i.member = m.key
                   WHERE m.admin IS NOT NULL ORDER BY m.folded";
        let rows = tx.rows(sql, &[])?.into_iter();
        rows.map(|mut row| Ok((row.take(0)?, row.take(1)?, row.take(2)?))).collect()
    }

    /// The key, the id, the salt and the scopes.
    type RoleHolder = (MemberKey, String, Option<String>, Scopes);

    pub(super) fn roles(tx: &mut dyn Tx) -> Result<Vec<RoleHolder>, StoreError> {
        let sql = "SELECT m.key, m.id, i.salt, m.scopes FROM member m
                   LEFT JOIN audit_identity i ON i.member = m.key WHERE m.scopes IS NOT NULL ORDER BY m.folded";
        let rows = tx.rows(sql, &[])?.into_iter();
        rows.map(|mut row| {
            let scopes = Scopes::of_stored(row.take::<Option<String>>(3)?.as_deref());
            Ok((row.take(0)?, row.take(1)?, row.take(2)?, scopes))
        })
        .collect()
    }

    pub(super) fn is_administrator(tx: &mut dyn Tx, folded: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM member WHERE folded = $1 AND admin IS NOT NULL";
        Ok(tx.row(sql, &[folded.into()])?.is_some())
    }

    /// The audit trail tells that this member lost the right, or was removed.
    pub(super) fn tells_of_member(tx: &mut dyn Tx, proof: Option<&str>) -> Result<bool, StoreError> {
        let Some(proof) = proof else { return Ok(false) };
        let sql = "SELECT 1 FROM audit WHERE subject_proof = $1 AND action IN ($2, $3) LIMIT 1";
        let actions = [Action::AdminRevoke, Action::MemberRemove].map(|action| action.name().into());
        let [revoke, remove] = actions;
        Ok(tx.row(sql, &[proof.into(), revoke, remove])?.is_some())
    }

    /// Returns the scopes that this member's role has lost: all if the member was removed.
    pub(super) fn lost(tx: &mut dyn Tx, proof: Option<&str>) -> Result<Vec<Scope>, StoreError> {
        let Some(proof) = proof else { return Ok(Vec::new()) };
        let sql = "SELECT action, old_value, new_value FROM audit
                   WHERE subject_proof = $1 AND action IN ($2, $3)";
        let [role, remove] = [Action::MemberRole, Action::MemberRemove].map(Action::name);
        let mut lost = Vec::new();
        for mut row in tx.rows(sql, &[proof.into(), role.into(), remove.into()])? {
            if row.take::<String>(0)? == remove {
                return Ok(Scope::ALL.to_vec());
            }
            let [before, after] = [row.take::<Option<String>>(1)?, row.take::<Option<String>>(2)?];
            let [before, after] = [before, after].map(|names| Scopes::of_stored(names.as_deref()));
            let is_lost = |scope: &Scope| before.allow(*scope) && !after.allow(*scope);
            lost.extend(Scope::ALL.iter().copied().filter(is_lost));
        }
        Ok(lost)
    }

    /// By their folded ids, with the time of the blacklisting.
    pub(super) fn blacklisted(tx: &mut dyn Tx) -> Result<Vec<(String, Timestamp)>, StoreError> {
        let sql = "SELECT folded, blacklisted FROM member WHERE blacklisted IS NOT NULL ORDER BY folded";
        let rows = tx.rows(sql, &[])?.into_iter();
        rows.map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }

    pub(super) fn not_blacklisted(
        tx: &mut dyn Tx,
        folded: &str,
    ) -> Result<Option<(MemberKey, String)>, StoreError> {
        let sql = "SELECT key, id FROM member WHERE folded = $1 AND blacklisted IS NULL";
        let row = tx.row(sql, &[folded.into()])?;
        row.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
    }
}
