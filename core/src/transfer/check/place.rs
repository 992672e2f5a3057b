//! Checks the environment of a database: the SQLite library, the file system and the files next to the database.

use std::fs;
use std::path::Path;

use super::Check;
#[cfg(unix)]
use crate::account::token::NOT_THEIRS;
use crate::base::files::{self, beside, directory, key_file, previous_key_file};
use crate::store::engine_version;

/// The first version of SQLite without a rare bug that damages a write-ahead log shared by several processes. Source:
/// <https://sqlite.org/wal.html#walresetbug>.
const SQLITE_MIN: i32 = 3_051_003;
/// In bytes. A larger write-ahead log has not been copied into the database for a long time.
const LOG_MAX: u64 = 256 << 20;
/// Bytes that should be free in addition to a tenth of the size of the database, for the log and as a reserve.
const FREE_MIN: u64 = 128 << 20;

pub(super) fn look(database: &Path, key: Option<&Path>, bytes: Option<u64>) -> Vec<Check> {
    let mut checks = vec![sqlite(), file_system(database), log(database)];
    #[cfg(unix)]
    {
        let key = key.map_or_else(|| key_file(database), Path::to_owned);
        checks.push(permissions(&[database, &beside(database, "-wal")], &key, "the database and the key"));
    }
    #[cfg(not(unix))]
    let _ = key;
    checks.extend(free_space(database, bytes));
    checks
}

fn sqlite() -> Check {
    let (text, number) = engine_version();
    let ok = number >= SQLITE_MIN;
    let detail = if ok { text.to_owned() } else { format!("{text} is too old: build with 3.51.3 or newer") };
    Check::new("sqlite", ok, detail)
}

fn file_system(database: &Path) -> Check {
    match files::network_file_system(database) {
        None => Check::new("file_system", true, "local"),
        Some(name) => {
            let what = format!(
                "{name}: file locks between machines are unreliable; move the database to a local disk"
            );
            Check::new("file_system", false, what)
        }
    }
}

fn log(database: &Path) -> Check {
    let bytes = fs::metadata(beside(database, "-wal")).map_or(0, |about| about.len());
    let size = size(bytes);
    if bytes <= LOG_MAX {
        return Check::new("wal", true, size);
    }
    let what = format!(
        "{size}: a reader keeps it from shrinking; look for a stopped process that has the database open, or restart \
         the server"
    );
    Check::new("wal", false, what)
}

/// Only the owner may write the files, and only the owner and the group may read them. `what` names the files.
#[cfg(unix)]
pub(super) fn permissions(files: &[&Path], key: &Path, what: &str) -> Check {
    use std::os::unix::fs::PermissionsExt as _;
    let previous = previous_key_file(key);
    let mut open = Vec::new();
    for file in files.iter().copied().chain([key, &previous]) {
        let mode = fs::metadata(file).map_or(0, |about| about.permissions().mode() & 0o777);
        if mode & NOT_THEIRS != 0 {
            open.push(format!("chmod 600 {}", file.display()));
        }
    }
    if open.is_empty() {
        return Check::new("permissions", true, format!("other users can neither read nor write {what}"));
    }
    Check::new("permissions", false, format!("other users may read or write: {}", open.join("; ")))
}

fn free_space(database: &Path, bytes: Option<u64>) -> Option<Check> {
    let place = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    let free = files::free_bytes(directory(&place))?;
    let needed = FREE_MIN + bytes.unwrap_or_default() / 10;
    let ok = free >= needed;
    let detail = format!("{} free, the database has {}", size(free), size(bytes.unwrap_or_default()));
    if ok {
        return Some(Check::new("free_space", ok, detail));
    }
    Some(Check::new(
        "free_space",
        ok,
        format!("{detail}; free some space: at least {} is needed", size(needed)),
    ))
}

/// In the largest unit in which the number is at least 1.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
    )
}
