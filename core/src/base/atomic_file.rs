//! Draft files: temporary files that are written next to their destination and renamed when they are complete.
//!
//! A killed program leaves its draft behind. On Linux a draft is locked while its writer runs, so the next draft for the
//! same destination removes abandoned drafts immediately.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::base::files::{self, directory};

const DRAFT: &str = ".part";
/// In seconds: an unchanged draft of this age counts as abandoned where drafts cannot be locked.
const STRAY_S: u64 = 60 * 60;
/// Another program may remove a draft as abandoned before it is locked.
const ATTEMPTS: usize = 10;

/// Creates a draft of the file `place`, and removes its abandoned drafts. Dropping the draft removes it.
///
/// If `private`, only its owner can access the draft; otherwise the `umask` decides.
///
/// # Errors
/// When no file can be created next to `place`.
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
    Err(io::Error::other("other programs removed every draft"))
}

/// Returns the file that is written under the name `path`: the target of a symbolic link, whether it exists or not.
///
/// # Errors
/// When its directory does not exist, such as that of a disk that is not mounted.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    files::resolved(path)
}

fn beginning(name: &OsStr) -> OsString {
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(".");
    begin
}

/// Errors are ignored, because a leftover draft does no harm.
pub(crate) fn remove_strays(directory: &Path, is_meant: impl Fn(&DirEntry) -> bool) {
    let is_draft = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b".") && name.ends_with(DRAFT.as_bytes())
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_draft(&entry.file_name()) && is_meant(&entry) && is_stray(&entry, directory) {
            // Removes SQLite's files next to a draft first, because they are found only through the draft.
            for end in ["-journal", "-wal", "-shm", ""] {
                let _ = fs::remove_file(files::beside(&entry.path(), end));
            }
        }
    }
}

fn is_stray(entry: &DirEntry, directory: &Path) -> bool {
    // Only a regular file is a draft; opening a pipe could block forever.
    if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
        return false;
    }
    File::open(entry.path()).ok().and_then(|file| lock(&file, directory)).unwrap_or_else(|| {
        let changed = entry.metadata().and_then(|about| about.modified());
        changed.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() > STRAY_S)
    })
}

/// The lock lasts until the file is closed. Returns false if another program has locked the draft, and `None` if drafts cannot be
/// locked: on systems other than Linux and on network file systems, where this lock and SQLite's own would conflict.
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
    fn a_draft_is_removed_only_after_its_writer_has_ended() {
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
        assert!(!stray.exists() && !journal.exists(), "no process writes it");
        let second = beside(&place, false).unwrap();
        assert!(living.path().exists() && second.path().exists());
        let (file, path) = living.keep().unwrap();
        drop(file);
        drop(beside(&place, true).unwrap());
        assert!(!path.exists(), "its writer has ended");
        assert!(second.path().exists() && others.iter().all(|file| file.exists()));
    }
}
