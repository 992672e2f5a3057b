//! Finds the programs of an installed PostgreSQL.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest that tidings supports.
const VERSION_MIN: u32 = 15;
const FOLDER_VARIABLE: &str = "TIDINGS_POSTGRES_BIN";
/// Debian's folder of all installed versions.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The folder with the programs of a PostgreSQL that tidings supports.
#[derive(Clone, Debug)]
pub struct Programs(PathBuf);

impl Programs {
    /// Finds the programs: in the folder that `TIDINGS_POSTGRES_BIN` names; without the variable in the folder that
    /// `pg_config` prints, in the newest version below `/usr/lib/postgresql`, or in `PATH`. The error says that PostgreSQL is
    /// not installed, or too old.
    pub fn find() -> Result<Self, String> {
        if let Some(folder) = env::var_os(FOLDER_VARIABLE) {
            return Self::in_folder(Path::new(&folder)).ok_or_else(|| {
                let folder = Path::new(&folder).display();
                format!(
                    "{FOLDER_VARIABLE} names {folder}, which has no initdb, pg_ctl and postgres of PostgreSQL \
                     {VERSION_MIN} or newer"
                )
            });
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = configured().into_iter().chain(versions()).chain(env::split_paths(&path));
        folders.into_iter().find_map(|folder| Self::in_folder(&folder)).ok_or_else(|| {
            format!(
                "PostgreSQL {VERSION_MIN} or newer is not installed (Debian: the package postgresql); \
                 {FOLDER_VARIABLE} can name the folder of its programs"
            )
        })
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        // A link in PATH may name one program only: its siblings are where the link points to.
        let folder = fs::canonicalize(folder.join("initdb")).ok()?.parent()?.to_owned();
        let complete = ["pg_ctl", "postgres"].iter().all(|program| folder.join(program).exists());
        (complete && version(&folder)? >= VERSION_MIN).then_some(Self(folder))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }
}

fn version(folder: &Path) -> Option<u32> {
    major_of(&output(folder.join("postgres").as_os_str(), "--version")?)
}

/// Parses a line such as `postgres (PostgreSQL) 15.18 (Debian 15.18-1)`.
fn major_of(line: &str) -> Option<u32> {
    let number = line.split(") ").nth(1)?;
    let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn configured() -> Option<PathBuf> {
    output(OsStr::new("pg_config"), "--bindir").map(|line| PathBuf::from(line.trim_end()))
}

/// The newest first.
fn versions() -> Vec<PathBuf> {
    let folders = fs::read_dir(VERSIONS).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut numbered: Vec<_> =
        folders.filter_map(|folder| Some((number(&folder)?, folder.join("bin")))).collect();
    numbered.sort();
    numbered.into_iter().rev().map(|(_, folder)| folder).collect()
}

fn output(program: &OsStr, argument: &str) -> Option<String> {
    let output =
        Command::new(program).arg(argument).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_the_line_of_any_packager() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_of("something else"), None);
    }
}
