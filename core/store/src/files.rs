//! File names, permissions, identities and locks, and the state of the disk.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

pub fn key_file(database: &Path) -> PathBuf {
    beside(database, ".key")
}

/// Next to the file `key`.
pub fn previous_key_file(key: &Path) -> PathBuf {
    beside(key, ".previous")
}

/// Returns the paths of the database and of the files that belong to it.
pub fn files_of(database: &Path) -> [PathBuf; 6] {
    let [file, log, index, journal] = ["", "-wal", "-shm", "-journal"].map(|end| beside(database, end));
    let key = key_file(database);
    let previous = previous_key_file(&key);
    [file, log, index, journal, key, previous]
}

/// The paths are equal or lead to the same file.
pub fn same(one: &Path, other: &Path) -> bool {
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

pub fn belongs(database: &Path, file: &Path) -> bool {
    // If a path cannot be resolved, it does not name one of these files.
    let (Ok(database), Ok(file)) = (resolved(database), resolved(file)) else { return false };
    files_of(&database).iter().any(|own| same(own, &file))
}

/// Only the owner can access the files that `options` creates.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Does not open the file.
pub fn writable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
    }
    #[cfg(not(unix))]
    {
        path.metadata().map(drop)
    }
}

pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path to no file may lead through at most this many links.
const LINKS_MAX: u32 = 40;

/// The file need not exist, nor the target of a link.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    resolved_through(path, LINKS_MAX)
}

fn resolved_through(path: &Path, links: u32) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A pipe behind `/dev/stdout` has no path.
            if path.exists() {
                return Ok(path.to_owned());
            }
            if let (Ok(target), 1..) = (path.read_link(), links) {
                return resolved_through(&directory(path).join(target), links - 1);
            }
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(directory(path).canonicalize()?.join(name))
        }
        found => found,
    }
}

/// Returns the device and inode, which are the same under all names of a file; `None` if there is no file or the system has no
/// such numbers.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().and_then(|about| number(&about))
}

pub fn identity_of(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().and_then(|about| number(&about))
}

#[cfg(unix)]
pub fn number(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
pub fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Copies the owner, the group and the permissions of another file, if this process may: as root.
#[cfg(unix)]
pub fn give_to_owner_of(other: &Path, file: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (given, about) = (std::fs::metadata(other)?, std::fs::metadata(file)?);
    if (given.uid(), given.gid()) != (about.uid(), about.gid()) {
        match chown(file, Some(given.uid()), Some(given.gid())) {
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => return Ok(()),
            Ok(()) => {}
        }
    }
    std::fs::set_permissions(file, given.permissions())
}

#[cfg(not(unix))]
pub fn give_to_owner_of(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A new name in the directory then survives a power failure.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // Other systems cannot open a directory as a file.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Returns the bytes that the current user may still write; `None` if it is unknown.
pub fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(path).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// With fewer free bytes, the disk counts as full.
const FREE_MIN: u64 = 64 << 10;

/// The file need not exist.
pub fn is_full(path: &Path) -> bool {
    let place = resolved(path).unwrap_or_else(|_| path.to_owned());
    free_bytes(directory(&place)).is_some_and(|free| free < FREE_MIN)
}

/// Locks the whole file, including the ranges of SQLite's own locks, until `file` is closed. While the lock is held, no process
/// has the database open and none can open it. Returns false if a process has it open.
///
/// The system releases the lock when the process ends in any way. While the lock is held, SQLite must not open and close the file
/// in this process, because that would release the lock.
pub fn lock_exclusively(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    match rustix::fs::fcntl_lock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
    // On other systems an open file cannot be replaced.
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(true)
    }
}

/// The locks of a network file system are unreliable.
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        const KNOWN: [(u32, &str); 9] = [
            (0x6969, "nfs"),
            (0xff53_4d42, "cifs"),
            (0xfe53_4d42, "smb2"),
            (0x517b, "smb"),
            (0x0102_1997, "9p"),
            (0x00c3_6400, "ceph"),
            (0x5346_414f, "afs"),
            (0x7461_636f, "ocfs2"),
            (0x0bd0_0bd0, "lustre"),
        ];
        let kind = rustix::fs::statfs(path).ok()?.f_type;
        // The types have 32 bits, in a field whose size and sign depend on the platform.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the types have 32 bits")]
        let kind = kind as u32;
        KNOWN.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}
