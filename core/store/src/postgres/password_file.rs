//! Reads a password from a file in the format of libpq's `.pgpass`.
//!
//! Source: <https://www.postgresql.org/docs/current/libpq-pgpass.html>.

use std::fs::{self, Metadata};
use std::path::Path;

use super::url::{Host, SOCKET_DIRECTORIES};

/// `None` if the file does not exist or has no such password. The error says why the file is ignored: other users may access it,
/// or it cannot be read.
pub(super) fn password(
    path: &Path,
    host: &Host,
    database: &str,
    user: &str,
) -> Result<Option<String>, String> {
    let Ok(about) = fs::metadata(path) else { return Ok(None) };
    let shown = path.display();
    if !is_private(&about) {
        return Err(format!(
            "the password file {shown} is ignored, because other users may access it: chmod 600 {shown}"
        ));
    }
    let text = fs::read_to_string(path).map_err(|error| {
        format!("the password file {shown} is ignored, because it cannot be read: {error}")
    })?;
    Ok(find(crate::text_file::without_mark(&text), host, database, user))
}

fn is_private(about: &Metadata) -> bool {
    #[cfg(unix)]
    let others = std::os::unix::fs::MetadataExt::mode(about) & 0o077;
    #[cfg(not(unix))]
    let others = 0;
    about.is_file() && others == 0
}

/// A line has the form `host:port:database:user:password`.
fn find(text: &str, host: &Host, database: &str, user: &str) -> Option<String> {
    // A socket in its usual directory is `localhost`.
    let name = if SOCKET_DIRECTORIES.contains(&&*host.name) { "localhost" } else { &host.name };
    let port = host.port.to_string();
    let wanted = [name, &port, database, user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for wanted in wanted {
            let (field, behind) = field(rest);
            if field.raw != "*" && field.text != wanted {
                return None;
            }
            rest = behind?;
        }
        let (password, _) = field(rest);
        Some(password.text).filter(|password| !password.is_empty())
    })
}

struct Field<'a> {
    raw: &'a str,
    /// Without the backslashes of escapes.
    text: String,
}

/// The rest is `None` if no colon follows the field. A backslash escapes the next character.
fn field(line: &str) -> (Field<'_>, Option<&str>) {
    let mut text = String::new();
    let mut characters = line.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            ':' => return (Field { raw: &line[..at], text }, Some(&line[at + 1..])),
            '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
            c => text.push(c),
        }
    }
    (Field { raw: line, text }, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), address: None, port }
    }

    #[test]
    fn the_first_matching_line_has_the_password() {
        let text = "# a comment\n\
                    db.example.org:5432:campus:ann:one\n\
                    db.example.org:*:campus:ann:two\\:with\\\\escapes\n\
                    *:*:*:bob\\:by:three\n\
                    localhost:5432:*:*:four:ignored\n\
                    \\*:*:*:ann:five\n\
                    short:1\n\
                    *:*:empty:*:\n";
        let of = |name, port, database, user| find(text, &host(name, port), database, user);
        assert_eq!(of("db.example.org", 5432, "campus", "ann").as_deref(), Some("one"));
        assert_eq!(of("db.example.org", 6432, "campus", "ann").as_deref(), Some("two:with\\escapes"));
        assert_eq!(of("elsewhere", 1, "x", "bob:by").as_deref(), Some("three"));
        for directory in ["localhost", "/run/postgresql", "/tmp"] {
            assert_eq!(of(directory, 5432, "campus", "cid").as_deref(), Some("four"));
        }
        assert_eq!(of("/elsewhere", 5432, "campus", "cid"), None);
        assert_eq!(of("other", 5432, "campus", "ann"), None);
        assert_eq!(of("*", 5432, "campus", "ann").as_deref(), Some("five"));
        assert_eq!(of("short", 1, "campus", "ann"), None);
        assert_eq!(of("h", 1, "empty", "ann"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        let read = || password(&path, &host("h", 1), "a", "u");
        assert_eq!(read(), Ok(None));
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for (mode, found) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read().is_ok(), found, "{mode:o}");
        }
    }
}
