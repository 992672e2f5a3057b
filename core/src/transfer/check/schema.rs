//! The check of the schema: its version, and whether it has all tables, indexes, constraints, views, triggers and the rows that
//! every database has.

use super::{Check, Remedy};
use crate::record::error::Result;
use crate::store::inspect::{Comparison, Inspected, SchemaFault};

/// The name of the check.
pub(super) const SCHEMA: &str = "schema";

/// Checks the schema of version `found`; this program supports up to `known`. `remedy` is what a fault needs that a repair
/// cannot correct.
pub(super) fn check(database: &dyn Inspected, found: i64, known: i64, remedy: Other) -> Result<Check> {
    if found > known {
        let what = format!(
            "version {found}; this program supports {known} and did not check counters: use the newer program"
        );
        return Ok(Check::new(SCHEMA, false, what));
    }
    if found < known {
        let what = format!(
            "version {found}; counters are checked from {known} on: the next start updates the schema"
        );
        return Ok(Check::new(SCHEMA, true, what));
    }
    let faults = match database.compare_schema()? {
        Comparison::Skipped(reason) => {
            let what = format!("version {found}; not compared with a new database: {reason}");
            return Ok(Check::new(SCHEMA, true, what));
        }
        Comparison::Compared(faults) => faults,
    };
    if faults.is_empty() {
        return Ok(Check::new(SCHEMA, true, format!("version {found}")));
    }
    let texts: Vec<&str> = faults.iter().map(|fault| &*fault.text).collect();
    let fault = format!("version {found}, but {}", texts.join(", "));
    Ok(if faults.iter().any(SchemaFault::is_repairable) {
        Check::failed(SCHEMA, &fault, Remedy::Repair)
    } else {
        remedy(&fault)
    })
}

/// Adds the remedy of a fault that a repair cannot correct.
pub(super) type Other = fn(&str) -> Check;

/// Corrects the faults that can be corrected without a loss. Returns whether others remain.
pub(super) fn repair(database: &dyn Inspected, progress: &mut dyn FnMut(&'static str)) -> Result<bool> {
    let Comparison::Compared(faults) = database.compare_schema()? else { return Ok(false) };
    let (repairable, others): (Vec<_>, Vec<_>) = faults.into_iter().partition(SchemaFault::is_repairable);
    if !repairable.is_empty() {
        progress(SCHEMA);
    }
    let mut is_complete = others.is_empty();
    for fault in repairable {
        let corrected = database.correct_schema(&fault.remedy);
        // The check after the repair finds it again.
        if let Err(error) = &corrected {
            tracing::warn!(%error, "not repaired: {}", fault.text);
        }
        is_complete &= corrected.is_ok();
    }
    Ok(!is_complete)
}
