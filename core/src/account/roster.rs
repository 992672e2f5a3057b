//! The roster: who the university says its members are, imported from CSV.

use std::io::Read;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::fold;
use super::password::Check;
use crate::Tidings;
use crate::answer::LineError;
use crate::error::Result;
use crate::store::{StoreError, Tx};

/// A university member on the roster.
pub struct RosterEntry {
    /// The name the member goes by.
    pub name: String,
    /// The subject the member studies, or `""`.
    pub major: String,
    pub(crate) password: String,
}

/// What an import of a roster did.
#[derive(Debug, Default, Serialize)]
pub struct RosterReport {
    /// Members that were new.
    pub inserted: u64,
    /// Members whose entry changed.
    pub updated: u64,
    /// Members whose entry was the same already.
    pub skipped: u64,
    /// Lines that were left out.
    pub errors: Vec<LineError>,
}

/// The roster, or a part of it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Roster {
    /// In the order of their ids.
    pub roster: Vec<RosterMember>,
}

/// Who stands on the roster.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct RosterMember {
    /// The id that the university gave.
    pub id: String,
    /// The name the member goes by.
    pub name: String,
    /// The subject the member studies, or `""`.
    pub major: String,
}

/// Who stands on the roster behind the id `after`, `""` for the first, at most `limit`.
///
/// # Errors
/// When the store fails.
pub fn roster(tidings: &Tidings, after: &str, limit: i64) -> Result<Roster> {
    let sql = "SELECT id, name, major FROM roster WHERE folded > $1 ORDER BY folded LIMIT $2";
    let after = fold(after);
    tidings.store().read(|tx| {
        let rows = tx.rows(sql, &[(&after).into(), limit.into()])?.into_iter();
        let members = rows
            .map(|mut row| Ok(RosterMember { id: row.take(0)?, name: row.take(1)?, major: row.take(2)? }));
        Ok(Roster { roster: members.collect::<Result<_, StoreError>>()? })
    })
}

/// A line of the file, under its header `id,name,major,password`.
#[derive(Deserialize)]
struct Line {
    id: String,
    name: String,
    #[serde(default)]
    major: String,
    password: Zeroizing<String>,
}

/// Imports a roster: CSV with a header that names `id`, `name`, `major` and `password`.
///
/// Entries are kept by id; a line for an id that is there replaces its entry. Passwords are hashed, which
/// takes some 20 ms a line and core.
///
/// # Errors
/// When the store fails. A bad line is reported and stops no other.
pub fn import_roster(tidings: &Tidings, csv: impl Read) -> Result<RosterReport> {
    let mut report = RosterReport::default();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Fields).from_reader(csv);
    for (index, line) in reader.deserialize::<Line>().enumerate() {
        let refused = match line {
            Ok(line) if line.id.is_empty() || line.name.is_empty() || line.password.is_empty() => {
                "id, name and password may not be empty".to_owned()
            }
            Ok(line) => {
                import_line(tidings, line, &mut report)?;
                continue;
            }
            Err(error) => error.to_string(),
        };
        // The header is line 1.
        report.errors.push(LineError { line: index as u64 + 2, reason: refused });
    }
    Ok(report)
}

fn import_line(tidings: &Tidings, line: Line, report: &mut RosterReport) -> Result<()> {
    let folded = fold(&line.id);
    let known = tidings.store().read(|tx| Ok(find(tx, &folded)?))?;
    if let Some(known) = &known {
        let same = known.name == line.name && known.major == line.major;
        if same && tidings.hasher().check(&line.password, Some(&known.password))? != Check::Wrong {
            report.skipped += 1;
            return Ok(());
        }
    }
    let password = tidings.hasher().hash(&line.password)?;
    tidings.store().write(move |tx| {
        let sql = "INSERT INTO roster (folded, id, name, major, password) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (folded) DO UPDATE SET id = excluded.id, name = excluded.name,
                   major = excluded.major, password = excluded.password";
        let Line { id, name, major, .. } = &line;
        tx.run(sql, &[(&folded).into(), id.into(), name.into(), major.into(), (&password).into()])?;
        Ok(())
    })?;
    *(if known.is_some() { &mut report.updated } else { &mut report.inserted }) += 1;
    Ok(())
}

/// The roster's entry for a folded id.
pub(super) fn find(tx: &mut dyn Tx, folded: &str) -> Result<Option<RosterEntry>, StoreError> {
    let sql = "SELECT name, major, password FROM roster WHERE folded = $1";
    let row = tx.row(sql, &[folded.into()])?;
    let entry = row
        .map(|mut row| Ok(RosterEntry { name: row.take(0)?, major: row.take(1)?, password: row.take(2)? }));
    entry.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::service;

    #[test]
    fn the_roster_is_listed_by_id_page_by_page() {
        let service = service();
        let csv = "id,name,major,password\nS2,Kim,Physics,pw\ns1,Lee,,pw\ns3,Park,Law,pw\n";
        import_roster(&service, csv.as_bytes()).unwrap();
        let names = |after: &str, limit| {
            let roster = roster(&service, after, limit).unwrap().roster;
            roster.into_iter().map(|member| member.name).collect::<Vec<_>>()
        };
        assert_eq!(names("", 2), ["Lee", "Kim"]);
        assert_eq!(names("S2", 2), ["Park"]);
        assert!(names("s3", 2).is_empty());
    }
}
