//! The secrets of the profiles, in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zeroize::{Zeroize as _, Zeroizing};

use super::file::{Place, Profile};
use super::write_private;
use crate::failure::Failure;
use crate::input::unreadable;

/// The secrets of the profiles.
pub(super) struct Secrets {
    /// The file.
    pub(super) path: PathBuf,
}

impl Secrets {
    /// Returns the secret of a profile; `None` if it is not there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn get(&self, name: &str, profile: &Profile) -> Result<Option<Zeroizing<String>>, Failure> {
        match profile.secret {
            None => Ok(None),
            Some(Place::File) => Ok(self.read()?.0.remove(&entry(name, profile)).map(Zeroizing::new)),
        }
    }

    /// Stores the secret of a profile in place of an earlier one, and sets its place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn insert(&self, name: &str, profile: &mut Profile, secret: &str) -> Result<(), Failure> {
        let mut contents = self.read()?;
        if let Some(mut earlier) = contents.0.insert(entry(name, profile), secret.to_owned()) {
            earlier.zeroize();
        }
        profile.secret = Some(Place::File);
        self.write(&contents)
    }

    /// Removes the secret of a profile.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove(&self, name: &str, profile: &mut Profile) -> Result<(), Failure> {
        match profile.secret.take() {
            None => Ok(()),
            Some(Place::File) => self.forget(&entry(name, profile)),
        }
    }

    /// Removes a secret from the file.
    fn forget(&self, entry: &str) -> Result<(), Failure> {
        let mut contents = self.read()?;
        match contents.0.remove(entry) {
            Some(mut secret) => {
                secret.zeroize();
                self.write(&contents)
            }
            None => Ok(()),
        }
    }

    fn read(&self) -> Result<Contents, Failure> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::default()),
            Err(error) => return Err(unreadable(&self.path, &error)),
        };
        check_owner_only(&file, &self.path)?;
        let mut text = Zeroizing::new(String::new());
        file.read_to_string(&mut text).map_err(|error| unreadable(&self.path, &error))?;
        Contents::parse(&text, &self.path)
    }

    fn write(&self, contents: &Contents) -> Result<(), Failure> {
        let text = toml::to_string(&contents.0).map(Zeroizing::new);
        // The message of this error could quote a secret.
        let text = text.map_err(|_| Failure::system("the secrets cannot be written"))?;
        write_private(&self.path, text.as_bytes())
    }
}

/// Returns the key of a secret. It has the address, so that an edited profile does not send the secret to another server.
fn entry(name: &str, profile: &Profile) -> String {
    format!("{name} {}", profile.server)
}

/// The content of the file: secrets by [`entry`].
#[derive(Default, Deserialize)]
struct Contents(BTreeMap<String, String>);

impl Contents {
    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            // The message of the error quotes the line, which has a secret.
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let path = path.display();
            Failure::usage(format!(
                "{path}, line {line}: not a secret that tidings login has written: remove the file, and sign in again"
            ))
        })
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        self.0.values_mut().for_each(String::zeroize);
    }
}

/// Checks that other users of the machine cannot read a file.
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
    fn a_secret_belongs_to_a_profile_and_its_address() {
        let dir = tempfile::tempdir().unwrap();
        let secrets = Secrets { path: dir.path().join("secrets.toml") };
        let (mut ann, mut other) = (profile(), profile());
        assert_eq!(secrets.get("a", &ann).unwrap(), None);
        secrets.insert("a", &mut ann, "first").unwrap();
        secrets.insert("a", &mut ann, "second\n\"'").unwrap();
        secrets.insert("b", &mut other, "third").unwrap();
        assert_eq!(ann.secret, Some(Place::File));
        assert_eq!(secrets.get("a", &ann).unwrap().as_deref().map(String::as_str), Some("second\n\"'"));
        let elsewhere = Profile { server: "https://evil.example.org".parse().unwrap(), ..ann.clone() };
        assert_eq!(secrets.get("a", &elsewhere).unwrap(), None, "the profile was edited");
        secrets.remove("a", &mut ann).unwrap();
        assert_eq!((ann.secret, secrets.get("a", &ann).unwrap()), (None, None));
        assert!(secrets.get("b", &other).unwrap().is_some());
        let text = std::fs::read_to_string(&secrets.path).unwrap();
        assert!(!text.contains("second") && !text.contains("first"), "{text}");
    }

    #[test]
    fn the_message_about_a_damaged_file_has_no_secret() {
        for (text, line) in [("a = \"hidden\"\nb = \"hidden\n", 2), ("a = 1\n", 1), ("hidden", 1)] {
            let failure = Contents::parse(text, Path::new("secrets.toml")).err().unwrap();
            let message = failure.message();
            assert!(message.starts_with(&format!("secrets.toml, line {line}: ")), "{message}");
            assert!(!message.contains("hidden"), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let secrets = Secrets { path: dir.path().join("secrets.toml") };
        let mut ann = profile();
        secrets.insert("a", &mut ann, "x").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&secrets.path), 0o600);
        for open in [0o640, 0o604, 0o620, 0o602, 0o777] {
            std::fs::set_permissions(&secrets.path, std::fs::Permissions::from_mode(open)).unwrap();
            let failure = secrets.get("a", &ann).unwrap_err();
            assert!(failure.message().contains("chmod 600"), "{}", failure.message());
        }
    }
}
