//! Imports of the roster from CSV.

use std::collections::VecDeque;
use std::io::BufRead;
use std::num::NonZero;
use std::thread;

use ::csv::StringRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::account::credential::password::Check;
use crate::account::credential::verify::{university_id, university_name};
use crate::account::roster::table::{self, RosterEntry};
use crate::account::{Admin, Caller, find, fold};
use crate::audit::trail::Action;
use crate::import::csv::{self, Columns};
use crate::import::{self, BatchTime, Import, Item, Kind, Progress, Report, Written};
use crate::record::answer::LineError;
use crate::record::error::Result;
use crate::record::operation::{self, Access, Failure, Form, Media, Spec, Stream, Work};
use crate::record::scope::Scope;
use crate::store::Tx;

/// Import the university roster
///
/// Each entry has the id, name, major and password of a member of the university. The body, up to {import}, is CSV whose first line
/// names the columns `id`, `name`, `major` and `password`. A line replaces the entry with its id. Only administrators change the
/// entries of members: no key and no role does. An invalid line is reported and does not stop the import. Each new password takes
/// approximately 20 ms on one core. If the database fails during the import, the response is `internal error` as that of
/// `/import_posts`.
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

/// A delegate does not change the entries of existing members, because the password of an entry signs in its member, and does not
/// learn whether a password is that of an entry: an entry that a delegate may change counts as updated in any case.
impl Import for ImportRoster {
    const UPDATES: bool = true;
    const EMPTY: &'static str =
        "the body is missing: send CSV whose first line names the columns: id,name,major,password";

    fn media_type(&self, _: &[u8]) -> &'static str {
        operation::CSV
    }

    fn import(
        self,
        tidings: &Tidings,
        caller: &Caller,
        input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report> {
        let identity = caller.identify(tidings);
        let is_delegate = tidings
            .store()
            .read(|tx| identity.with_scope(tx, Scope::Members).map(|admin| admin.is_delegate()))?;
        let mut lines = lines(input)?;
        let hashed = hashed(tidings, is_delegate, &mut lines);
        import::run(tidings, caller, Entries, hashed, progress).map(|report| lines.told(report))
    }
}

/// The result of an import of a roster.
#[derive(ToSchema)]
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
    /// The encoding of the file, for people; only if it is not UTF-8.
    #[schema(max_items = 1, examples("the file is not UTF-8, and was read as EUC-KR"))]
    pub warnings: Option<Vec<String>>,
}

pub(crate) struct Line {
    number: u64,
    id: String,
    folded: String,
    password: Zeroizing<String>,
    /// The hash is `""` until [`Line::hash`] has run, and for a line that a delegate may not write. If the roster's hash is of
    /// the same password, it is reused.
    entry: RosterEntry,
}

const COLUMNS: Columns = Columns {
    is_known: |name| matches!(name, "id" | "name" | "major" | "password"),
    needed: &["id", "name", "password"],
    missing: "the first line names the columns: id,name,major,password, of which major may be left out",
};

const ID_RULE: &str =
    "id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed";

const MEMBER: &str = "id is that of a member: only an administrator changes this entry";

/// Lines whose passwords are hashed together, spread over the cores.
const TOGETHER: usize = 16;

pub(crate) fn lines<R: BufRead>(input: R) -> Result<csv::Lines<R, Line>> {
    csv::lines(input, COLUMNS, Line::check)
}

impl Line {
    fn check(number: u64, names: &[String], values: &StringRecord) -> Result<Self, String> {
        let value = |name: &str| {
            names.iter().zip(values).find(|(column, _)| *column == name).map_or("", |(_, value)| value.trim())
        };
        let needed = |name: &str, value: &str| {
            if value.is_empty() { Err(format!("{name} is missing")) } else { Ok(()) }
        };
        let (id, name, password) = (value("id"), university_name(value("name")), value("password"));
        needed("id", id)?;
        let id = university_id(id).ok_or(ID_RULE)?;
        needed("name", &name)?;
        needed("password", password)?;
        Ok(Self {
            number,
            folded: fold(&id),
            id: id.into_owned(),
            password: Zeroizing::new(password.to_owned()),
            entry: RosterEntry { name, major: university_name(value("major")), password: String::new() },
        })
    }

    /// The result of the import shows whether the password is that of the roster, so a delegate's is not compared.
    fn hash(&mut self, tidings: &Tidings, is_delegate: bool) -> Result<()> {
        let known = if is_delegate {
            if tidings.store().read(|tx| find(tx, &self.folded))?.is_some() {
                return Ok(());
            }
            None
        } else {
            tidings.store().read(|tx| table::find(tx, &self.folded))?
        };
        self.entry.password = match known {
            Some(known)
                if tidings.account().hasher.check(&self.password, Some(&known.password))? != Check::Wrong =>
            {
                known.password
            }
            _ => tidings.account().hasher.hash(&self.password)?,
        };
        Ok(())
    }
}

fn hashed(
    tidings: &Tidings,
    is_delegate: bool,
    mut lines: impl Iterator<Item = Result<Item<Line>>>,
) -> impl Iterator<Item = Result<Item<Line>>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let hash_all = move |items: &mut [Result<Item<Line>>]| {
        for item in items {
            if let Ok(Item { line: Ok(line), .. }) = item
                && let Err(error) = line.hash(tidings, is_delegate)
            {
                *item = Err(error);
            }
        }
    };
    let mut ready = VecDeque::new();
    std::iter::from_fn(move || {
        if ready.is_empty() {
            ready.extend(lines.by_ref().take(TOGETHER));
            let share = ready.len().div_ceil(cores).max(1);
            thread::scope(|scope| {
                for part in ready.make_contiguous().chunks_mut(share) {
                    scope.spawn(|| hash_all(part));
                }
            });
        }
        ready.pop_front()
    })
}

struct Entries;

impl Kind for Entries {
    type Operation = ImportRoster;
    type Line = Line;
    // An import reports progress and can be stopped only between batches, and hashing is slow.
    const BATCH: usize = 2 * TOGETHER;
    const ACTION: Action = Action::RosterImport;
    const SCOPE: Scope = Scope::Members;

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: &[Line], _: &BatchTime) -> Result<Written> {
        let mut written = Written::default();
        for Line { number, id, folded, entry, .. } in batch {
            if admin.is_delegate() && (entry.password.is_empty() || find(tx, folded)?.is_some()) {
                written.refuse(*number, MEMBER);
                continue;
            }
            let known = table::find(tx, folded)?;
            if known.as_ref() == Some(entry) {
                written.skipped += 1;
                continue;
            }
            table::insert(tx, admin, folded, id, entry)?;
            *(if known.is_some() { &mut written.updated } else { &mut written.inserted }) += 1;
        }
        Ok(written)
    }
}
