//! The directory with the profiles and their secrets.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use tidings_core::atomic_file;
use zeroize::Zeroizing;

use super::file::{Profile, Profiles};
use super::secret::Secrets;
use crate::atomic_file::unwritable;
use crate::failure::Failure;
use crate::input::unreadable;

/// The directory. It exists after the first sign-in.
pub(crate) struct Store {
    directory: PathBuf,
    secrets: Secrets,
}

/// The directory while no other command changes it.
pub(crate) struct Locked<'a> {
    store: &'a Store,
    profiles: Profiles,
    /// Dropped, and so unlocked, last.
    _lock: File,
}

impl Store {
    /// Returns the directory of this user.
    ///
    /// # Errors
    /// When no variable names it.
    pub(crate) fn of_user() -> Result<Self, Failure> {
        directory().map(Self::at).ok_or_else(|| {
            Failure::usage("there is no place for sign-ins: set HOME or XDG_CONFIG_HOME to a directory")
        })
    }

    fn at(directory: PathBuf) -> Self {
        Self { secrets: Secrets { path: directory.join("secrets.toml") }, directory }
    }

    fn profiles_file(&self) -> PathBuf {
        self.directory.join("profiles.toml")
    }

    /// Returns the path of the file with secrets, for people.
    pub(crate) fn secrets_file(&self) -> &Path {
        &self.secrets.path
    }

    /// Reads the profiles.
    ///
    /// # Errors
    /// When the file cannot be read, or is wrong.
    pub(crate) fn profiles(&self) -> Result<Profiles, Failure> {
        let path = self.profiles_file();
        match fs::read_to_string(&path) {
            Ok(text) => Profiles::parse(&text, &path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Profiles::default()),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    /// Returns the secret of a profile; `None` if it is signed out.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn find_secret(
        &self,
        name: &str,
        profile: &Profile,
    ) -> Result<Option<Zeroizing<String>>, Failure> {
        self.secrets.get(name, profile)
    }

    /// Returns the secret of a profile.
    ///
    /// # Errors
    /// When it cannot be read; a usage failure if the profile is signed out.
    pub(crate) fn secret(&self, name: &str, profile: &Profile) -> Result<Zeroizing<String>, Failure> {
        self.find_secret(name, profile)?.ok_or_else(|| {
            let server = &profile.server;
            Failure::usage(format!(
                "nobody is signed in at {server} with the profile {name}: tidings login --profile {name}"
            ))
        })
    }

    /// Creates the directory if it does not exist, and waits until no other command changes it.
    ///
    /// # Errors
    /// When it cannot be written; the errors of [`Store::profiles`].
    pub(crate) fn lock(&self) -> Result<Locked<'_>, Failure> {
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
        Ok(Locked { store: self, profiles: self.profiles()?, _lock: lock })
    }
}

impl Locked<'_> {
    /// The profiles.
    pub(crate) fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Stores a profile in place of one with the same name, and its secret. Returns the profile as stored.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn insert(
        mut self,
        name: &str,
        mut profile: Profile,
        secret: &str,
    ) -> Result<(Profile, Profiles), Failure> {
        self.store.secrets.insert(name, &mut profile, secret)?;
        self.profiles.0.insert(name.to_owned(), profile.clone());
        if let Err(failure) = self.save() {
            // Without its profile the secret is of no use. The failure to write matters more than one to clean up.
            let _ = self.store.secrets.remove(name, &mut profile);
            return Err(failure);
        }
        Ok((profile, self.profiles))
    }

    /// Removes the secret of a profile.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(crate) fn sign_out(&mut self, name: &str) -> Result<(), Failure> {
        let Some(profile) = self.profiles.0.get_mut(name) else { return Ok(()) };
        self.store.secrets.remove(name, profile)?;
        profile.expires = None;
        self.save()
    }

    /// Removes a profile and its secret.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Failure> {
        self.sign_out(name)?;
        self.profiles.0.remove(name);
        self.save()
    }

    fn save(&self) -> Result<(), Failure> {
        write_private(&self.store.profiles_file(), self.profiles.to_toml()?.as_bytes())
    }
}

/// Replaces a file. At no time can another user read it, and at no time is half of it there.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        // A link is followed: its target is replaced.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut draft = atomic_file::beside(&place, true)?;
        draft.write_all(bytes)?;
        draft.as_file().sync_all()?;
        draft.persist(place).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| unwritable(path, &error))
}

/// Returns the directory of the program's configuration.
fn directory() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_CONFIG_HOME").or_else(|| {
        if cfg!(windows) { named("APPDATA") } else { named("HOME").map(|home| home.join(".config")) }
    });
    Some(base?.join("tidings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile {
            server: "https://news.example.org".parse().unwrap(),
            member: Some("ann".into()),
            administrator: true,
            tls_ca: None,
            expires: None,
            secret: None,
        }
    }

    #[test]
    fn a_profile_is_stored_signed_out_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().join("한글").join("tidings"));
        assert_eq!(store.profiles().unwrap(), Profiles::default());
        let (stored, _) = store.lock().unwrap().insert("ann", profile(), "first").unwrap();
        assert_eq!(store.profiles().unwrap().get("ann"), Some(&stored));
        assert_eq!(*store.secret("ann", &stored).unwrap(), "first");
        store.lock().unwrap().sign_out("ann").unwrap();
        let signed_out = store.profiles().unwrap().get("ann").cloned().unwrap();
        assert_eq!(signed_out.secret, None);
        let failure = store.secret("ann", &signed_out).unwrap_err();
        assert!(failure.message().ends_with("tidings login --profile ann"), "{}", failure.message());
        store.lock().unwrap().remove("ann").unwrap();
        assert_eq!(store.profiles().unwrap(), Profiles::default());
    }

    #[test]
    fn a_sign_in_whose_profile_cannot_be_written_leaves_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path().to_owned());
        let locked = store.lock().unwrap();
        std::fs::create_dir(store.profiles_file()).unwrap();
        assert!(locked.insert("ann", profile(), "first").is_err());
        let secrets = std::fs::read_to_string(store.secrets_file()).unwrap();
        assert!(!secrets.contains("first"), "{secrets}");
    }

    #[test]
    fn commands_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let store = &Store::at(dir.path().to_owned());
        std::thread::scope(|threads| {
            for number in 0..16 {
                threads.spawn(move || {
                    let name = format!("ann{number}");
                    store.lock().unwrap().insert(&name, profile(), &name).unwrap();
                });
            }
        });
        let profiles = store.profiles().unwrap();
        assert_eq!(profiles.0.len(), 16);
        for (name, profile) in &profiles.0 {
            assert_eq!(*store.secret(name, profile).unwrap(), *name);
        }
    }
}
