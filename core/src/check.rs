//! Checks a database and its environment, and repairs derived rows.
//!
//! [`check`] changes nothing. Each of its steps reads one snapshot, so other processes may write at the same time. It
//! needs no running service, so it can also report why a database no longer opens. [`repair`] recomputes the rows that
//! follow from other rows: counters, labels and the search index. A damaged file needs a backup.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::account::{Operator, removal};
use crate::analysis::recount as figures;
pub use crate::cancel::CancelFlag;
use crate::clock::Clock;
use crate::config;
use crate::error::{Error, Result};
use crate::files;
use crate::post::recount as posts;
use crate::store::inspect::Inspected;
use crate::store::{SCHEMA_VERSION, StoreError};

mod place;
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
    /// [`restore`](crate::backup::restore).
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

    /// Returns a failed check that has a remedy.
    fn failed(name: &'static str, fault: &str, remedy: Remedy) -> Self {
        Self { name, ok: false, detail: format!("{fault}; {remedy}"), remedy: Some(remedy) }
    }
}

const INTEGRITY: &str = "integrity";

/// The inputs of a check besides the database.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The file with the key that signs tokens, unless it is next to the database.
    pub key: Option<&'a Path>,
    /// The weight of a like in views: [`Feed::like_weight`](crate::config::Feed::like_weight).
    pub like_weight: f64,
    /// The current time.
    pub clock: Clock,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self { key: None, like_weight: config::Feed::default().like_weight, clock: Clock::system() }
    }
}

/// A kind of derived rows.
struct Derived {
    name: &'static str,
    /// The detail of a check that passed.
    right: &'static str,
    /// Returns the faults.
    wrong: fn(&Inspected, &Context<'_>) -> Result<Vec<String>>,
    /// Recomputes the rows.
    repair: fn(&Inspected, &Context<'_>) -> Result<()>,
}

/// All kinds in the order of repair. The rows of a kind may depend on rows of the kinds before it.
const DERIVED: [Derived; 9] = [
    Derived {
        name: "posts",
        right: "their number is as counted",
        wrong: |database, _| posts::wrong_count(database),
        repair: |database, _| posts::count(database),
    },
    Derived {
        name: "labels",
        right: "the topics and tags of the posts",
        wrong: |database, _| posts::wrong_labels(database),
        repair: |database, _| posts::label(database),
    },
    Derived {
        name: "categories",
        right: "each counts the posts of its topic",
        wrong: |database, _| posts::wrong_categories(database),
        repair: |database, _| posts::count_categories(database),
    },
    Derived {
        name: "acts",
        right: "each is of a member, or of a removed member and will be deleted",
        wrong: |database, _| removal::wrong_owners(database),
        repair: |database, _| removal::remove_unknown(database),
    },
    Derived {
        name: "likes_and_views",
        right: "at least as many for each post as members' lists show",
        wrong: |database, _| posts::wrong_stats(database),
        repair: |database, _| posts::raise_stats(database),
    },
    Derived {
        name: "popularity",
        right: "no higher for any post than if all its views and likes were of now",
        wrong: |database, context| posts::wrong_heats(database, context.like_weight, context.clock.now()),
        repair: |database, context| posts::bound_heats(database, context.like_weight, context.clock.now()),
    },
    Derived {
        name: "search_index",
        right: "contains exactly the posts",
        wrong: |database, _| posts::wrong_index(database),
        repair: |database, _| posts::index(database),
    },
    Derived {
        name: "visitors",
        right: "at least as many on each day as there are rows",
        wrong: |database, _| figures::wrong_visitors(database),
        repair: |database, _| figures::count_visitors(database),
    },
    Derived {
        name: "totals",
        right: "each is the sum of its days",
        wrong: |database, _| figures::wrong_totals(database),
        repair: |database, _| figures::sum_totals(database),
    },
];

/// Checks the database at `database` and the file with the key that signs tokens. Calls `progress` with the name of
/// each check before it runs.
///
/// # Errors
/// When there is no database, it belongs to another program, or `stop` is requested.
pub fn check(
    _: Operator,
    database: &Path,
    context: &Context<'_>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<Checks> {
    std::fs::metadata(database).map_err(|cause| StoreError::Other(std::sync::Arc::new(cause)))?;
    let mut checks = Vec::new();
    let mut bytes = None;
    progress(INTEGRITY);
    match Inspected::open(database, stop) {
        Err(error @ (StoreError::Foreign | StoreError::Interrupted)) => return Err(error.into()),
        Err(error @ StoreError::Emptied { .. }) => {
            // The text of the error ends with the remedy.
            let remedy = Some(Remedy::Restore);
            checks.push(Check { remedy, ..Check::new(INTEGRITY, false, error.to_string()) });
        }
        // The check itself needs disk space, so this failure does not indicate a fault of the database.
        Err(error) if !matches!(error, StoreError::Damaged(_)) && files::is_full(database) => {
            let what = format!("cannot be checked because the disk is full ({error}); free some space");
            checks.push(Check::new(INTEGRITY, false, what));
        }
        Err(error) => checks.push(damaged(&error.to_string())),
        Ok(inspected) => {
            bytes = inspected.bytes().ok();
            check_content(&inspected, context, &mut checks, progress, stop)?;
        }
    }
    progress("place");
    checks.extend(place::look(database, context.key, bytes));
    Ok(Checks { checks })
}

fn damaged(fault: &str) -> Check {
    Check::failed(INTEGRITY, fault, Remedy::Restore)
}

/// Checks the content of the database.
fn check_content(
    database: &Inspected,
    context: &Context<'_>,
    checks: &mut Vec<Check>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    checks.push(match database.integrity() {
        Err(StoreError::Interrupted) => return Err(StoreError::Interrupted.into()),
        Err(error) => damaged(&error.to_string()),
        Ok(faults) if faults.is_empty() => Check::new(INTEGRITY, true, "SQLite finds no fault"),
        Ok(faults) if faults.iter().all(|fault| fault.contains("post_index")) => {
            // SQLite reports a fault of the search index as a fault of the file.
            Check::failed(INTEGRITY, &faults.join("; "), Remedy::Repair)
        }
        Ok(faults) => damaged(&faults.join("; ")),
    });
    progress("foreign_keys");
    checks.push(foreign_keys(database));
    let version = database.schema_version()?;
    for derived in &DERIVED {
        // Other versions of the schema have other tables.
        if version != SCHEMA_VERSION {
            break;
        }
        progress(derived.name);
        checks.push(match (derived.wrong)(database, context) {
            Ok(wrong) if wrong.is_empty() => Check::new(derived.name, true, derived.right),
            Ok(wrong) => {
                let fault = format!("{} wrong: {}", wrong.len(), first_few(&wrong));
                Check::failed(derived.name, &fault, Remedy::Repair)
            }
            Err(error) => {
                if stop.is_set() {
                    return Err(error);
                }
                unreadable(derived.name, &error)
            }
        });
    }
    checks.push(schema(version));
    checks.push(journal(database));
    Ok(())
}

/// Returns the first three texts of a list, and an ellipsis when there are more.
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
    Check::new(name, false, format!("cannot be read: {cause}; see the {INTEGRITY} check"))
}

fn foreign_keys(database: &Inspected) -> Check {
    let name = "foreign_keys";
    match database.dangling() {
        Err(error) => unreadable(name, &error.into()),
        Ok(tables) if tables.is_empty() => Check::new(name, true, "every reference has its row"),
        Ok(tables) => {
            let tables: Vec<String> =
                tables.iter().map(|(table, rows)| format!("{rows} of {table}")).collect();
            let fault = format!("rows whose reference has no row: {}", tables.join(", "));
            Check::failed(name, &fault, Remedy::Restore)
        }
    }
}

fn schema(version: i64) -> Check {
    let name = "schema";
    if version > SCHEMA_VERSION {
        let what = format!(
            "version {version}; this program supports {SCHEMA_VERSION} and did not check counters: use the newer program"
        );
        return Check::new(name, false, what);
    }
    if version < SCHEMA_VERSION {
        let what = format!(
            "version {version}; counters are checked from {SCHEMA_VERSION} on: the next start updates the schema"
        );
        return Check::new(name, true, what);
    }
    Check::new(name, true, format!("version {version}"))
}

fn journal(database: &Inspected) -> Check {
    let name = "journal";
    match database.journal_mode() {
        Err(error) => unreadable(name, &error.into()),
        Ok(mode) if mode == "wal" => Check::new(name, true, "a write-ahead log"),
        Ok(mode) => Check::new(
            name,
            true,
            format!("{mode}, as in a backup: the next start changes it to a write-ahead log"),
        ),
    }
}

/// Recomputes the derived rows of the database at `database` that are wrong, in small transactions, so that other
/// processes can write in between. Calls `progress` with the name of each kind of rows before it is repaired.
///
/// # Errors
/// When the database cannot be opened or written, or `stop` is requested. `stop` takes effect between two kinds of
/// rows.
pub fn repair(
    _: Operator,
    database: &Path,
    context: &Context<'_>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    let inspected = Inspected::open_for_repair(database)?;
    let broken_index = !inspected.integrity()?.is_empty();
    for derived in &DERIVED {
        if stop.is_set() {
            return Err(StoreError::Interrupted.into());
        }
        let is_index = derived.name == "search_index";
        if is_index && broken_index || !(derived.wrong)(&inspected, context)?.is_empty() {
            progress(derived.name);
            (derived.repair)(&inspected, context)?;
        }
    }
    Ok(())
}
