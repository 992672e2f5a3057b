//! Whether a database is sound, and its place fit for it; and what is kept beside rows, made from them anew.
//!
//! A check only looks, whoever writes meanwhile, each time at one moment; it needs no service, so that it also tells
//! what is wrong with a database that does not open any more. [`repair`] mends what follows from other rows: counters,
//! labels and the search index. Nothing mends a damaged file: a backup does.

use std::path::Path;

use serde::Serialize;

use crate::account::Operator;
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

/// What [`check`] answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checks {
    /// What was looked at, in the order in which it matters.
    pub checks: Vec<Check>,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is called; names do not change.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// How it is; and when that is not well, what to do.
    pub detail: String,
}

impl Checks {
    /// Whether everything is as it should be.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }

    /// Whether anything is wrong that [`repair`] mends.
    pub fn repairable(&self) -> bool {
        let mends = |name| name == INTEGRITY || DERIVED.iter().any(|derived| derived.name == name);
        // A fault of the search index is told as one of the file.
        self.checks.iter().any(|check| !check.ok && mends(check.name) && check.detail.ends_with(REPAIR))
    }
}

impl Check {
    fn new(name: &'static str, ok: bool, detail: impl Into<String>) -> Self {
        Self { name, ok, detail: detail.into() }
    }
}

const INTEGRITY: &str = "integrity";
const REPAIR: &str = "tidings check --repair";

/// What a check goes by beside the database.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The file with the key that signs tokens, where that is not beside the database.
    pub key: Option<&'a Path>,
    /// How many views a like weighs: [`Feed::like_weight`](crate::config::Feed::like_weight).
    pub like_weight: f64,
    /// Tells what lies in the future.
    pub clock: Clock,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self { key: None, like_weight: config::Feed::default().like_weight, clock: Clock::system() }
    }
}

/// Something that is kept beside the rows that it follows from.
struct Derived {
    name: &'static str,
    /// How it is when it is right.
    right: &'static str,
    /// What of it is wrong.
    wrong: fn(&Inspected, &Context<'_>) -> Result<Vec<String>>,
    /// Makes it right.
    mend: fn(&Inspected, &Context<'_>) -> Result<()>,
}

/// In the order in which they are mended: what follows from another one comes behind it.
const DERIVED: [Derived; 8] = [
    Derived {
        name: "posts",
        right: "as many as are counted",
        wrong: |database, _| posts::wrong_count(database),
        mend: |database, _| posts::count(database),
    },
    Derived {
        name: "labels",
        right: "the topics and tags of the posts",
        wrong: |database, _| posts::wrong_labels(database),
        mend: |database, _| posts::label(database),
    },
    Derived {
        name: "categories",
        right: "each with as many posts as have the topic",
        wrong: |database, _| posts::wrong_categories(database),
        mend: |database, _| posts::count_categories(database),
    },
    Derived {
        name: "likes_and_views",
        right: "of each post at least as many as members' lists show",
        wrong: |database, _| posts::wrong_stats(database),
        mend: |database, _| posts::raise_stats(database),
    },
    Derived {
        name: "popularity",
        right: "of no post above that of its views and likes, were they all of now",
        wrong: |database, context| posts::wrong_heats(database, context.like_weight, context.clock.now()),
        mend: |database, context| posts::bound_heats(database, context.like_weight, context.clock.now()),
    },
    Derived {
        name: "search_index",
        right: "holds every post and nothing else",
        wrong: |database, _| posts::wrong_index(database),
        mend: |database, _| posts::index(database),
    },
    Derived {
        name: "visitors",
        right: "on each day at least as many as rows are left of",
        wrong: |database, _| figures::wrong_visitors(database),
        mend: |database, _| figures::count_visitors(database),
    },
    Derived {
        name: "totals",
        right: "each the sum of its days",
        wrong: |database, _| figures::wrong_totals(database),
        mend: |database, _| figures::sum_totals(database),
    },
];

/// Looks at the database at `database`, and at the file with the key that signs tokens.
/// `progress` is told the name of what is looked at.
///
/// # Errors
/// When there is no database, or it is somebody else's; when `stop` is asked.
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
            checks.push(Check::new(INTEGRITY, false, error.to_string()));
        }
        // Looking at it needs room, too; that says nothing of the database.
        Err(error) if !matches!(error, StoreError::Damaged(_)) && files::is_full(database) => {
            let what = format!("cannot be looked at, as the disk is full ({error}); make room");
            checks.push(Check::new(INTEGRITY, false, what));
        }
        Err(error) => checks.push(damaged(&error.to_string())),
        Ok(inspected) => {
            bytes = inspected.bytes().ok();
            look(&inspected, context, &mut checks, progress, stop)?;
        }
    }
    progress("place");
    checks.extend(place::look(database, context.key, bytes));
    Ok(Checks { checks })
}

fn damaged(fault: &str) -> Check {
    Check::new(INTEGRITY, false, format!("{fault}; put a backup in its place: tidings restore FILE"))
}

/// Looks at what is in the database.
fn look(
    database: &Inspected,
    context: &Context<'_>,
    checks: &mut Vec<Check>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    checks.push(match database.integrity() {
        Err(StoreError::Interrupted) => return Err(StoreError::Interrupted.into()),
        Err(error) => damaged(&error.to_string()),
        Ok(faults) if faults.is_empty() => Check::new(INTEGRITY, true, "SQLite finds nothing wrong"),
        Ok(faults) if faults.iter().all(|fault| fault.contains("post_index")) => {
            let what = format!("{}; make the search index anew: {REPAIR}", faults.join("; "));
            Check::new(INTEGRITY, false, what)
        }
        Ok(faults) => damaged(&faults.join("; ")),
    });
    progress("foreign_keys");
    checks.push(foreign_keys(database));
    let version = database.schema_version()?;
    for derived in &DERIVED {
        // Another schema has other tables.
        if version != SCHEMA_VERSION {
            break;
        }
        progress(derived.name);
        checks.push(match (derived.wrong)(database, context) {
            Ok(wrong) if wrong.is_empty() => Check::new(derived.name, true, derived.right),
            Ok(wrong) => {
                let what = format!("{} wrong: {}; make them right: {REPAIR}", wrong.len(), some(&wrong));
                Check::new(derived.name, false, what)
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

/// The first few of a list, and how many more there are.
fn some(list: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = list[..list.len().min(SHOWN)].join(", ");
    if list.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

fn unreadable(name: &'static str, error: &Error) -> Check {
    let cause = error.detail().unwrap_or_else(|| error.to_string());
    Check::new(name, false, format!("cannot be read: {cause}; see {INTEGRITY}"))
}

fn foreign_keys(database: &Inspected) -> Check {
    let name = "foreign_keys";
    match database.dangling() {
        Err(error) => unreadable(name, &error.into()),
        Ok(tables) if tables.is_empty() => Check::new(name, true, "every row's others are there"),
        Ok(tables) => {
            let tables: Vec<String> =
                tables.iter().map(|(table, rows)| format!("{rows} of {table}")).collect();
            let what = format!(
                "rows that refer to none: {}; put a backup in its place: tidings restore FILE",
                tables.join(", ")
            );
            Check::new(name, false, what)
        }
    }
}

fn schema(version: i64) -> Check {
    let name = "schema";
    if version > SCHEMA_VERSION {
        let what = format!(
            "version {version}, this program knows {SCHEMA_VERSION} and has looked at no counters: use the newer program"
        );
        return Check::new(name, false, what);
    }
    if version < SCHEMA_VERSION {
        let what = format!(
            "version {version}, counters are looked at from {SCHEMA_VERSION} on: the next start brings it there"
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
            format!("{mode}, as in a backup: the next start makes it a write-ahead log"),
        ),
    }
}

/// Makes what follows from other rows of the database at `database` right, in small transactions, while others write
/// it. `progress` is told the name of what is mended.
///
/// # Errors
/// When it cannot be opened or written; when `stop` is asked, between one thing and the next.
pub fn repair(
    _: Operator,
    database: &Path,
    context: &Context<'_>,
    progress: &mut dyn FnMut(&'static str),
    stop: &CancelFlag,
) -> Result<()> {
    let inspected = Inspected::open_to_mend(database)?;
    let broken_index = !inspected.integrity()?.is_empty();
    for derived in &DERIVED {
        if stop.is_set() {
            return Err(StoreError::Interrupted.into());
        }
        let is_index = derived.name == "search_index";
        if is_index && broken_index || !(derived.wrong)(&inspected, context)?.is_empty() {
            progress(derived.name);
            (derived.mend)(&inspected, context)?;
        }
    }
    Ok(())
}
