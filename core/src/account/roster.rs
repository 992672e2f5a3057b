//! The roster: the university's members and their passwords.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::members::READING;
use super::{Caller, fold};

use crate::Tidings;
use crate::error::{Error, Problem, Result};
use crate::scope::Scope;
use crate::trail::Action;

pub(crate) mod table;

/// The maximum number of entries on a page of the roster.
pub const ROSTER_MAX: i64 = 1_000;
/// The default number of entries on a page of the roster.
const ENTRIES: i64 = 100;

/// The roster, or a page of it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// The members, by id.
    pub roster: Vec<RosterMember>,
}

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

/// Returns at most `limit` members of the roster whose ids come after `after`; `""` begins with the first. More than the first
/// page, of up to 200 members, is recorded in the audit trail.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn roster(tidings: &Tidings, caller: &Caller, after: &str, limit: i64) -> Result<Roster> {
    let (identity, after) = (caller.identify(tidings), fold(after));
    // A page asks for one more than it has.
    if !after.is_empty() || limit > READING + 1 {
        identity.record_reading(tidings, Scope::MembersRead, Action::RosterList)?;
    }
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        Ok(Roster { roster: table::list(tx, &admin, &after, limit)? })
    })
}

/// Returns a page of the roster: at most `limit` members, 1 to 1,000 and 100 by default, after the `next` of the previous page.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` if the limit is out of bounds.
pub fn roster_page(
    tidings: &Tidings,
    caller: &Caller,
    after: Option<&str>,
    limit: Option<i64>,
) -> Result<RosterPage> {
    let limit = limit.unwrap_or(ENTRIES);
    let is_valid = (1..=ROSTER_MAX).contains(&limit);
    // One more than the page has, to detect whether another page follows.
    let Roster { mut roster } =
        roster(tidings, caller, after.unwrap_or_default(), if is_valid { limit + 1 } else { 0 })?;
    if !is_valid {
        return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
    }
    let shown = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = roster.len() > shown;
    roster.truncate(shown);
    let next = roster.last().filter(|_| more).map(|member| member.id.clone());
    Ok(RosterPage { roster, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::to_the_end;
    use crate::roster_import::import_roster;
    use crate::testing::service;

    #[test]
    fn the_roster_is_listed_by_id_in_pages() {
        let service = service();
        let csv = "id,name,major,password\nS2,Kim,Physics,pw\ns1,Lee,,pw\ns3,Park,Law,pw\n";
        import_roster(&service, &Caller::Operator, csv.as_bytes(), &mut to_the_end).unwrap();
        let names = |after: &str, limit| {
            let roster = roster(&service, &Caller::Operator, after, limit).unwrap().roster;
            roster.into_iter().map(|member| member.name).collect::<Vec<_>>()
        };
        assert_eq!(names("", 2), ["Lee", "Kim"]);
        assert_eq!(names("S2", 2), ["Park"]);
        assert!(names("s3", 2).is_empty());
        let page = |after: Option<&str>, limit| roster_page(&service, &Caller::Operator, after, limit);
        let first = page(None, Some(2)).unwrap();
        assert_eq!((first.roster.len(), first.next.as_deref()), (2, Some("S2")));
        let last = page(Some("S2"), Some(2)).unwrap();
        assert_eq!((last.roster.len(), last.next), (1, None));
        assert_eq!(page(None, None).unwrap().roster.len(), 3);
        for limit in [0, -1, 1_001] {
            assert_eq!(page(None, Some(limit)).unwrap_err().problem().field, Some("limit"));
        }
        let refused = roster_page(&service, &Caller::Guest, None, Some(0));
        assert!(matches!(refused, Err(Error::BadToken)));
    }
}
