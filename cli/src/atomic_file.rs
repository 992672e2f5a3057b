//! A file that appears only when it is complete: written to a temporary file in the same directory and then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};

use tempfile::TempPath;
use tidings_client::Service;
use tidings_core::atomic_file;

use crate::prelude::*;
use crate::progress;

pub(crate) struct AtomicFile {
    path: PathBuf,
    pub(crate) out: BufWriter<File>,
    /// The file and the path that it gets; `None` for a pipe or a device, which cannot be replaced.
    temporary: Option<(TempPath, PathBuf)>,
}

/// Refuses `-`, which other commands take for standard output.
pub(crate) fn refuse_stdout(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::usage(
            "this command does not write to standard output: name a file (./- is a file of this name)",
        ));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    Owner,
    Umask,
}

impl AtomicFile {
    /// An existing file at `path` stays until [`AtomicFile::keep`].
    pub(crate) fn beside(service: &Service, path: &Path, readers: Readers) -> Result<Self, Failure> {
        refuse_stdout(path)?;
        if service.database().is_some_and(|(tidings, _)| tidings.owns(path)) {
            let path = path.display();
            let what = "is the database itself, or one of its files";
            return Err(Failure::usage(format!("{path} {what}: name another file")));
        }
        let opened = match fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                progress::end_at_once();
                File::options().write(true).open(path).map(|file| (file, None))
            }
            // A link is followed: its target is replaced, or written if it does not exist.
            _ => atomic_file::place(path).and_then(|place| {
                let (file, temporary) = atomic_file::beside(&place, readers == Readers::Owner)?.into_parts();
                Ok((file, Some((temporary, place))))
            }),
        };
        let (file, temporary) = opened.map_err(|e| unwritable(path, &e))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::with_capacity(1 << 16, file), temporary })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| unwritable(&self.path, &e))
    }

    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { path, mut out, temporary } = self;
        let keep = || -> io::Result<()> {
            out.flush()?;
            if let Some((temporary, place)) = temporary {
                out.get_ref().sync_all()?;
                temporary.persist(place).map_err(|error| error.error)?;
            }
            Ok(())
        };
        keep().map_err(|e| unwritable(&path, &e))
    }
}

pub(crate) fn unwritable(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::system(format!("cannot write {}: {error}", path.display()))
}
