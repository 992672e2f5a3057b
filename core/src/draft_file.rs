//! Files that are written beside the place that they are for, and given their name once they are whole.
//!
//! A program that is killed leaves its draft behind. On Linux a draft is locked for as long as its writer lives, so the
//! next draft for the same place removes the ones that nobody writes any more at once.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::files::{self, directory};

/// The end of the names of drafts.
const DRAFT: &str = ".part";
/// Where drafts cannot be locked, one that has not changed for so long is nobody's.
const STRAY_S: u64 = 60 * 60;
/// How often a draft is made again that another program took for a stray before it was locked.
const ATTEMPTS: usize = 10;

/// Makes a draft of the file `place`, which its owner alone may read and write, or everybody whom the `umask` lets;
/// removes those that earlier programs left behind. It is removed when it is dropped.
///
/// # Errors
/// When no file can be made beside `place`.
pub fn beside(place: &Path, private: bool) -> io::Result<NamedTempFile> {
    let directory = directory(place);
    let begin = beginning(place.file_name().unwrap_or_default());
    remove_strays(directory, |entry| {
        entry.file_name().as_encoded_bytes().starts_with(begin.as_encoded_bytes())
    });
    let mut builder = tempfile::Builder::new();
    builder.prefix(&begin).suffix(DRAFT);
    #[cfg(unix)]
    if !private {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = private;
    for _ in 0..ATTEMPTS {
        let draft = builder.tempfile_in(directory)?;
        let is_ours = lock(draft.as_file(), directory) != Some(false);
        if is_ours && files::identity_of(draft.as_file()) == files::identity(draft.path()) {
            return Ok(draft);
        }
    }
    Err(io::Error::other("other programs remove every draft"))
}

/// How the names of drafts of a file begin.
fn beginning(name: &OsStr) -> OsString {
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(".");
    begin
}

/// Removes those drafts in a directory that `is_meant` names and whose writers are gone. One that cannot be removed is in
/// nobody's way.
pub(crate) fn remove_strays(directory: &Path, is_meant: impl Fn(&DirEntry) -> bool) {
    let is_draft = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b".") && name.ends_with(DRAFT.as_bytes())
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_draft(&entry.file_name()) && is_meant(&entry) && is_stray(&entry, directory) {
            // What SQLite may have left beside a draft goes first, or nothing would name it any more.
            for end in ["-journal", "-wal", "-shm", ""] {
                let _ = fs::remove_file(files::beside(&entry.path(), end));
            }
        }
    }
}

fn is_stray(entry: &DirEntry, directory: &Path) -> bool {
    // A link or a pipe is no draft, and opening it could wait for ever.
    if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
        return false;
    }
    File::open(entry.path()).ok().and_then(|file| lock(&file, directory)).unwrap_or_else(|| {
        let changed = entry.metadata().and_then(|about| about.modified());
        changed.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() > STRAY_S)
    })
}

/// Locks a draft for as long as it is open; false when another program has locked it, `None` where it cannot be known.
///
/// Elsewhere than on Linux, and on file systems of other machines, this lock and SQLite's own would be in each other's
/// way.
fn lock(file: &File, directory: &Path) -> Option<bool> {
    #[cfg(target_os = "linux")]
    {
        if files::network_file_system(directory).is_some() {
            return None;
        }
        match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Some(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Some(false),
            Err(_) => None,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, directory);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_draft_goes_with_its_writer_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("posts.jsonl");
        let stray = dir.path().join(".posts.jsonl.abcdef.part");
        let others =
            [".posts.jsonl.note", ".other.abcdef.part", "posts.jsonl"].map(|name| dir.path().join(name));
        let journal = dir.path().join(".posts.jsonl.abcdef.part-journal");
        for file in others.iter().chain([&stray, &journal]) {
            fs::write(file, "half").unwrap();
        }
        let living = beside(&place, true).unwrap();
        assert!(!stray.exists() && !journal.exists(), "nobody writes it");
        let second = beside(&place, false).unwrap();
        assert!(living.path().exists() && second.path().exists());
        let (file, path) = living.keep().unwrap();
        drop(file);
        drop(beside(&place, true).unwrap());
        assert!(!path.exists(), "its writer is gone");
        assert!(second.path().exists() && others.iter().all(|file| file.exists()));
    }
}
