//! The roster: the university's members and their passwords.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fold;
use super::members::READING;

use crate::account::Call;
use crate::audit::trail::Action;
use crate::record::answer;
use crate::record::error::{Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::scope::Scope;

/// The maximum number of entries on a page of the roster.
pub const ROSTER_MAX: i64 = 1_000;
const ENTRIES: i64 = 100;

/// A page of the roster.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RosterPage {
    /// The members, by id.
    pub roster: Vec<RosterMember>,
    /// The `after` of the next page; `null` on the last page.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub next: Option<String>,
}

/// A member on the roster.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RosterMember {
    /// The university's id for the member.
    #[schema(max_length = 128, examples("s2026001"))]
    pub id: String,
    /// The member's name.
    #[schema(max_length = 128, examples("Ann Lee"))]
    pub name: String,
    /// The subject that the member studies, or `""`.
    #[schema(max_length = 128, examples("Physics"))]
    pub major: String,
}

/// List the roster by id
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListRoster {
    /// The maximum number of entries, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(examples("ann"))]
    pub after: Option<String>,
}

impl Operation for ListRoster {
    type Answer = RosterPage;
    const SPEC: Spec =
        Spec::get("admin", "/get_roster", Access::Admins(Scope::MembersRead)).works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<RosterPage> {
        let identity = call.authority();
        let limit = self.limit.unwrap_or(ENTRIES);
        let after = self.after.as_deref().map(fold).unwrap_or_default();
        if !after.is_empty() || (READING + 1..=ROSTER_MAX).contains(&limit) {
            identity.record_reading(call.tidings(), Scope::MembersRead, Action::RosterList)?;
        }
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            if !(1..=ROSTER_MAX).contains(&limit) {
                return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
            }
            // One more than the page has, to detect whether another page follows.
            let mut roster = table::list(tx, &admin, &after, limit + 1)?;
            let next = answer::cut(&mut roster, limit).map(|member| member.id.clone());
            Ok(RosterPage { roster, next })
        })
    }
}

pub(crate) mod table {
    use super::RosterMember;
    use crate::account::Admin;
    use crate::store::{StoreError, Tx};

    #[derive(PartialEq, Eq)]
    pub(crate) struct RosterEntry {
        pub(crate) name: String,
        pub(crate) major: String,
        /// The hash.
        pub(crate) password: String,
    }

    pub(crate) fn find(tx: &mut dyn Tx, folded: &str) -> Result<Option<RosterEntry>, StoreError> {
        let sql = "SELECT name, major, password FROM roster WHERE folded = $1";
        let row = tx.row(sql, &[folded.into()])?;
        let entry = row.map(|mut row| {
            Ok(RosterEntry { name: row.take(0)?, major: row.take(1)?, password: row.take(2)? })
        });
        entry.transpose()
    }

    pub(super) fn list(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        after: &str,
        limit: i64,
    ) -> Result<Vec<RosterMember>, StoreError> {
        // No id has this character, which the engines compare in different ways.
        if after.contains('\0') {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, name, major FROM roster WHERE folded > $1 ORDER BY folded LIMIT $2";
        let rows = tx.rows(sql, &[after.into(), limit.into()])?.into_iter();
        rows.map(|mut row| Ok(RosterMember { id: row.take(0)?, name: row.take(1)?, major: row.take(2)? }))
            .collect()
    }

    pub(crate) fn insert(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        folded: &str,
        id: &str,
        entry: &RosterEntry,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO roster (folded, id, name, major, password) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (folded) DO UPDATE SET id = excluded.id, name = excluded.name,
                   major = excluded.major, password = excluded.password";
        let RosterEntry { name, major, password } = entry;
        tx.run(sql, &[folded, id, name, major, password].map(Into::into))?;
        Ok(())
    }
}
