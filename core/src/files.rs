//! What is done with files beside the database's own: names, modes, and what the disk says.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The file whose name is `path`'s and this end.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// The file with the signing key of a database.
pub(crate) fn key_file(database: &Path) -> PathBuf {
    beside(database, ".key")
}

/// The file with the word model of a database.
pub(crate) fn word_model(database: &Path) -> PathBuf {
    beside(database, ".words")
}

/// The same, making files for their owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Says whether a file that is there may be written, without opening it.
pub(crate) fn writable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
    }
    #[cfg(not(unix))]
    {
        path.metadata().map(drop)
    }
}

/// The directory that a file is in.
pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that `path` leads to: the end of its symbolic links, whether or not there is a file.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(directory(path).canonicalize()?.join(name))
        }
        found => found,
    }
}

/// What tells a file from every other one, whatever their names; `None` where there is no file, or no telling.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().and_then(|about| number(&about))
}

/// As [`identity`], of a file that is open.
pub(crate) fn identity_of(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().and_then(|about| number(&about))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is no number")]
pub(crate) fn number(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
pub(crate) fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Puts the names in a directory on disk: one that was just given survives a power cut.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened as a file.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Bytes that whoever runs this may still write in the file system of `path`; `None` where it does not say.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
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

/// With fewer free bytes in its file system nothing can be done with a database.
const ROOM_MIN: u64 = 64 << 10;

/// Whether the file system of the file at `path`, there or not, has no room left.
pub(crate) fn is_full(path: &Path) -> bool {
    let place = resolved(path).unwrap_or_else(|_| path.to_owned());
    free_bytes(directory(&place)).is_some_and(|free| free < ROOM_MIN)
}

/// Takes the lock of the whole file that SQLite's own locks are parts of, for as long as `file` is open: nobody, in
/// any process, has the database open then, nor can begin to use it. False when somebody has.
///
/// The system lets go of it when the process ends, however that happens. SQLite itself must not open and close the
/// file in this process meanwhile: the lock would go with that.
pub(crate) fn lock_out_everybody(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    match rustix::fs::fcntl_lock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
    // Elsewhere a file that is open cannot be replaced.
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(true)
    }
}

/// The name of the file system that `path` is on, when it is one that other machines see as well: the locks of such
/// are not to be relied on.
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        /// Numbers of Linux's `statfs`.
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
        // The numbers have 32 bits, in a field whose size and sign differ between machines.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "32 bits are all there is"
        )]
        let kind = kind as u32;
        KNOWN.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        None
    }
}
