//! Imports of the roster from CSV.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::num::NonZero;
use std::thread;

use ::csv::StringRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::account::password::{Check, Purpose, Turn};
use crate::account::roster::table::{self, RosterEntry};
use crate::account::verify::{university_id, university_name};
use crate::account::{Admin, Caller, find, fold};
use crate::answer::LineError;
use crate::error::{Error, Result};
use crate::import::csv::{self, Columns};
use crate::import::{self, About, BatchTime, Item, Kind, Progress, Totals, Written};
use crate::operation::{self, Access, Failure, Form, Media, Spec, Stream, Work};
use crate::scope::Scope;
use crate::store::Tx;
use crate::trail::Action;

/// Imports the roster, the members of the university with their passwords
///
/// The body, up to {import}, is CSV whose first line names the columns `id`, `name`, `major` and `password`. A line replaces
/// the entry with its id. An API key does not change the entries of existing administrators. An invalid line is reported and
/// does not stop the import. Each new password takes approximately 20 ms on one core. If the database fails during the
/// import, the response is `internal error` as that of `/import_posts`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportRoster {}

impl Stream for ImportRoster {
    type Line = String;
    type Answer = RosterReport;
    const SPEC: Spec = Spec::post("admin", "/import_roster", Access::Admins(Scope::Members))
        .works(Work::Long)
        .or(&[Failure::Import]);
    const TAKES: &'static [Media] = &[Media { name: operation::CSV, form: Form::Text }];
}

/// The result of an import of a roster.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RosterReport {
    /// The number of new members.
    pub inserted: u64,
    /// The number of members whose entry changed.
    pub updated: u64,
    /// The number of members whose entry did not change.
    pub skipped: u64,
    /// The first 1,000 lines that were skipped because of an error, in order. If there are more, a last entry has their
    /// number.
    pub errors: Vec<LineError>,
    /// Details of the import for people, not part of the JSON.
    #[serde(skip)]
    pub about: About,
}

/// A valid line of the file.
struct Line {
    number: u64,
    id: String,
    folded: String,
    name: String,
    major: String,
    password: Zeroizing<String>,
    /// The hash of the password; `""` until [`Line::hash`] has run, and of a line that a key may not write. If the roster's
    /// hash is of the same password, it is reused.
    hash: String,
}

const COLUMNS: Columns = Columns {
    is_known: |name| matches!(name, "id" | "name" | "major" | "password"),
    needed: &["id", "name", "password"],
    missing: "the first line names the columns: id,name,major,password, of which major may be left out",
};

const ID_RULE: &str =
    "id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed";

const MEMBER: &str = "id is that of a member: an API key does not change this entry";

/// The number of lines whose passwords are hashed together, spread over the cores.
const TOGETHER: usize = 16;

/// Imports a roster: CSV whose first line names the columns `id`, `name`, `major` and `password`. Other columns are
/// ignored.
///
/// A line replaces the existing entry with its id. Ids, names and majors follow the rules of
/// [`SignInUp`](crate::account::SignInUp). A line that breaks a rule is reported and does not stop the import. Hashing a
/// password takes approximately 20 ms on one core. The input is read and written as by [`crate::post::import`].
///
/// An API key does not change the entries of existing members: who knows the password of an entry signs in as its member.
/// Nor does it learn whether a password is that of an entry: an entry that it may change counts as updated in any case.
///
/// # Errors
/// `bad token`, `Not admin`; [`Error::Input`] if the input cannot be read to its end;
/// `overloaded`; an error of the store.
pub fn import_roster(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: Progress<'_>,
) -> Result<RosterReport> {
    let mut lines = csv::lines(input, COLUMNS, Line::check);
    let hashed = hashed(tidings, caller.identify(tidings).is_key(), &mut lines);
    let tally = import::run_prepared(tidings, caller, Entries, hashed, progress)?;
    let Totals { inserted, updated, skipped, errors, about } = tally.with_unknown(lines.into_unknown());
    Ok(RosterReport { inserted, updated, skipped, errors, about })
}

/// Reads and checks the lines of a roster, without writing them.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_lines(input: &[u8]) -> import::Read {
    import::read_all(csv::lines(input, COLUMNS, Line::check), drop)
}

impl Line {
    fn check(number: u64, names: &[String], values: &StringRecord) -> Result<Self, String> {
        let value = |name: &str| {
            let mut values = names.iter().zip(values).filter(|(column, _)| *column == name);
            values.next().map(|(_, value)| value.trim()).unwrap_or_default()
        };
        let needed = |name: &str| Some(value(name)).filter(|value| !value.is_empty());
        let missing = |name: &str| format!("{name} is missing");
        let id = university_id(needed("id").ok_or_else(|| missing("id"))?).ok_or(ID_RULE)?;
        let name = university_name(value("name"));
        if name.is_empty() {
            return Err(missing("name"));
        }
        let password = needed("password").ok_or_else(|| missing("password"))?;
        Ok(Self {
            number,
            folded: fold(&id),
            id: id.into_owned(),
            name,
            major: university_name(value("major")),
            password: Zeroizing::new(password.to_owned()),
            hash: String::new(),
        })
    }

    /// Hashes the password. The result of the import tells whether it is that of the roster, so a key's is not compared.
    fn hash(&mut self, tidings: &Tidings, is_key: bool) -> Result<()> {
        let turn = Turn::new(Purpose::Administration, None);
        if is_key {
            if tidings.store().read(|tx| find(tx, &self.folded))?.is_none() {
                self.hash = tidings.hasher().hash(turn, &self.password)?;
            }
            return Ok(());
        }
        let known = tidings.store().read(|tx| table::find(tx, &self.folded))?;
        self.hash = match known {
            Some(known)
                if tidings.hasher().check(turn, &self.password, Some(&known.password))? != Check::Wrong =>
            {
                known.password
            }
            _ => tidings.hasher().hash(turn, &self.password)?,
        };
        Ok(())
    }
}

/// Returns the lines with their hashes.
fn hashed(
    tidings: &Tidings,
    is_key: bool,
    mut lines: impl Iterator<Item = io::Result<Item<Line>>>,
) -> impl Iterator<Item = Result<Item<Line>>> {
    let mut ready = VecDeque::new();
    std::iter::from_fn(move || {
        if ready.is_empty() {
            ready.extend(lines.by_ref().take(TOGETHER).map(|item| item.map_err(Error::Input)));
            hash_all(tidings, is_key, ready.make_contiguous());
        }
        ready.pop_front()
    })
}

fn hash_all(tidings: &Tidings, is_key: bool, items: &mut [Result<Item<Line>>]) {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        for part in items.chunks_mut(share) {
            scope.spawn(|| {
                for item in part {
                    let hashed = match item {
                        Ok(Item { line: Ok(line), .. }) => line.hash(tidings, is_key),
                        _ => Ok(()),
                    };
                    if let Err(error) = hashed {
                        *item = Err(error);
                    }
                }
            });
        }
    });
}

/// Writes the entries of an import.
struct Entries;

impl Kind for Entries {
    type Line = Line;
    // An import reports progress and can be stopped only between batches, and hashing is slow.
    const BATCH: usize = 2 * TOGETHER;
    const ACTION: Action = Action::RosterImport;
    const SCOPE: Scope = Scope::Members;

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: &[Line], _: &BatchTime) -> Result<Written> {
        let mut written = Written::default();
        for Line { number, id, folded, name, major, hash, .. } in batch {
            if admin.is_key() && (hash.is_empty() || find(tx, folded)?.is_some()) {
                written.refuse(*number, MEMBER);
                continue;
            }
            let known = table::find(tx, folded)?;
            let entry = RosterEntry { name: name.clone(), major: major.clone(), password: hash.clone() };
            if known.as_ref() == Some(&entry) {
                written.skipped += 1;
                continue;
            }
            table::insert(tx, admin, folded, id, &entry)?;
            *(if known.is_some() { &mut written.updated } else { &mut written.inserted }) += 1;
        }
        Ok(written)
    }
}
