//! The files that signing keys are in: read, made, and looked at for change.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use zeroize::Zeroizing;

use crate::config::Secret;
use crate::error::{Error, Result};
use crate::files::{self, beside, private};
use crate::id::random;
use crate::store::StoreError;

/// The most bytes of a key file that are read.
const BYTES_MAX: u64 = 64 << 10;

/// The file with the key that was signed with before the one in the file `key`.
pub(crate) fn previous_file(key: &Path) -> PathBuf {
    beside(key, ".previous")
}

/// What tells a file from what was at its name before, without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    number: Option<(u64, u64)>,
}

impl Stamp {
    /// What tells the file at `path`; `None` where there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        Some(Self { modified: about.modified().ok(), bytes: about.len(), number: files::number(&about) })
    }
}

/// The key in a file; `None` where there is no file.
///
/// # Errors
/// When it cannot be read, holds too little, or could have been written by anybody.
pub(super) fn read(path: &Path) -> Result<Option<Secret>> {
    let failed =
        |e: &io::Error| Error::Internal(format!("cannot read the token key {}: {e}", path.display()).into());
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|e| failed(&e))?,
    };
    look(path, &file.metadata().map_err(|e| failed(&e))?)?;
    let mut key = Zeroizing::new(Vec::new());
    file.take(BYTES_MAX).read_to_end(&mut key).map_err(|e| failed(&e))?;
    if key.len() < Secret::BYTES_MIN {
        let what = format!(
            "the token key {} is shorter than {} bytes: put its copy back, or remove it, and everybody has to \
             sign in again",
            path.display(),
            Secret::BYTES_MIN
        );
        return Err(Error::Internal(what.into()));
    }
    Ok(Some(Secret(key)))
}

/// Warns in the log when more than its owner and their group can read a key, since its readers can sign in as anybody.
///
/// # Errors
/// When anybody may write it.
#[cfg(unix)]
fn look(path: &Path, about: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    const ANYBODY_WRITES: u32 = 0o002;
    const ROOT: u32 = 0;
    let key = path.display();
    if about.mode() & ANYBODY_WRITES != 0 {
        let what = format!(
            "anybody on this machine may write the token key {key}, and so sign in as anybody: chmod 600 {key}, and \
             put a new key there unless you know who wrote it"
        );
        return Err(Error::Internal(what.into()));
    }
    if about.mode() & NOT_THEIRS != 0 {
        tracing::warn!(
            "others may read or write the token key {key}: who does signs in as anybody; chmod 600 {key}, and put a new \
             key there if somebody may have read it"
        );
    }
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own && about.uid() != ROOT {
        tracing::warn!(
            "the token key {key} belongs to the user {}, who signs in as anybody: chown {own} {key}",
            about.uid()
        );
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "modes are known on Unix alone")]
fn look(_: &Path, _: &Metadata) -> Result<()> {
    Ok(())
}

/// What a mode lets others do with a key that only its owner, and to read it their group, may do.
#[cfg(unix)]
pub(crate) const NOT_THEIRS: u32 = 0o027;

/// Makes the key in the file of a database, readable by its owner alone, where there is none yet.
///
/// # Errors
/// When it cannot be made.
pub(super) fn make_first(path: &Path) -> Result<()> {
    // What cannot be looked at is told as what it is when it is read.
    if !matches!(path.try_exists(), Ok(false)) {
        return Ok(());
    }
    // Written whole under a name of its own and then linked, so that another process that starts at the
    // same time finds all of a key or none, and both go on with the same one.
    let draft = path.with_extension(format!("key.{:016x}", u64::from_le_bytes(random())));
    let made = write_private(&draft, &random::<{ Secret::BYTES_MIN }>()).and_then(|()| {
        match fs::hard_link(&draft, path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        }
    });
    let _ = fs::remove_file(&draft);
    // Tokens are good only while the key is there: its name has to survive a power cut.
    made.and_then(|()| files::sync_directory(files::directory(path))).map_err(|e| match e.kind() {
        io::ErrorKind::StorageFull => StoreError::Full.into(),
        _ => Error::Internal(format!("cannot write the token key {}: {e}", path.display()).into()),
    })
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        make_first(&path).unwrap();
        let key = read(&path).unwrap().unwrap();
        assert_eq!(key.0.len(), Secret::BYTES_MIN);
        make_first(&path).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().0, key.0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_key_that_was_cut_short_is_named_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        write_private(&path, b"short").unwrap();
        make_first(&path).unwrap();
        let error = read(&path).err().unwrap();
        assert!(error.detail().is_some_and(|detail| detail.contains("a.db.key")), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_anybody_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        make_first(&path).unwrap();
        for (mode, reads) in [(0o640, true), (0o644, true), (0o602, false), (0o666, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), reads, "{mode:o}");
        }
    }
}
