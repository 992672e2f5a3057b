//! Whether the files at the database's path are still the ones that were opened.
//!
//! SQLite keeps the files that it has opened. Once their names lead elsewhere, commits go to files that nobody finds
//! again, and SQLite reports no error; a file that another program overwrites is mixed with what the write-ahead log
//! holds. [`FileGuard::check`] is cheap enough to be asked with every commit: three `stat` and one read of 100 bytes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use super::{Connection, is_head_of_ours, revision_of_file};
use crate::files::{self, beside};
use crate::store::StoreError;

/// A device and the number of a file on it.
type Identity = (u64, u64);

/// Bytes of the header of a database file.
///
/// Source: *Database File Format*, section 1.3, <https://sqlite.org/fileformat2.html>.
#[cfg(unix)]
const HEADER: usize = 100;

/// The open file of a database, for reading its header.
///
/// To close any descriptor of a file takes away the locks that SQLite has on it in this process. So stores of one file
/// share one `DatabaseFile`, which is opened before their connections and closed after them.
pub(in crate::store) struct DatabaseFile {
    file: File,
    identity: Option<Identity>,
}

static OPEN_FILES: Mutex<Vec<Weak<DatabaseFile>>> = Mutex::new(Vec::new());

impl DatabaseFile {
    /// The file at `path`, opened unless a store of this process has it open.
    pub(in crate::store) fn open(path: &Path) -> io::Result<Arc<Self>> {
        let mut all = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|file| file.strong_count() > 0);
        let identity = files::identity(path);
        let same = |file: &Weak<Self>| file.upgrade().filter(|file| file.identity == identity);
        if let Some(opened) = all.iter().find_map(same) {
            return Ok(opened);
        }
        let file = File::open(path)?;
        let opened = Arc::new(Self { identity: files::identity_of(&file), file });
        all.push(Arc::downgrade(&opened));
        Ok(opened)
    }

    #[cfg(unix)]
    fn header(&self) -> io::Result<[u8; HEADER]> {
        let mut header = [0; HEADER];
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut header, 0)?;
        Ok(header)
    }
}

/// What was opened, to be compared with what is at the path now.
pub(in crate::store) struct FileGuard {
    path: PathBuf,
    database: Arc<DatabaseFile>,
    /// The write-ahead log and its index.
    beside: [(PathBuf, Option<Identity>); 2],
    /// The greatest change counter that the header had.
    counter: AtomicU32,
    /// When the file was last written, and the greatest revision that it held then.
    written: Mutex<(Option<SystemTime>, i64)>,
    /// Whether the file holds an older revision than it did.
    is_older: AtomicBool,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Fault {
    /// The path leads to no file.
    Removed,
    /// The path leads to another file.
    Replaced,
    /// The file was overwritten or cut short by another program.
    Overwritten,
}

impl Fault {
    const fn text(self) -> &'static str {
        match self {
            Self::Removed => "was removed",
            Self::Replaced => "was replaced by another file",
            Self::Overwritten => "was overwritten by another program",
        }
    }
}

impl FileGuard {
    /// Guards the files of a connection that is open and has read.
    pub(in crate::store) fn new(path: &Path, database: Arc<DatabaseFile>, connection: &Connection) -> Self {
        // SQLite puts its other files beside the end of all links.
        let file = connection.path().map_or_else(|| path.to_owned(), PathBuf::from);
        let beside = ["-wal", "-shm"].map(|end| {
            let file = beside(&file, end);
            let identity = files::identity(&file);
            (file, identity)
        });
        Self {
            path: path.to_owned(),
            database,
            beside,
            counter: AtomicU32::new(0),
            written: Mutex::default(),
            is_older: AtomicBool::new(false),
        }
    }

    /// The path that the database was opened by.
    pub(in crate::store) fn path(&self) -> &Path {
        &self.path
    }

    /// Compares the revision in the file with what it was, when the file has been written since: an older copy that is
    /// put over it, byte by byte, may have the very header. Costs opening a connection.
    pub(in crate::store) fn check_revision(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.database.file.metadata().and_then(|about| about.modified()).ok();
        let is_there = || compare(&self.path, self.database.identity).is_ok();
        if changed == written.0 || !is_there() {
            return;
        }
        // While a checkpoint writes the file it may not be readable; then it is looked at again.
        if let Ok(revision) = revision_of_file(&self.path)
            && is_there()
        {
            self.is_older.store(revision < written.1, Ordering::Release);
            *written = (changed, written.1.max(revision));
        }
    }

    /// Whether every file is still the one that was opened.
    ///
    /// # Errors
    /// [`StoreError::Replaced`] with the first file that is not.
    pub(in crate::store) fn check(&self) -> Result<(), StoreError> {
        // A checkpoint that writes the header at this moment is no fault: such a header is read again.
        let header = self.check_header().or_else(|_| self.check_header());
        let database = compare(&self.path, self.database.identity).and(header);
        database.map_err(|fault| self.error(&self.path, fault))?;
        for (file, identity) in &self.beside {
            compare(file, *identity).map_err(|fault| self.error(file, fault))?;
        }
        Ok(())
    }

    /// Whether bringing the write-ahead log into the file, and removing it, could touch a file of somebody else. Where
    /// only the log's name is gone, doing so saves what the log holds.
    pub(in crate::store) fn must_abandon(&self) -> bool {
        let header = self.check_header().or_else(|_| self.check_header());
        compare(&self.path, self.database.identity).and(header).is_err()
            || self.beside.iter().any(|(file, identity)| compare(file, *identity) == Err(Fault::Replaced))
    }

    fn error(&self, file: &Path, fault: Fault) -> StoreError {
        StoreError::Replaced {
            database: self.path.clone(),
            file: file.to_owned(),
            fault: fault.text(),
            saves: !self.must_abandon(),
        }
    }

    #[cfg(unix)]
    fn check_header(&self) -> Result<(), Fault> {
        let header = match self.database.header() {
            Ok(header) => header,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Fault::Overwritten),
            // Writing says more of a disk that fails.
            Err(_) => return Ok(()),
        };
        // The change counter only grows; 2 and 2 are the versions of a file with a write-ahead log, which no backup has.
        let counter = u32::from_be_bytes([header[24], header[25], header[26], header[27]]);
        let seen = self.counter.load(Ordering::Acquire);
        let grew = counter.wrapping_sub(seen) < u32::MAX / 2;
        let mut head = [0; 72];
        head.copy_from_slice(&header[..72]);
        let is_ours = is_head_of_ours(&head) && header[18..20] == [2, 2];
        if !is_ours || !grew || self.is_older.load(Ordering::Acquire) {
            return Err(Fault::Overwritten);
        }
        if counter != seen {
            self.counter.store(counter, Ordering::Release);
        }
        Ok(())
    }

    #[cfg(not(unix))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "elsewhere an open file cannot be replaced"
    )]
    fn check_header(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Whether `path` leads to the file with this identity.
fn compare(path: &Path, identity: Option<Identity>) -> Result<(), Fault> {
    // Where files have no identity, one that is open cannot be replaced.
    if identity.is_none() {
        return Ok(());
    }
    match files::identity(path) {
        now if now == identity => Ok(()),
        Some(_) => Err(Fault::Replaced),
        None => match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Removed),
            // A path that cannot be looked at, for want of a right, may still lead there.
            _ => Ok(()),
        },
    }
}
