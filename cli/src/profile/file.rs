//! The file of the profiles: which servers `tidings login` has signed in to, as whom, and where the secret of each is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use tidings_client::{Address, Server};
use tidings_core::clock::Timestamp;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// The first lines of the file.
const HEADER: &str = "\
# The servers that `tidings login` has signed in to. There are no secrets in this file.
# It may be edited; the program writes it again without other comments.
";

/// A sign-in on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// The address of the server.
    #[serde(with = "address")]
    pub(crate) server: Address,
    /// The member who signed in; `None` for an API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Whether the member was an administrator at the sign-in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) administrator: bool,
    /// The file with the certificates of the server or of its authorities; `None` for those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// When the sign-in expires, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
    /// Where the secret is; `None` after signing out.
    #[serde(default, deserialize_with = "place", skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Place>,
}

/// Where a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Place {
    /// In the file.
    File,
}

/// Reads the place of a secret. In a keyring, where an earlier version could put it, it is not found any more: such a profile is
/// signed out.
fn place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Place>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Earlier {
        File,
        Keyring,
    }
    Ok(match Earlier::deserialize(deserializer)? {
        Earlier::File => Some(Place::File),
        Earlier::Keyring => None,
    })
}

/// Returns the server, of which only the certificates in `file` are accepted, if there is one.
///
/// # Errors
/// When the file cannot be read, or does not contain valid certificates.
pub(crate) fn trusting(server: Server, file: Option<&Path>) -> Result<Server, Failure> {
    let Some(file) = file else { return Ok(server) };
    server.trusting(file).map_err(|error| Failure::system(error.to_string()))
}

impl Profile {
    /// Returns the server as the bearer of `secret` sees it; `acting` is the id of the member if operations are called as that
    /// member.
    ///
    /// # Errors
    /// Those of [`trusting`].
    pub(crate) fn connect(&self, secret: Zeroizing<String>, acting: Option<&str>) -> Result<Server, Failure> {
        trusting(Server::new(self.server.clone(), Some(secret), acting), self.tls_ca.as_deref())
    }

    /// Returns who signs in, for people.
    pub(crate) fn who(&self) -> &str {
        self.member.as_deref().unwrap_or("an API key")
    }

    /// Returns whether the member `id` signs in.
    pub(crate) fn is_of(&self, id: &str) -> bool {
        self.member.as_deref().is_some_and(|member| member.eq_ignore_ascii_case(id))
    }

    /// Returns whether the sign-in was made to administer: as an administrator, or with an API key.
    fn administers(&self) -> bool {
        self.administrator || self.member.is_none()
    }
}

/// All profiles by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Profiles(pub(crate) BTreeMap<String, Profile>);

/// Which profile signs in at an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chosen<'a> {
    /// There is none.
    None,
    One(&'a str, &'a Profile),
    /// There are several, with these names.
    Several(Vec<&'a str>),
}

impl Profiles {
    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// When it is no TOML, or has an unknown key or a wrong value; the message has the line.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    }

    /// Returns the text of the file.
    pub(super) fn to_toml(&self) -> Result<String, Failure> {
        let tables = toml::to_string(self);
        let tables =
            tables.map_err(|error| Failure::system(format!("the profiles cannot be written: {error}")))?;
        Ok(format!("{HEADER}\n{tables}"))
    }

    /// Returns a profile by its name.
    pub(crate) fn get(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }

    /// Chooses who signs in at an address: the member `acting`, or else who administers there. A member who is no
    /// administrator signs in without `acting` only if nobody administers.
    pub(crate) fn at(&self, address: &Address, acting: Option<&str>) -> Chosen<'_> {
        let here = || {
            let profiles = self.0.iter().map(|(name, profile)| (&**name, profile));
            profiles.filter(|(_, profile)| profile.server == *address && profile.secret.is_some())
        };
        let mut found: Vec<_> = match acting {
            Some(id) => here().filter(|(_, profile)| profile.is_of(id)).collect(),
            None => here().filter(|(_, profile)| profile.administers()).collect(),
        };
        if found.is_empty() && acting.is_none() {
            found = here().collect();
        }
        match found[..] {
            [] => Chosen::None,
            [(name, profile)] => Chosen::One(name, profile),
            _ => Chosen::Several(found.into_iter().map(|(name, _)| name).collect()),
        }
    }

    /// Returns whether `--server` alone chooses this profile.
    pub(crate) fn is_default(&self, name: &str) -> bool {
        self.get(name).is_some_and(
            |profile| matches!(self.at(&profile.server, None), Chosen::One(chosen, _) if chosen == name),
        )
    }
}

/// An address as a text.
mod address {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tidings_client::Address;

    pub(super) fn serialize<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(address)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        ["ann@news.example.org"]
        server = "https://news.example.org/"
        member = "ann"
        administrator = true
        expires = "2026-12-20T08:36:00Z"
        secret = "file"

        [ben]
        server = "https://news.example.org"
        member = "ben"
        secret = "file"

        [old]
        server = "https://news.example.org"
        member = "cem"
        administrator = true
        secret = "keyring"

        [here]
        server = "http://127.0.0.1:8080"
        member = "ann"
        secret = "file"
    "#;

    fn parse(text: &str) -> Result<Profiles, String> {
        Profiles::parse(text, Path::new("profiles.toml")).map_err(|failure| failure.message().to_owned())
    }

    fn name(chosen: Chosen<'_>) -> String {
        match chosen {
            Chosen::None => "none".to_owned(),
            Chosen::One(name, _) => name.to_owned(),
            Chosen::Several(names) => names.join(" "),
        }
    }

    #[test]
    fn a_file_that_was_written_reads_the_same() {
        let profiles = parse(FILE).unwrap();
        assert_eq!(parse(&profiles.to_toml().unwrap()), Ok(profiles.clone()));
        assert_eq!(parse(&Profiles::default().to_toml().unwrap()), Ok(Profiles::default()));
        insta::assert_snapshot!(profiles.to_toml().unwrap());
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        for (text, part) in [
            ("[a]\nserver = \"https://a.example\"\ntoken = \"x\"\n", "unknown field `token`"),
            ("[a]\n\nserver = \"http://a.example\"\n", "use https"),
            ("[a]\nserver = \"https://a.example\"\nsecret = \"pocket\"\n", "unknown variant `pocket`"),
            ("[a]\nserver = \"https://a.example\"\nserver = \"https://b.example\"\n", "duplicate key"),
        ] {
            let message = parse(text).unwrap_err();
            let has_line = message.starts_with("profiles.toml: ") && message.contains("line 3");
            assert!(has_line && message.contains(part), "{message}");
        }
        assert!(parse("[a]\nmember = \"ann\"\n").unwrap_err().contains("missing field `server`"));
    }

    #[test]
    fn an_address_chooses_who_administers_there_or_the_acting_member() {
        let mut profiles = parse(FILE).unwrap();
        let news: Address = "https://news.example.org".parse().unwrap();
        let here: Address = "http://127.0.0.1:8080/".parse().unwrap();
        assert_eq!(name(profiles.at(&news, None)), "ann@news.example.org");
        assert_eq!(name(profiles.at(&news, Some("BEN"))), "ben");
        assert_eq!(name(profiles.at(&news, Some("cem"))), "none", "a keyring is not read");
        assert_eq!(name(profiles.at(&here, None)), "here", "nobody administers there");
        assert_eq!(name(profiles.at(&here, Some("ben"))), "none");
        assert!(profiles.is_default("ann@news.example.org") && profiles.is_default("here"));
        assert!(!profiles.is_default("ben") && !profiles.is_default("old") && !profiles.is_default("none"));
        let key = Profile { member: None, ..profiles.0["ben"].clone() };
        profiles.0.insert("key".into(), key);
        assert_eq!(name(profiles.at(&news, None)), "ann@news.example.org key");
        assert!(!profiles.is_default("key"));
    }
}
