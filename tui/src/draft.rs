//! Drafts of notices, saved to disk while an administrator writes: closing the terminal or stopping the program or the
//! machine loses at most the text typed since the last tick. Beside them is which feedback the administrator has read.
//!
//! The directory `<database>.drafts`, next to the database, contains one file per draft, which only its owner can
//! read; for each server there is a directory in the user's directory of states. A draft is deleted when it is published or
//! discarded.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tidings_client::Address;
use tidings_core::clock::Timestamp;

use crate::placing::Placing;
use crate::problem::Problem;

/// A draft as it is stored. The files contain the names of the fields, so the names must not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedDraft {
    /// The draft's name, which is also the name of its file.
    pub(crate) key: String,
    /// The notice that the draft changes; `None` for a new notice.
    pub(crate) notice: Option<String>,
    /// The draft on the server that it changes. Files of earlier versions do not have it.
    #[serde(default)]
    pub(crate) shared: Option<String>,
    pub(crate) title: String,
    pub(crate) post: String,
    /// Whether the notice will be shown once it is published.
    pub(crate) shown: bool,
    /// When, where and to whom the notice will be visible. Files of earlier versions do not have it.
    #[serde(default)]
    pub(crate) placing: Placing,
    /// When the draft was saved. The file has milliseconds since 1970, UTC.
    #[serde(with = "millis")]
    pub(crate) date: Timestamp,
}

/// A point in time as a number of milliseconds.
mod millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(date: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        date.as_millis().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_millis)
    }
}

/// The name of the file with the ids of the feedback that was read, one per line. It is no draft, as those end in `.json`.
const READ: &str = "feedback.read";
/// The maximum number of these ids, twice as many as are listed.
const READ_MAX: usize = 2_000;

/// The directory of the drafts.
#[derive(Clone, Debug)]
pub(crate) struct Drafts {
    directory: PathBuf,
    /// The last change to each draft, so that a delayed change from another thread does not overwrite a newer one.
    latest: Arc<Mutex<HashMap<String, Latest>>>,
}

/// The last change to a draft.
#[derive(Clone, Copy, Debug)]
struct Latest {
    date: Timestamp,
    removed: bool,
}

/// Returns the directory of the drafts of a database: `<database>.drafts`.
pub fn drafts_beside(database: &Path) -> PathBuf {
    let mut directory = database.to_owned().into_os_string();
    directory.push(".drafts");
    directory.into()
}

/// Returns the directory of the drafts of a server: `$XDG_STATE_HOME/tidings/drafts/ADDRESS`, by default in
/// `~/.local/state`. Returns `None` if the user has no home directory.
///
/// Source: XDG Base Directory Specification 0.8.
pub fn drafts_of_server(address: &Address) -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    let state = named.or_else(|| home().map(|home| home.join(".local/state")))?;
    Some(state.join("tidings/drafts").join(directory_of(address)))
}

/// Returns the address with `_` and two digits for characters that could have a meaning in a path, so that different
/// addresses have different names.
fn directory_of(address: &Address) -> String {
    let character = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte).to_string(),
        byte => format!("_{byte:02x}"),
    };
    address.to_string().bytes().map(character).collect()
}

impl Drafts {
    /// Returns the drafts in a directory, which is created with the first of them.
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self { directory, latest: Arc::default() }
    }

    fn file(&self, key: &str) -> PathBuf {
        // The program chooses the keys, but a key that was read from a file must not name a file outside the
        // directory.
        let safe: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
        self.directory.join(safe + ".json")
    }

    /// Saves a draft, replacing its previous version.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn keep(&self, draft: &SavedDraft) -> Result<(), Problem> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let late = |done: &Latest| done.date > draft.date || (done.removed && done.date == draft.date);
        if latest.get(&draft.key).is_some_and(late) {
            return Ok(());
        }
        let file = self.file(&draft.key);
        let written = serde_json::to_vec(draft)
            .map_err(std::io::Error::from)
            .and_then(|bytes| write_private(&self.directory, &file, &bytes));
        written.map_err(|error| Problem::file("save the draft to", &file, &error))?;
        latest.insert(draft.key.clone(), Latest { date: draft.date, removed: false });
        Ok(())
    }

    fn read_file(&self) -> PathBuf {
        self.directory.join(READ)
    }

    /// Returns the ids of the feedback that was read on this machine.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read_feedback(&self) -> Result<HashSet<String>, Problem> {
        match fs::read_to_string(self.read_file()) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(HashSet::new()),
            Err(error) => Err(Problem::file("read", &self.read_file(), &error)),
        }
    }

    /// Adds ids to the feedback that was read.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn mark_read(&self, ids: &[String]) -> Result<(), Problem> {
        // One thread at a time reads and writes the file.
        let _latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read: Vec<String> = self.read_feedback()?.into_iter().collect();
        read.extend(ids.iter().cloned());
        // Ids begin with their time, so those of the oldest feedback are forgotten first.
        read.sort_unstable();
        read.dedup();
        let kept = &read[read.len().saturating_sub(READ_MAX)..];
        let file = self.read_file();
        let written = write_private(&self.directory, &file, (kept.join("\n") + "\n").as_bytes());
        written.map_err(|error| Problem::file("write", &file, &error))
    }

    /// Deletes every version of a draft saved up to `date`, if there is any.
    ///
    /// # Errors
    /// When it cannot be deleted.
    pub(crate) fn remove(&self, key: &str, date: Timestamp) -> Result<(), Problem> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.insert(key.to_owned(), Latest { date, removed: true });
        let file = self.file(key);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Problem::file("delete the draft in", &file, &error))
            }
            _ => Ok(()),
        }
    }

    /// Returns every draft, most recently saved first. Files that are not drafts are skipped.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<SavedDraft>, Problem> {
        let files = match fs::read_dir(&self.directory) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Problem::file("read the drafts in", &self.directory, &error)),
        };
        let files = files.filter_map(Result::ok).map(|file| file.path());
        let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "json"));
        let drafts = files.filter_map(|file| serde_json::from_slice(&fs::read(file).ok()?).ok());
        let mut drafts: Vec<SavedDraft> = drafts.collect();
        drafts.sort_by(|a, b| b.date.cmp(&a.date).then_with(|| a.key.cmp(&b.key)));
        Ok(drafts)
    }
}

/// Replaces a file in a directory, which is created if necessary; only the owner can access both.
fn write_private(directory: &Path, file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    make_private(directory)?;
    // Renaming makes the change atomic, even if the machine stops in the middle.
    let new = file.with_extension("new");
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut opened = options.open(&new)?;
    opened.write_all(bytes)?;
    opened.sync_all()?;
    fs::rename(&new, file)
}

/// Creates a directory, with those above it, that only its owner can access, unless it exists.
fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_core::clock::Timestamp;

    fn kept(key: &str, title: &str, ms: i64) -> SavedDraft {
        SavedDraft {
            key: key.into(),
            notice: None,
            shared: None,
            title: title.into(),
            post: "열 시".into(),
            shown: true,
            placing: Placing::default(),
            date: Timestamp::from_millis(ms),
        }
    }

    #[test]
    fn a_draft_is_stored_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::at(drafts_beside(&dir.path().join("t.db")));
        assert_eq!(drafts.all().unwrap(), []);
        drafts.keep(&kept("a1", "one", 1)).unwrap();
        drafts.keep(&kept("b2", "two", 2)).unwrap();
        drafts.keep(&kept("a1", "one, longer", 3)).unwrap();
        assert_eq!(drafts.all().unwrap(), [kept("a1", "one, longer", 3), kept("b2", "two", 2)]);
        drafts.remove("a1", Timestamp::from_millis(4)).unwrap();
        drafts.remove("a1", Timestamp::from_millis(4)).unwrap();
        assert_eq!(drafts.all().unwrap(), [kept("b2", "two", 2)]);
    }

    #[test]
    fn read_feedback_is_kept_and_the_oldest_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::at(drafts_beside(&dir.path().join("t.db")));
        assert_eq!(drafts.read_feedback().unwrap().len(), 0);
        drafts.mark_read(&["a1".into(), "b2".into()]).unwrap();
        drafts.mark_read(&["b2".into()]).unwrap();
        assert_eq!(drafts.read_feedback().unwrap(), ["a1".to_owned(), "b2".to_owned()].into());
        assert_eq!(drafts.all().unwrap(), [], "it is no draft");
        let many: Vec<String> = (0..READ_MAX).map(|n| format!("c{n:06}")).collect();
        drafts.mark_read(&many).unwrap();
        assert_eq!(drafts.read_feedback().unwrap(), many.into_iter().collect());
    }

    #[test]
    fn a_late_write_does_not_overwrite_a_newer_draft() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::at(drafts_beside(&dir.path().join("t.db")));
        drafts.keep(&kept("a1", "later", 2)).unwrap();
        drafts.keep(&kept("a1", "earlier", 1)).unwrap();
        assert_eq!(drafts.all().unwrap()[0].title, "later");
        drafts.remove("a1", Timestamp::from_millis(3)).unwrap();
        drafts.keep(&kept("a1", "typed before it was removed", 3)).unwrap();
        assert_eq!(drafts.all().unwrap(), []);
        drafts.keep(&kept("a1", "typed since", 4)).unwrap();
        assert_eq!(drafts.all().unwrap()[0].title, "typed since");
    }

    #[test]
    fn a_draft_of_an_earlier_version_is_read() {
        let text = r#"{"key":"a1","notice":null,"title":"one","post":"열 시","shown":true,"date":1}"#;
        assert_eq!(serde_json::from_str::<SavedDraft>(text).unwrap(), kept("a1", "one", 1));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_drafts() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::at(drafts_beside(&dir.path().join("t.db")));
        drafts.keep(&kept("a1", "one", 1)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir.path().join("t.db.drafts")), 0o700);
        assert_eq!(mode(&dir.path().join("t.db.drafts/a1.json")), 0o600);
    }

    #[test]
    fn each_server_has_its_own_private_directory() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        let names =
            ["https://a.example", "https://a.example/b", "https://a.example:8443", "https://a_b.example"]
                .map(|text| directory_of(&address(text)));
        assert_eq!(
            names,
            [
                "https_3a_2f_2fa.example",
                "https_3a_2f_2fa.example_2fb",
                "https_3a_2f_2fa.example_3a8443",
                "https_3a_2f_2fa_5fb.example"
            ]
        );
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state/tidings");
        Drafts::at(state.join("drafts").join(&names[0])).keep(&kept("a1", "one", 1)).unwrap();
        #[cfg(unix)]
        for path in [&state, &state.join("drafts"), &state.join("drafts").join(&names[0])] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_key_names_no_file_outside_the_directory_and_other_files_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = Drafts::at(drafts_beside(&dir.path().join("t.db")));
        drafts.keep(&kept("../../x", "one", 1)).unwrap();
        assert!(dir.path().join("t.db.drafts/x.json").exists());
        fs::write(dir.path().join("t.db.drafts/y.json"), "{").unwrap();
        assert_eq!(drafts.all().unwrap().len(), 1);
    }
}
