//! A file that appears only when it is complete: it is written to a temporary file in the same directory and then
//! renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tidings_client::Service;
use tidings_core::atomic_file;

use crate::failure::Failure;
use crate::interrupt;

pub(crate) struct AtomicFile {
    path: PathBuf,
    out: Out,
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

enum Out {
    /// A temporary file in the same directory, and the path of the file that it becomes.
    Beside(BufWriter<NamedTempFile>, PathBuf),
    /// The file itself, because a pipe or a device cannot be replaced.
    There(BufWriter<File>),
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
        let out = match fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                interrupt::end_at_once();
                File::options().write(true).open(path).map(|file| Out::There(BufWriter::new(file)))
            }
            // A link is followed: its target is replaced, or written if it does not exist.
            _ => atomic_file::place(path).and_then(|place| {
                let file = atomic_file::beside(&place, readers == Readers::Owner)?;
                Ok(Out::Beside(BufWriter::with_capacity(1 << 16, file), place))
            }),
        };
        Ok(Self { out: out.map_err(|e| unwritable(path, &e))?, path: path.to_owned() })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes).map_err(|e| unwritable(&self.path, &e))
    }

    /// Flushes the file to disk and moves it to its path.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { path, out } = self;
        let kept = match out {
            Out::There(mut out) => out.flush(),
            Out::Beside(out, place) => {
                out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
                    file.as_file().sync_all()?;
                    file.persist(place).map_err(|error| error.error)?;
                    Ok(())
                })
            }
        };
        kept.map_err(|e| unwritable(&path, &e))
    }
}

impl io::Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Beside(out, _) => out.write(bytes),
            Out::There(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Beside(out, _) => out.flush(),
            Out::There(out) => out.flush(),
        }
    }
}

pub(crate) fn unwritable(path: &Path, error: &impl std::fmt::Display) -> Failure {
    Failure::system(format!("cannot write {}: {error}", path.display()))
}
