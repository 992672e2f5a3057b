use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Check, FOREIGN_KEYS, INTEGRITY, Remedy, Run, place, unreadable};
use crate::base::files;
use crate::base::location::Location;
use crate::record::error::Result;
use crate::store::InspectedFile;
use crate::store::{SCHEMA_VERSION, StoreError};

pub(super) fn check(run: &mut Run<'_>, path: &Path) -> Result<()> {
    // An unreadable file is not a damaged one, which a restore would replace.
    let cannot_read = |cause: io::Error| StoreError::Other(Arc::new(cause));
    let about = std::fs::metadata(path).map_err(cannot_read)?;
    if about.is_dir() {
        return Err(cannot_read(io::ErrorKind::IsADirectory.into()).into());
    }
    // Opening a pipe would block.
    if about.is_file() {
        File::open(path).map_err(cannot_read)?;
    }
    // The size is known also of a file that SQLite cannot read.
    let mut bytes = Some(about.len());
    run.begin(INTEGRITY);
    match InspectedFile::open(path, run.stop) {
        Err(error @ (StoreError::Foreign | StoreError::Interrupted | StoreError::NotAFile { .. })) => {
            return Err(error.into());
        }
        Err(error @ StoreError::Emptied { .. }) => {
            // The text of the error ends with the remedy.
            let remedy = Some(Remedy::Restore);
            run.add(Check { remedy, ..Check::new(INTEGRITY, false, error.to_string()) });
        }
        // The check itself needs disk space, so this failure does not indicate a fault of the database.
        Err(error) if !matches!(error, StoreError::Damaged(_)) && files::is_full(path) => {
            let what = format!("cannot be checked because the disk is full ({error}); free some space");
            run.add(Check::new(INTEGRITY, false, what));
        }
        Err(error) => run.add(damaged(&error.to_string())),
        Ok(inspected) => {
            bytes = inspected.bytes().ok().or(bytes);
            check_content(run, &inspected)?;
        }
    }
    run.begin("place");
    let base = Location::from(path).base();
    run.checks.extend(place::look(&base, run.context.key, bytes));
    Ok(())
}

fn damaged(fault: &str) -> Check {
    Check::failed(INTEGRITY, fault, Remedy::Restore)
}

fn check_content(run: &mut Run<'_>, database: &InspectedFile) -> Result<()> {
    run.add(match database.integrity() {
        Err(StoreError::Interrupted) => return Err(StoreError::Interrupted.into()),
        Err(error) => damaged(&error.to_string()),
        Ok(faults) if faults.is_empty() => Check::new(INTEGRITY, true, "SQLite finds no fault"),
        Ok(faults) if faults.iter().all(|fault| fault.contains("post_index")) => {
            // SQLite reports a fault of the search index as a fault of the file.
            Check::failed(INTEGRITY, &faults.join("; "), Remedy::Repair)
        }
        Ok(faults) => damaged(&faults.join("; ")),
    });
    run.begin(FOREIGN_KEYS);
    run.add_references(database.dangling(), |fault| Check::failed(FOREIGN_KEYS, fault, Remedy::Restore));
    let versions = (database.schema_version()?, SCHEMA_VERSION);
    run.check_rows(database, versions)?;
    run.add(journal(database));
    Ok(())
}

fn journal(database: &InspectedFile) -> Check {
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
