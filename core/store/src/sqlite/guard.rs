//! Checks that the files at the database's path are still the ones that were opened.
//!
//! SQLite keeps using the files that it has opened. When they are removed or replaced, commits go to files without a
//! name, and SQLite reports no error; when another program overwrites the database, its content mixes with that of the
//! write-ahead log. [`FileGuard::check`] is cheap enough for every commit: three `stat` calls and one read of 100 bytes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use super::{Connection, is_head_of_ours, revision_of_file};
use crate::StoreError;
use crate::files::{self, beside};

/// A device number and an inode.
type Identity = (u64, u64);

/// In bytes. Source: *Database File Format*, section 1.3, <https://sqlite.org/fileformat2.html>.
#[cfg(unix)]
const HEADER: usize = 100;

/// Closing any descriptor of a file releases the locks that SQLite holds on it in this process. So all stores of a file share one
/// `DatabaseFile`, which is opened before their connections and closed after them.
pub(crate) struct DatabaseFile {
    file: File,
    identity: Option<Identity>,
}

static OPEN_FILES: Mutex<Vec<Weak<DatabaseFile>>> = Mutex::new(Vec::new());

impl DatabaseFile {
    /// Shares the file with other stores of this process that have it open.
    pub(crate) fn open(path: &Path) -> io::Result<Arc<Self>> {
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

pub(super) struct FileGuard {
    path: PathBuf,
    database: Arc<DatabaseFile>,
    /// The write-ahead log and its index.
    beside: [(PathBuf, Option<Identity>); 2],
    /// The greatest change counter that was read from the header.
    counter: AtomicU32,
    /// The file's modification time at the last check of its revision, and the greatest revision so far.
    written: Mutex<(Option<SystemTime>, i64)>,
    /// The revision in the file has decreased.
    is_older: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Removed,
    Replaced,
    /// Another program has overwritten or truncated the file.
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
    /// The connection has already read from the database.
    pub(super) fn new(path: &Path, database: Arc<DatabaseFile>, connection: &Connection) -> Self {
        // SQLite resolves symbolic links and puts its other files next to the result.
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

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the revision in the file has not decreased, if the file was written since the last check: it may have been
    /// overwritten with an older copy that has an equal header. Opens a connection.
    pub(super) fn check_revision(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.database.file.metadata().and_then(|about| about.modified()).ok();
        let is_in_place = || compare(&self.path, self.database.identity).is_ok();
        if changed == written.0 || !is_in_place() {
            return;
        }
        // The file may be unreadable while a checkpoint writes it; the next check tries again.
        if let Ok(revision) = revision_of_file(&self.path)
            && is_in_place()
        {
            self.is_older.store(revision < written.1, Ordering::Release);
            *written = (changed, written.1.max(revision));
        }
    }

    /// The error names the first file that is not the one that was opened.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        // The first read may have seen a header that a checkpoint was writing, so this reads it again.
        let header = self.check_header().or_else(|_| self.check_header());
        let database = compare(&self.path, self.database.identity).and(header);
        database.map_err(|fault| self.error(&self.path, fault))?;
        for (file, identity) in &self.beside {
            compare(file, *identity).map_err(|fault| self.error(file, fault))?;
        }
        Ok(())
    }

    /// Copying the write-ahead log into the database, or removing it, could change a foreign file. Returns false if the log was
    /// only removed, because copying it then saves its content.
    pub(super) fn must_abandon(&self) -> bool {
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
            // If the disk fails, the next write reports a more precise error.
            Err(_) => return Ok(()),
        };
        // The change counter only grows. The version bytes 2 and 2 mean write-ahead log mode, which no backup has.
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
        reason = "on other systems an open file cannot be replaced"
    )]
    fn check_header(&self) -> Result<(), Fault> {
        Ok(())
    }
}

fn compare(path: &Path, identity: Option<Identity>) -> Result<(), Fault> {
    // On systems where files have no identity, an open file cannot be replaced.
    if identity.is_none() {
        return Ok(());
    }
    match files::identity(path) {
        now if now == identity => Ok(()),
        Some(_) => Err(Fault::Replaced),
        None => match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Removed),
            // If access is denied, the file may still be in place.
            _ => Ok(()),
        },
    }
}
