//! Checks a database and its environment, and repairs counters and the search index. Each step of [`check`] reads one snapshot, so
//! other processes may write at the same time. It needs no running service, so it can also report why a database no longer opens.
//! A damaged file needs a backup.

use std::cmp::Ordering;
use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::account::Operator;
use crate::analysis::recount as figures;
use crate::audit::{self, Fault};
pub use crate::base::cancel::CancelFlag;
use crate::base::clock::Clock;
use crate::base::config;
use crate::base::location::Location;
use crate::post::{recount as posts, reindex};
use crate::record::error::{Error, Result};
use crate::source;
use crate::store::InspectedFile;
#[cfg(feature = "postgres")]
use crate::store::InspectedServer;
#[cfg(not(feature = "postgres"))]
use crate::store::ServerError;
use crate::store::StoreError;
use crate::store::inspect::Inspected;

mod file;
mod others;
mod place;
#[cfg(feature = "postgres")]
mod server;
#[cfg(test)]
mod tests;

/// The result of [`check`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checks {
    /// The checks, the most important first.
    pub checks: Vec<Check>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check. Names are stable across versions.
    pub name: &'static str,
    /// Whether the check passed.
    pub ok: bool,
    /// The result of the check in words, and the remedy if it failed.
    pub detail: String,
    /// The remedy for a failed check, when a function of this crate provides it. `detail` ends with its name.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
}

/// A remedy for a failed check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// [`repair`].
    Repair,
    /// [`restore`](crate::transfer::backup::restore).
    Restore,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Repair => "repair the database",
            Self::Restore => "restore a backup",
        })
    }
}

impl Checks {
    /// Returns whether every check passed.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }

    /// Returns whether [`repair`] is the remedy for any failed check.
    pub fn repairable(&self) -> bool {
        self.checks.iter().any(|check| check.remedy == Some(Remedy::Repair))
    }
}

impl Check {
    fn new(name: &'static str, ok: bool, detail: impl Into<String>) -> Self {
        Self { name, ok, detail: detail.into(), remedy: None }
    }

    fn failed(name: &'static str, fault: &str, remedy: Remedy) -> Self {
        Self { name, ok: false, detail: format!("{fault}; {remedy}"), remedy: Some(remedy) }
    }
}

const INTEGRITY: &str = "integrity";
const FOREIGN_KEYS: &str = "foreign_keys";
const AUDIT: &str = "audit";
const SOURCES: &str = "sources";
const SCHEMA: &str = "schema";

/// The inputs of a check besides the database.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The file with the key that signs tokens, unless it is next to the database.
    pub key: Option<&'a Path>,
    /// The settings, if the other systems that the service uses are to be asked too: those of mail and single sign-on.
    pub others: Option<&'a config::Config>,
    /// The current time.
    pub clock: Clock,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self { key: None, others: None, clock: Clock::system() }
    }
}

type Find = fn(&dyn Inspected) -> Result<Vec<String>>;
type Mend = fn(&dyn Inspected) -> Result<()>;

struct Derived {
    name: &'static str,
    right: &'static str,
    wrong: Find,
    repair: Mend,
}

impl Derived {
    const fn new(name: &'static str, right: &'static str, wrong: Find, repair: Mend) -> Self {
        Self { name, right, wrong, repair }
    }

    fn result(&self, wrong: &[String]) -> Check {
        if wrong.is_empty() {
            return Check::new(self.name, true, self.right);
        }
        let fault = format!("{} wrong: {}", wrong.len(), first_few(wrong));
        Check::failed(self.name, &fault, Remedy::Repair)
    }
}

/// In the order of repair.
const DERIVED: [Derived; 6] = [
    Derived::new("posts", "their number is as counted", posts::wrong_count, posts::count),
    Derived::new(
        "categories",
        "each counts the posts of its topic",
        posts::wrong_categories,
        posts::count_categories,
    ),
    Derived::new(
        "likes_and_views",
        "at least as many for each post as members' lists show",
        posts::wrong_stats,
        posts::raise_stats,
    ),
    Derived::new("search_index", "contains exactly the posts", reindex::wrong_index, reindex::index),
    Derived::new(
        "visitors",
        "at least as many on each day as there are rows",
        figures::wrong_visitors,
        figures::count_visitors,
    ),
    Derived::new("totals", "each is the sum of its days", figures::wrong_totals, figures::sum_totals),
];

/// Checks the database at `location`, a path or the URL of a PostgreSQL database, and the file with the key that signs
/// tokens. Calls `progress` with the name of each check before it runs. Creates nothing.
///
/// # Errors
/// When there is no database, it belongs to another program, or `stop` is requested; when the server cannot be used.
pub fn check(
    _: Operator,
    location: impl Into<Location>,
    context: &Context<'_>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<Checks> {
    let mut run = Run { context, checks: Vec::new(), progress, stop };
    let location = location.into();
    match &location {
        Location::File(path) => file::check(&mut run, path)?,
        #[cfg(feature = "postgres")]
        Location::Postgres(_) => server::check(&mut run, &location)?,
        #[cfg(not(feature = "postgres"))]
        Location::Postgres(_) => return Err(StoreError::from(ServerError::NotBuilt).into()),
    }
    if let Some(config) = context.others {
        others::check(&mut run, config);
    }
    Ok(Checks { checks: run.checks })
}

fn failing_sources(database: &dyn Inspected, clock: &Clock) -> Result<Check> {
    let failing = database.read(|tx| source::sql::failing(tx, clock.now() - source::FAILING_MS))?;
    if failing.is_empty() {
        return Ok(Check::new(SOURCES, true, "none has failed for two weeks"));
    }
    let (number, some) = (failing.len(), first_few(&failing));
    let fault = format!(
        "{number} failed for two weeks: {some}; look at their errors, and correct, pause or remove them"
    );
    Ok(Check::new(SOURCES, false, fault))
}

/// The schema of the database is up to date.
pub(crate) fn derived(database: &dyn Inspected, stop: &CancelFlag) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for derived in &DERIVED {
        let wrong = (derived.wrong)(database);
        if stop.is_set() {
            return Err(StoreError::Interrupted.into());
        }
        let check = wrong.map(|wrong| derived.result(&wrong));
        checks.push(check.unwrap_or_else(|error| unreadable(derived.name, &error)));
    }
    Ok(checks)
}

struct Run<'r> {
    context: &'r Context<'r>,
    checks: Vec<Check>,
    progress: &'r mut dyn FnMut(&'static str),
    stop: &'r CancelFlag,
}

impl Run<'_> {
    fn begin(&mut self, name: &'static str) {
        (self.progress)(name);
    }

    fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    /// Adds the result of a check, or that it cannot read the database. Fails only when the check was stopped.
    fn add_read(&mut self, name: &'static str, check: Result<Check>) -> Result<()> {
        match check {
            Err(error) if self.stop.is_set() => return Err(error),
            check => self.add(check.unwrap_or_else(|error| unreadable(name, &error))),
        }
        Ok(())
    }

    /// `dangling` has the numbers of rows by table whose reference has no row. `failed` adds the remedy.
    fn add_references(
        &mut self,
        dangling: Result<Vec<(String, u64)>, StoreError>,
        failed: impl FnOnce(&str) -> Check,
    ) {
        let name = FOREIGN_KEYS;
        self.add(match dangling {
            Err(error) => unreadable(name, &error.into()),
            Ok(tables) if tables.is_empty() => Check::new(name, true, "every reference has its row"),
            Ok(tables) => {
                let tables: Vec<String> =
                    tables.iter().map(|(table, rows)| format!("{rows} of {table}")).collect();
                failed(&format!("rows whose reference has no row: {}", tables.join(", ")))
            }
        });
    }

    /// The version of the schema is `found`; this program supports `known`.
    fn check_rows(&mut self, database: &dyn Inspected, (found, known): (i64, i64)) -> Result<()> {
        // Other versions of the schema have other tables.
        if found == known {
            for derived in &DERIVED {
                self.begin(derived.name);
                let check = (derived.wrong)(database).map(|wrong| derived.result(&wrong));
                self.add_read(derived.name, check)?;
            }
            self.begin(AUDIT);
            self.add_read(AUDIT, audit_trail(database))?;
            self.begin(SOURCES);
            self.add_read(SOURCES, failing_sources(database, &self.context.clock))?;
        }
        self.add(schema(found, known));
        Ok(())
    }
}

fn schema(found: i64, known: i64) -> Check {
    let what = match found.cmp(&known) {
        Ordering::Equal => format!("version {found}"),
        Ordering::Greater => {
            format!(
                "version {found}; this program supports {known} and did not check counters: use the newer program"
            )
        }
        Ordering::Less => {
            format!(
                "version {found}; counters are checked from {known} on: the next start updates the schema"
            )
        }
    };
    Check::new(SCHEMA, found <= known, what)
}

/// Nothing repairs the chain: a fault shows that somebody has changed the trail.
fn audit_trail(database: &dyn Inspected) -> Result<Check> {
    let verified = database.read(|tx| audit::verify_chain(tx, None))?;
    Ok(match verified.fault {
        None => Check::new(AUDIT, true, format!("{} records are intact", verified.records)),
        Some(Fault { seq, reason }) => {
            let what = format!(
                "record {seq}: {reason}; compare the trail with an earlier backup or export, and look for who could write the \
                 database"
            );
            Check::new(AUDIT, false, what)
        }
    })
}

/// An ellipsis marks further texts.
fn first_few(list: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = list[..list.len().min(SHOWN)].join(", ");
    if list.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

fn unreadable(name: &'static str, error: &Error) -> Check {
    let cause = error.detail().unwrap_or_else(|| error.to_string());
    Check::new(name, false, format!("cannot be read: {cause}; see the checks {INTEGRITY} and {SCHEMA}"))
}

/// Recomputes the derived rows of the database at `location` that are wrong, in small transactions, so that other processes can
/// write in between. Calls `progress` with the name of each kind of rows before it is repaired.
///
/// # Errors
/// When the database cannot be opened or written, or `stop` is requested. `stop` takes effect between two kinds of
/// rows.
pub fn repair(
    _: Operator,
    location: impl Into<Location>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    match location.into() {
        Location::File(path) => {
            let database = InspectedFile::open_for_repair(&path)?;
            let is_index_broken = !database.integrity()?.is_empty();
            repair_rows(&database, is_index_broken, progress, stop)
        }
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => {
            let database = InspectedServer::open_for_repair(&url, stop)?;
            let repaired = repair_rows(&database, false, progress, stop);
            database.close();
            repaired
        }
        #[cfg(not(feature = "postgres"))]
        Location::Postgres(_) => Err(StoreError::from(ServerError::NotBuilt).into()),
    }
}

/// `is_index_broken` is whether the search index is wrong in any case.
fn repair_rows(
    database: &dyn Inspected,
    is_index_broken: bool,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    for derived in &DERIVED {
        if stop.is_set() {
            return Err(StoreError::Interrupted.into());
        }
        let is_index = derived.name == "search_index";
        let wrong = (derived.wrong)(database)?;
        if !wrong.is_empty() || is_index && is_index_broken {
            progress(derived.name);
            (derived.repair)(database)?;
        }
    }
    Ok(())
}
