//! The file of the profiles, which only its owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use tidings_core::atomic_file;
use zeroize::Zeroizing;

use super::file::Profiles;
use crate::atomic_file::unwritable;
use crate::failure::Failure;
use crate::input::unreadable;

/// Exists after the first sign-in.
pub(crate) struct Store {
    directory: PathBuf,
}

/// The profiles while no other command changes them.
pub(crate) struct Locked {
    path: PathBuf,
    pub(crate) profiles: Profiles,
    /// Dropped, and so unlocked, last.
    _lock: File,
}

impl Store {
    pub(crate) fn of_user() -> Result<Self, Failure> {
        directory().map(Self::at).ok_or_else(|| {
            Failure::usage("there is no place for sign-ins: set HOME or XDG_CONFIG_HOME to a directory")
        })
    }

    fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("profiles.toml")
    }

    pub(crate) fn profiles(&self) -> Result<Profiles, Failure> {
        let path = self.file();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Profiles::default()),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        check_owner_only(&file, &path)?;
        let mut text = Zeroizing::new(String::new());
        file.read_to_string(&mut text).map_err(|error| unreadable(&path, &error))?;
        Profiles::parse(&text, &path)
    }

    /// Creates the directory if it does not exist, and waits for other commands.
    pub(crate) fn lock(&self) -> Result<Locked, Failure> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let directory = &self.directory;
        builder.create(directory).map_err(|error| unwritable(directory, &error))?;
        let path = directory.join("lock");
        let lock = options.open(&path).and_then(|lock| lock.lock().map(|()| lock));
        let lock = lock.map_err(|error| unwritable(&path, &error))?;
        Ok(Locked { path: self.file(), profiles: self.profiles()?, _lock: lock })
    }
}

impl Locked {
    pub(crate) fn sign_out(mut self, name: &str) -> Result<(), Failure> {
        if let Some(profile) = self.profiles.0.get_mut(name) {
            (profile.token, profile.expires) = (None, None);
        }
        self.save().map(drop)
    }

    /// At no time can another user read the file, or any reader see half of it.
    pub(crate) fn save(self) -> Result<Profiles, Failure> {
        let (path, text) = (&self.path, self.profiles.to_toml()?);
        let write = || -> io::Result<()> {
            // A link is followed: its target is replaced.
            let place = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let mut draft = atomic_file::beside(&place, true)?;
            draft.write_all(text.as_bytes())?;
            draft.as_file().sync_all()?;
            draft.persist(place).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| unwritable(path, &error))?;
        Ok(self.profiles)
    }
}

fn check_owner_only(file: &File, path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let about = file.metadata().map_err(|error| unreadable(path, &error))?;
        if about.permissions().mode() & 0o077 != 0 {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is not used, because other users can access it: chmod 600 {path}, and sign in again if they may \
                 have read it"
            )));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}

fn directory() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_CONFIG_HOME").or_else(|| {
        if cfg!(windows) { named("APPDATA") } else { named("HOME").map(|home| home.join(".config")) }
    });
    Some(base?.join("tidings"))
}

#[cfg(test)]
mod tests {
    use super::super::file::Profile;
    use super::*;

    fn profile() -> Profile {
        Profile {
            server: "https://news.example.org".parse().unwrap(),
            member: Some("ann".into()),
            administrator: true,
            tls_ca: None,
            expires: None,
            token: Some(Zeroizing::new("eyJ.first".to_owned())),
        }
    }

    fn stored(store: &Store) {
        let mut locked = store.lock().unwrap();
        locked.profiles.0.insert("ann".into(), profile());
        locked.save().unwrap();
    }

    #[test]
    fn a_profile_is_stored_and_signed_out() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().join("한글").join("tidings"));
        assert!(store.profiles().unwrap() == Profiles::default());
        stored(&store);
        assert!(store.profiles().unwrap().get("ann") == Some(&profile()));
        store.lock().unwrap().sign_out("ann").unwrap();
        let signed_out = store.profiles().unwrap();
        assert!(signed_out.get("ann").unwrap().token.is_none());
        assert!(!fs::read_to_string(store.file()).unwrap().contains("first"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().to_owned());
        stored(&store);
        assert_eq!(fs::metadata(store.file()).unwrap().permissions().mode() & 0o777, 0o600);
        for open in [0o640, 0o604, 0o620, 0o602, 0o777] {
            fs::set_permissions(store.file(), fs::Permissions::from_mode(open)).unwrap();
            let failure = store.profiles().err().unwrap();
            assert!(failure.message.contains("chmod 600"), "{}", failure.message);
        }
    }
}
