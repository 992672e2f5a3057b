//! A file that appears only when it is complete: it is written to a temporary file in the same directory and then
//! renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tidings_access::Service;
use tidings_core::draft_file;

use crate::failure::Failure;

/// A file that is being written.
pub(crate) struct WholeFile {
    path: PathBuf,
    out: Out,
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Only its owner.
    Owner,
    /// Everyone whom the `umask` allows.
    Umask,
}

enum Out {
    /// A temporary file in the same directory.
    Beside(BufWriter<NamedTempFile>),
    /// The file itself, because a pipe or a device cannot be replaced.
    There(BufWriter<File>),
}

impl WholeFile {
    /// Starts writing a file. An existing file at `path` stays until [`WholeFile::keep`].
    ///
    /// # Errors
    /// When it cannot be written; a usage failure if it is a file of the open database.
    pub(crate) fn beside(service: &Service, path: &Path, readers: Readers) -> Result<Self, Failure> {
        if service.database().is_some_and(|(tidings, _)| tidings.owns(path)) {
            let path = path.display();
            let what = "is the database itself, or one of its files";
            return Err(Failure::usage(format!("{path} {what}: name another file")));
        }
        let out = match fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                File::options().write(true).open(path).map(|file| Out::There(BufWriter::new(file)))
            }
            _ => {
                // A link is followed: its target is replaced.
                let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                draft_file::beside(&place, readers == Readers::Owner)
                    .map(|file| Out::Beside(BufWriter::with_capacity(1 << 16, file)))
            }
        };
        Ok(Self { out: out.map_err(|e| unwritable(path, &e))?, path: path.to_owned() })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|e| unwritable(&self.path, &e))
    }

    /// Moves the file to its path and flushes it to disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { path, out } = self;
        let kept = match out {
            Out::There(mut out) => out.flush(),
            Out::Beside(out) => out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
                file.as_file().sync_all()?;
                // A link is followed: its target is replaced.
                let place = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                file.persist(place).map_err(|error| error.error)?;
                Ok(())
            }),
        };
        kept.map_err(|e| unwritable(&path, &e))
    }
}

impl io::Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Beside(out) => out.write(bytes),
            Out::There(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Beside(out) => out.flush(),
            Out::There(out) => out.flush(),
        }
    }
}

/// Returns the failure to write a file.
pub(crate) fn unwritable(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::system(format!("cannot write {}: {error}", path.display()))
}
