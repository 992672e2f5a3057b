//! Which feedback the administrator has read: a file on this machine with one id on each line.

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tidings_client::Address;
use tidings_core::atomic_file;

use crate::problem::Problem;

/// Twice as many ids as are listed.
const READ_MAX: usize = 2_000;

/// One thread at a time writes the file. Without a file, no ids are stored.
#[derive(Clone, Debug)]
pub(crate) struct Read(Option<Arc<Mutex<PathBuf>>>);

/// `<database>.read`.
pub fn read_beside(database: &Path) -> PathBuf {
    let mut file = database.to_owned().into_os_string();
    file.push(".read");
    file.into()
}

/// `$XDG_STATE_HOME/tidings/read/ADDRESS`, by default in `~/.local/state`; `None` if the user has no home directory.
/// Source: XDG Base Directory Specification 0.8.
pub fn read_of_server(address: &Address) -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    let state = named.or_else(|| home().map(|home| home.join(".local/state")))?;
    // Different addresses have different names.
    let character = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte).to_string(),
        byte => format!("_{byte:02x}"),
    };
    let name: String = address.to_string().bytes().map(character).collect();
    Some(state.join("tidings/read").join(name))
}

impl Read {
    pub(crate) fn at(file: Option<PathBuf>) -> Self {
        Self(file.map(|file| Arc::new(Mutex::new(file))))
    }

    pub(crate) fn ids(&self) -> Result<HashSet<String>, Problem> {
        let Some(file) = &self.0 else { return Ok(HashSet::new()) };
        read(&file.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, id: &str) -> Result<(), Problem> {
        let Some(file) = &self.0 else { return Ok(()) };
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<String> = read(&file)?.into_iter().chain([id.to_owned()]).collect();
        // Ids begin with their time, so those of the oldest feedback are forgotten first.
        ids.sort_unstable();
        ids.dedup();
        let kept = ids[ids.len().saturating_sub(READ_MAX)..].join("\n") + "\n";
        let write = || {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut new = atomic_file::beside(&file, true)?;
            new.write_all(kept.as_bytes())?;
            new.persist(&*file).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error| Problem::file("write", &file, &error))
    }
}

fn read(file: &Path) -> Result<HashSet<String>, Problem> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(HashSet::new()),
        Err(error) => Err(Problem::file("read", file, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_feedback_is_kept_and_the_oldest_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let file = read_beside(&dir.path().join("state/t.db"));
        let read = Read::at(Some(file.clone()));
        assert_eq!(read.ids().unwrap().len(), 0);
        for id in ["b2", "a1", "b2"] {
            read.add(id).unwrap();
        }
        assert_eq!(read.ids().unwrap(), ["a1".to_owned(), "b2".to_owned()].into());
        let many: Vec<String> = (0..READ_MAX).map(|n| format!("b{n:06}")).collect();
        fs::write(&file, many.join("\n")).unwrap();
        read.add("c3").unwrap();
        let ids = read.ids().unwrap();
        assert!(ids.len() == READ_MAX && ids.contains("c3") && !ids.contains(&many[0]));
        let nowhere = Read::at(None);
        nowhere.add("a1").unwrap();
        assert_eq!(nowhere.ids().unwrap().len(), 0);
    }
}
