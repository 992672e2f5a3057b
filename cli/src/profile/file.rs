use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidings_client::{Address, Server};
use tidings_core::clock::Timestamp;
use zeroize::Zeroizing;

use crate::failure::Failure;

const HEADER: &str = "\
# The servers that `tidings login` has signed in to, with their secrets: nobody else may read this file.
# It may be edited; the program writes it again without other comments.
";

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Profile {
    #[serde(with = "address")]
    pub(crate) server: Address,
    /// `None` for an API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Whether the member was an administrator at the sign-in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) administrator: bool,
    /// The file with the certificates of the server or of its authorities; `None` for those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_ca: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
    /// The access token or the API key; `None` after signing out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Zeroizing<String>>,
}

pub(crate) fn trusting(server: Server, file: Option<&Path>) -> Result<Server, Failure> {
    let Some(file) = file else { return Ok(server) };
    server.trusting(file).map_err(|error| Failure::system(error.to_string()))
}

impl Profile {
    pub(crate) fn connect(&self, secret: Zeroizing<String>, acting: Option<&str>) -> Result<Server, Failure> {
        trusting(Server::new(self.server.clone(), Some(secret), acting), self.tls_ca.as_deref())
    }

    pub(crate) fn token(&self, name: &str) -> Result<Zeroizing<String>, Failure> {
        self.token.clone().ok_or_else(|| {
            let server = &self.server;
            Failure::usage(format!(
                "nobody is signed in at {server} with the profile {name}: tidings login --profile {name}"
            ))
        })
    }

    pub(crate) fn who(&self) -> &str {
        self.member.as_deref().unwrap_or("an API key")
    }

    pub(crate) fn is_of(&self, id: &str) -> bool {
        self.member.as_deref().is_some_and(|member| member.eq_ignore_ascii_case(id))
    }

    /// As an administrator, or with an API key.
    fn administers(&self) -> bool {
        self.administrator || self.member.is_none()
    }
}

#[derive(Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Profiles(pub(crate) BTreeMap<String, Profile>);

impl Profiles {
    /// The error contains the line number, but not the text of the line, which may be a secret.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            Failure::usage(format!("{}, line {line}: {}", path.display(), error.message()))
        })
    }

    pub(super) fn to_toml(&self) -> Result<Zeroizing<String>, Failure> {
        let tables = toml::to_string(self).map(Zeroizing::new);
        // The message of this error could quote a secret.
        let tables = tables.map_err(|_| Failure::system("the profiles cannot be written"))?;
        Ok(Zeroizing::new(format!("{HEADER}\n{}", *tables)))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }

    /// The sign-in of `acting`; without it, the one that administers, or else the only one. Fails if several match.
    pub(crate) fn at(
        &self,
        address: &Address,
        acting: Option<&str>,
    ) -> Result<Option<(&str, &Profile)>, Failure> {
        let here = || {
            let profiles = self.0.iter().map(|(name, profile)| (&**name, profile));
            profiles.filter(|(_, profile)| profile.server == *address && profile.token.is_some())
        };
        let mut found: Vec<_> = match acting {
            Some(id) => here().filter(|(_, profile)| profile.is_of(id)).collect(),
            None => here().filter(|(_, profile)| profile.administers()).collect(),
        };
        if found.is_empty() && acting.is_none() {
            found = here().collect();
        }
        only(&found)
    }

    pub(crate) fn is_default(&self, name: &str) -> bool {
        self.get(name).is_some_and(
            |profile| matches!(self.at(&profile.server, None), Ok(Some((chosen, _))) if chosen == name),
        )
    }
}

pub(crate) fn only<'a>(found: &[(&'a str, &'a Profile)]) -> Result<Option<(&'a str, &'a Profile)>, Failure> {
    if found.len() > 1 {
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        return Err(Failure::usage(format!(
            "there are several sign-ins: choose one with --profile: {names}"
        )));
    }
    Ok(found.first().copied())
}

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

/// In characters.
const NAME_MAX: usize = 200;

/// Shells and people must read a name as one word.
pub(crate) fn check_name(name: &str) -> Result<&str, Failure> {
    if !name.is_empty()
        && !name.starts_with('-')
        && name.chars().count() <= NAME_MAX
        && name.chars().all(is_in_name)
    {
        return Ok(name);
    }
    let rule = "the name of a profile is letters, digits, - _ . : and @, and does not begin with -";
    Err(Failure::invalid(name, "'--profile <NAME>'", rule))
}

fn is_in_name(character: char) -> bool {
    character.is_alphanumeric() || "-_.:@".contains(character)
}

/// Such as `ann@tidings.example.org`; without an id, for an API key.
pub(crate) fn default_name(address: &Address, id: Option<&str>) -> String {
    let address = address.to_string();
    let host = address.split_once("://").map_or(&*address, |(_, host)| host);
    let name = format!("{}@{host}", id.unwrap_or("key"));
    let name = name.chars().map(|character| if is_in_name(character) { character } else { '-' });
    name.take(NAME_MAX).collect::<String>().trim_start_matches('-').to_lowercase()
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
        token = "eyJ.first"

        [ben]
        server = "https://news.example.org"
        member = "ben"
        token = "eyJ.second"

        [old]
        server = "https://news.example.org"
        member = "cem"
        administrator = true
        secret = "file"

        [here]
        server = "http://127.0.0.1:8080"
        member = "ann"
        token = "eyJ.third"
    "#;

    fn parse(text: &str) -> Result<Profiles, String> {
        Profiles::parse(text, Path::new("profiles.toml")).map_err(|failure| failure.message)
    }

    fn name(chosen: Result<Option<(&str, &Profile)>, Failure>) -> String {
        match chosen {
            Ok(chosen) => chosen.map_or("none", |(name, _)| name).to_owned(),
            Err(failure) => failure.message.rsplit_once(": ").unwrap().1.to_owned(),
        }
    }

    #[test]
    fn a_file_that_was_written_reads_the_same() {
        let profiles = parse(FILE).unwrap();
        assert!(parse(&profiles.to_toml().unwrap()) == Ok(parse(FILE).unwrap()));
        assert!(parse(&Profiles::default().to_toml().unwrap()) == Ok(Profiles::default()));
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_line_and_without_secrets() {
        for (text, part) in [
            ("[a]\n\nserver = \"http://a.example\"\n", "use https"),
            ("[a]\nserver = \"https://a.example\"\nserver = \"https://b.example\"\n", "duplicate key"),
            ("[a]\nserver = \"https://a.example\"\ntoken = \"hidden\n", ""),
            ("[a]\nserver = \"https://a.example\"\ntoken = hidden\n", ""),
        ] {
            let message = parse(text).err().unwrap();
            assert!(message.starts_with("profiles.toml, line 3: ") && message.contains(part), "{message}");
            assert!(!message.contains("hidden"), "{message}");
        }
        assert!(parse("[a]\nmember = \"ann\"\n").err().unwrap().contains("missing field `server`"));
    }

    #[test]
    fn an_address_chooses_who_administers_there_or_the_acting_member() {
        let mut profiles = parse(FILE).unwrap();
        let news: Address = "https://news.example.org".parse().unwrap();
        let here: Address = "http://127.0.0.1:8080/".parse().unwrap();
        assert_eq!(name(profiles.at(&news, None)), "ann@news.example.org");
        assert_eq!(name(profiles.at(&news, Some("BEN"))), "ben");
        let elsewhere = name(profiles.at(&news, Some("cem")));
        assert_eq!(elsewhere, "none", "an earlier version kept secrets elsewhere");
        assert_eq!(name(profiles.at(&here, None)), "here", "nobody administers there");
        assert_eq!(name(profiles.at(&here, Some("ben"))), "none");
        assert!(profiles.is_default("ann@news.example.org") && profiles.is_default("here"));
        assert!(!profiles.is_default("ben") && !profiles.is_default("old") && !profiles.is_default("none"));
        let key = Profile { member: None, ..profiles.0["ben"].clone() };
        profiles.0.insert("key".into(), key);
        assert_eq!(name(profiles.at(&news, None)), "ann@news.example.org, key");
        assert!(!profiles.is_default("key"));
    }

    #[test]
    fn a_name_is_made_of_the_member_and_the_host() {
        for (address, id, name) in [
            ("https://tidings.example.org", Some("Ann"), "ann@tidings.example.org"),
            ("https://tidings.example.org/", None, "key@tidings.example.org"),
            ("https://example.org/news", Some("s2026/1"), "s2026-1@example.org-news"),
            ("http://[::1]:8080", Some("-x"), "x@-::1-:8080"),
        ] {
            let made = default_name(&address.parse().unwrap(), id);
            assert_eq!(made, name);
            assert_eq!(check_name(&made).unwrap(), made);
        }
    }

    #[test]
    fn a_name_is_one_word() {
        for name in ["campus", "한글", "a.b_c-d:e@f"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "-a", "a b", "a\n", "a'b", "$a", &"x".repeat(NAME_MAX + 1)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
