//! Names databases: an SQLite file by its path, or a database of a PostgreSQL server by its URL.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::files;

/// The place of a database.
///
/// A text or a path that begins with `postgres:` or `postgresql:` is a URL; anything else is the path of an SQLite
/// file. So `./postgres:a` names a file. A malformed URL is never taken for a path: opening it fails.
///
/// `Display` and `Debug` mask the password of a URL.
///
/// ```
/// use std::path::PathBuf;
/// # use tidings_store as tidings_core;
/// use tidings_core::Location;
///
/// assert_eq!(Location::from("campus.db"), Location::File(PathBuf::from("campus.db")));
/// let server = Location::from("postgres://ann:secret@db.example.org/campus");
/// assert!(matches!(server, Location::Postgres(_)));
/// assert_eq!(server.to_string(), "postgres://ann:***@db.example.org/campus");
/// assert_eq!(server.stem(), PathBuf::from("campus"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    File(PathBuf),
    /// A database of a PostgreSQL server. Needs the feature `postgres`.
    Postgres(PostgresUrl),
}

/// The URL of a database of a PostgreSQL server, which may be malformed and may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

/// The beginnings of a URL that make a text a URL.
const SCHEMES: [&str; 2] = ["postgres:", "postgresql:"];
/// The text that is shown instead of a password.
pub const MASK: &str = "***";
const PASSWORD: &str = "password=";

impl Location {
    /// Returns the path to which the endings of the files that belong to the database are appended, such as `.key`: the
    /// path of an SQLite file, or the name of a PostgreSQL database in the current directory.
    pub fn stem(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Postgres(url) => url.file_name().into(),
        }
    }

    /// Like [`Self::stem`], but follows symbolic links: an SQLite database has the same files under all its names.
    pub fn base(&self) -> PathBuf {
        match self {
            Self::File(path) if path.is_symlink() => files::resolved(path).unwrap_or_else(|_| path.clone()),
            _ => self.stem(),
        }
    }

    /// Returns the path of an SQLite file; `None` for a PostgreSQL database.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// The disk of a server is unknown and counts as not full.
    pub fn is_full(&self) -> bool {
        self.file().is_some_and(files::is_full)
    }

    pub fn owns(&self, file: &Path) -> bool {
        let named = self.stem();
        // Earlier versions stored a key beside a link to the database.
        files::belongs(&named, file) || files::files_of(&named).iter().any(|own| files::same(own, file))
    }
}

impl<P: AsRef<Path>> From<P> for Location {
    fn from(path: P) -> Self {
        let path = path.as_ref();
        let text = path.to_string_lossy();
        // With a space in front it is malformed, and no path that a message could show with its password.
        let start = text.trim_start();
        if SCHEMES.iter().any(|scheme| begins_with(start, scheme)) {
            return Self::Postgres(PostgresUrl(text.into_owned()));
        }
        Self::File(path.to_owned())
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

/// The parts of a URL, still percent-encoded.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only connecting needs all parts"))]
pub(crate) struct Parts<'a> {
    /// The user, and after a colon the password.
    pub(crate) user_info: Option<&'a str>,
    /// With their ports, separated by commas.
    pub(crate) hosts: &'a str,
    pub(crate) path: &'a str,
    /// Parameters, separated by `&`.
    pub(crate) query: Option<&'a str>,
}

impl PostgresUrl {
    /// `None` if the URL does not begin with `postgres://` or `postgresql://`.
    pub(crate) fn parts(&self) -> Option<Parts<'_>> {
        let rest = SCHEMES.iter().find_map(|scheme| self.0.strip_prefix(scheme))?.strip_prefix("//")?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_info, hosts) =
            authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        Some(Parts { user_info, hosts, path, query })
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn with_password(&self) -> &str {
        &self.0
    }

    /// The name of the database, changed so that it names a file in the current directory.
    fn file_name(&self) -> String {
        let named = self.parts().map(|parts| {
            let parameters = parts.query.into_iter().flat_map(|query| query.split('&'));
            let name = parameters.filter_map(|parameter| parameter.strip_prefix("dbname=")).next_back();
            percent_decode_str(name.unwrap_or(parts.path)).decode_utf8_lossy().into_owned()
        });
        let name = named.filter(|name| !name.is_empty()).unwrap_or_else(|| "postgres".to_owned());
        let is_special = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
        let name = name.replace(is_special, "_");
        // A leading point would hide the file or name a directory.
        name.strip_prefix('.').map(|rest| format!("_{rest}")).unwrap_or(name)
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", masked(&self.0))
    }
}

/// A URL of a mail server may be given with a password by mistake.
const MAIL_SCHEMES: [&str; 3] = ["smtp://", "smtps://", "smtp+plain://"];

/// Masks the passwords of the URLs of PostgreSQL and of mail servers in a text, such as a line of a settings file. When it is
/// unclear where a password ends, for example because the URL is malformed, more than the password is masked.
///
/// ```
/// # use tidings_store as tidings_core;
/// use tidings_core::location::masked;
///
/// assert_eq!(masked(r#"db = "postgres://ann:pw@host/a""#), r#"db = "postgres://ann:***@host/a""#);
/// assert_eq!(masked("postgres://host/a?password=pw&user=ann"), "postgres://host/a?password=***");
/// assert_eq!(masked("smtps://ann:pw@mail.example.org"), "smtps://ann:***@mail.example.org");
/// ```
pub fn masked(text: &str) -> String {
    text.split_inclusive('\n').map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let start = line.char_indices().find_map(|(at, _)| {
        let mut schemes = SCHEMES.iter().chain(&MAIL_SCHEMES);
        let scheme = schemes.find(|scheme| begins_with(&line[at..], scheme))?;
        Some(at + scheme.len())
    });
    let Some(start) = start else { return line.to_owned() };
    let mut line = line.to_owned();
    if let Some(password) = in_authority(&line[start..]) {
        line.replace_range(start + password.start..start + password.end, MASK);
    }
    // Parameters after the password may be parts of it, if it contains an unescaped `&`.
    if let Some(at) = line[start..].to_ascii_lowercase().find(PASSWORD) {
        let end = line.trim_end_matches('\n').len();
        line.replace_range(start + at + PASSWORD.len()..end, MASK);
    }
    line
}

/// `rest` follows the scheme of a URL.
fn in_authority(rest: &str) -> Option<Range<usize>> {
    // In a malformed URL the password may contain any character, also `@`.
    if let Some(end) = rest.rfind('@') {
        return rest[..end].find(':').map(|colon| colon + 1..end);
    }
    // Without a host, the password is where a port would be.
    let host = rest.len() - rest.trim_start_matches('/').len();
    let end = rest[host..].find(['/', '?']).map_or(rest.len(), |at| host + at);
    // The colons of an IPv6 address are in brackets.
    let host = rest[..end].rfind(']').unwrap_or(host);
    let mut colons = rest[host..end].match_indices(':').map(|(at, _)| host + at + 1);
    let is_port = |at: usize| {
        let port = rest[at..end].split(',').next().unwrap_or_default().trim_end();
        port.is_empty() || port.parse::<u16>().is_ok()
    };
    let wrong = colons.find(|at| !is_port(*at))?;
    Some(wrong..rest.trim_end_matches('\n').len())
}

fn begins_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_text_that_begins_like_a_url_is_one() {
        let urls = "postgres://h/a|postgresql://h/a|PostgreSQL://h/a|postgres:/h|postgres:| postgres://h";
        for text in urls.split('|') {
            assert!(matches!(Location::from(text), Location::Postgres(_)), "{text}");
        }
        for text in ["tidings.db", "./postgres://h/a", "postgres", "postgres.db", "/postgres:/a", ""] {
            assert_eq!(Location::from(text), Location::File(text.into()), "{text}");
        }
        let path = Path::new("postgres://h/a");
        assert_eq!(Location::from(path), Location::from("postgres://h/a"));
        assert_eq!(Location::from(&Location::from(path)), Location::from(String::from("postgres://h/a")));
    }

    #[test]
    fn the_password_of_a_url_is_masked_also_if_the_url_is_malformed() {
        let cases = [
            ("postgres://u:pw@h:5432/db?sslmode=require", "postgres://u:***@h:5432/db?sslmode=require"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("postgres://h,g:5433/db", "postgres://h,g:5433/db"),
            ("postgres://[::1]:5432,[fe80::1]/db", "postgres://[::1]:5432,[fe80::1]/db"),
            ("postgres://h/db?user=u&password=pw&a=b", "postgres://h/db?user=u&password=***"),
            ("postgres://h/db?PassWord=p&w", "postgres://h/db?PassWord=***"),
            ("postgres://u:p@w/d?x#y@h/db", "postgres://u:***@h/db"),
            ("postgres://u:pw", "postgres://u:***"),
            ("postgres://u:pw/db", "postgres://u:***"),
            ("postgres://u:123456789/db", "postgres://u:***"),
            ("postgres:u:pw@h/db", "postgres:u:***@h/db"),
            ("POSTGRES://u:pw@h/db", "POSTGRES://u:***@h/db"),
            ("postgres://u?password=p@w", "postgres://u?password=***"),
        ];
        for (url, shown) in cases {
            let location = Location::from(url);
            assert_eq!(location.to_string(), shown);
            assert_eq!(format!("{location:?}"), format!("Postgres({shown:?})"));
        }
    }

    proptest! {
        #[test]
        fn no_text_shows_its_password(
            before in "[a-z0-9:/?&=%]{0,8}",
            password in "Q[ -~]{0,8}Q",
            host in "[a-z0-9.:/]{0,8}",
            query in "[a-z0-9&=/]{0,8}",
        ) {
            for text in [
                format!("postgres://{before}:{password}@{host}?{query}"),
                format!("postgresql://{before}@{host}?{query}&password={password}"),
            ] {
                let shown = Location::from(&text).to_string();
                prop_assert!(!shown.contains(&password), "{shown}");
            }
        }
    }

    #[test]
    fn the_files_of_a_server_s_database_have_its_name_in_the_current_directory() {
        let cases = [
            ("postgres://u:p@h/campus?x=y", "campus"),
            ("postgres:///a%20b", "a b"),
            ("postgres://h/a?dbname=b", "b"),
            ("postgres://h/..%2F..%2Fetc", "_._.._etc"),
            ("postgres://h", "postgres"),
            ("postgres:", "postgres"),
        ];
        for (url, stem) in cases {
            assert_eq!(Location::from(url).stem(), Path::new(stem), "{url}");
        }
        assert_eq!(Location::from("a/b.db").stem(), Path::new("a/b.db"));
    }
}
