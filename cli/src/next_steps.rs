//! Commands that a user may run next, with the database that this command has used.

use tidings_core::Location;

/// The default database of every command.
const DEFAULT: &str = "tidings.db";

/// Returns the beginning of a command. The URL of a PostgreSQL server may have a password, so it is not repeated.
pub(crate) fn tidings(database: &Location) -> String {
    match database.file() {
        None => String::from("tidings --db \"$TIDINGS_DB\""),
        Some(path) if path.as_os_str() == DEFAULT => String::from("tidings"),
        Some(path) => format!("tidings --db {}", quoted(&path.to_string_lossy())),
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_database_as_a_shell_reads_it_and_no_password() {
        let of = |location: &str| tidings(&Location::from(location));
        assert_eq!(of("tidings.db"), "tidings");
        assert_eq!(of("demo.db"), "tidings --db demo.db");
        assert_eq!(of("a b/it's.db"), r"tidings --db 'a b/it'\''s.db'");
        assert_eq!(of("postgres://ann:secret@db/tidings"), r#"tidings --db "$TIDINGS_DB""#);
    }
}
