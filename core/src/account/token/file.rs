//! The files of signing keys: reading them, creating them, and detecting their changes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::SystemTime;

use zeroize::Zeroizing;

use crate::base::config::Secret;
use crate::base::files::{self, private};
use crate::base::random::random;
use crate::record::error::{Explained, Result};
use crate::store::StoreError;

const BYTES_MAX: u64 = 64 << 10;

/// Properties of a file that change when it is written or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    number: Option<(u64, u64)>,
}

impl Stamp {
    /// Returns the stamp of the file at `path`, or `None` if there is no file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        Some(Self { modified: about.modified().ok(), bytes: about.len(), number: files::number(&about) })
    }
}

/// Reads the key from a file; `None` if there is no file.
///
/// # Errors
/// An internal error if the file cannot be read, is too short, or every user of the machine may write it.
pub(super) fn read(path: &Path) -> Result<Option<Secret>> {
    let failed =
        |e: &io::Error| Explained::error(format!("cannot read the token key {}: {e}", path.display()));
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|e| failed(&e))?,
    };
    look(path, &file.metadata().map_err(|e| failed(&e))?)?;
    let mut key = Zeroizing::new(Vec::new());
    file.take(BYTES_MAX).read_to_end(&mut key).map_err(|e| failed(&e))?;
    if key.len() < Secret::BYTES_MIN {
        let what = format!(
            "the token key {} is shorter than {} bytes: restore it from a backup, or remove it, after which all members \
            have to sign in again",
            path.display(),
            Secret::BYTES_MIN
        );
        return Err(Explained::error(what));
    }
    Ok(Some(Secret(key)))
}

/// Logs a warning if users other than the owner and the group may read a key, because its readers can sign in as any
/// member.
///
/// # Errors
/// An internal error if every user of the machine may write the key.
#[cfg(unix)]
fn look(path: &Path, about: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o002;
    const ROOT: u32 = 0;
    let key = path.display();
    if about.mode() & OTHERS_WRITE != 0 {
        let what = format!(
            "every user of this machine may write the token key {key}, and so sign in as any member: chmod 600 {key}, and \
            replace the key unless you know who wrote it"
        );
        return Err(Explained::error(what));
    }
    if about.mode() & NOT_THEIRS != 0 {
        tracing::warn!(
            "other users may read or write the token key {key}, and so sign in as any member: chmod 600 {key}, and replace \
            the key if another user may have read it"
        );
    }
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own && about.uid() != ROOT {
        tracing::warn!(
            "the token key {key} belongs to the user {}, who can sign in as any member: chown {own} {key}",
            about.uid()
        );
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "only Unix has file modes")]
fn look(_: &Path, _: &Metadata) -> Result<()> {
    Ok(())
}

/// The mode bits that a key file should not have: writing by the group, and any access by others.
#[cfg(unix)]
pub(crate) const NOT_THEIRS: u32 = 0o027;

/// Creates this file with the key in the file `earlier`, or with a random key if there is none, readable by its owner only,
/// unless the file exists.
///
/// # Errors
/// An error of the store if the disk is full; otherwise an internal error if the file cannot be written.
pub(super) fn make_first(path: &Path, earlier: Option<&Path>) -> Result<()> {
    // If the existence cannot be determined, reading the file reports the cause.
    if !matches!(path.try_exists(), Ok(false)) {
        return Ok(());
    }
    let earlier = earlier.map(read).transpose()?.flatten();
    let key = earlier.map_or_else(|| Zeroizing::new(random::<{ Secret::BYTES_MIN }>().to_vec()), |key| key.0);
    // The key is written to a draft and then linked, so that another process that starts at the same time finds a
    // complete key or none, and both use the same one.
    let draft = path.with_extension(format!("key.{:016x}", u64::from_le_bytes(random())));
    let made = write_private(&draft, &key).and_then(|()| match fs::hard_link(&draft, path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    });
    let _ = fs::remove_file(&draft);
    // The key must survive a power failure because all tokens depend on it.
    made.and_then(|()| files::sync_directory(files::directory(path))).map_err(|e| match e.kind() {
        io::ErrorKind::StorageFull => StoreError::Full.into(),
        _ => Explained::error(format!("cannot write the token key {}: {e}", path.display())),
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
    fn the_key_is_created_once_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        make_first(&path, None).unwrap();
        let key = read(&path).unwrap().unwrap();
        assert_eq!(key.0.len(), Secret::BYTES_MIN);
        make_first(&path, None).unwrap();
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
    fn a_truncated_key_is_reported_by_name_and_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        write_private(&path, b"short").unwrap();
        make_first(&path, None).unwrap();
        let error = read(&path).err().unwrap();
        assert!(error.detail().is_some_and(|detail| detail.contains("a.db.key")), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_everybody_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db.key");
        make_first(&path, None).unwrap();
        for (mode, reads) in [(0o640, true), (0o644, true), (0o602, false), (0o666, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), reads, "{mode:o}");
        }
    }
}
