//! The choice of the database that tests run on.

use std::env;
use std::io::{self, Write as _};
use std::process::Command;
use std::sync::OnceLock;

use crate::cluster::Cluster;
use crate::programs::Programs;

/// The variable that chooses the databases of tests: `sqlite`, the default, `postgres` or `both`.
const STORE_VARIABLE: &str = "TIDINGS_TEST_STORE";

/// The kind of database that the tests of this process use.
///
/// | `TIDINGS_TEST_STORE` | the tests run |
/// |---|---|
/// | not set, `sqlite` | on SQLite |
/// | `postgres` | on PostgreSQL, except those that [`only_on_sqlite!`](crate::only_on_sqlite) leaves out |
/// | `both` | on SQLite; [`suite_on_postgres`] then runs all of them on PostgreSQL, in a process of its own |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub fn chosen() -> Self {
        static CHOSEN: OnceLock<Engine> = OnceLock::new();
        *CHOSEN.get_or_init(|| match variable().as_str() {
            "" | "sqlite" | "both" => Self::Sqlite,
            "postgres" => {
                if let Err(error) = Cluster::shared() {
                    panic!("{STORE_VARIABLE}=postgres: {error}");
                }
                Self::Postgres
            }
            other => panic!("{STORE_VARIABLE} is {other:?}; it must be sqlite, postgres or both"),
        })
    }
}

fn variable() -> String {
    env::var(STORE_VARIABLE).unwrap_or_default()
}

/// Returns whether PostgreSQL is installed. If it is not, prints one line that says which tests were left out, also
/// where the output of successful tests is not shown.
pub fn is_installed(tests: &str) -> bool {
    match Programs::find() {
        Ok(_) => true,
        Err(error) if matches!(variable().as_str(), "postgres" | "both") => {
            panic!("{STORE_VARIABLE}={}: {error}", variable())
        }
        Err(error) => {
            // Unlike `eprintln!`, this is not captured. Nothing can be done if standard error is closed.
            let _ = writeln!(io::stderr(), "left out: {tests}: {error}");
            false
        }
    }
}

/// Runs all tests of this test program on PostgreSQL if `TIDINGS_TEST_STORE` is `both`. Each test program has one test
/// that calls this.
pub fn suite_on_postgres() {
    if variable() != "both" {
        return;
    }
    let mut suite = Command::new(env::current_exe().unwrap());
    let output = suite.env(STORE_VARIABLE, "postgres").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", failed(&stdout));
}

fn failed(output: &str) -> String {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    format!("these tests failed on PostgreSQL: {}", lines.collect::<Vec<_>>().join(", "))
}

/// Ends a test that concerns the SQLite file when the tests run on PostgreSQL. It is the first statement of a test;
/// `tests/SQLITE_ONLY.md` lists these tests with their reasons.
#[macro_export]
macro_rules! only_on_sqlite {
    ($reason:literal) => {
        if $crate::Engine::chosen() == $crate::Engine::Postgres {
            return;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named() {
        let output =
            "test a::b ... ok\ntest a::c ... FAILED\ntest d - should panic ... ok\ntest e ... FAILED\n";
        assert_eq!(failed(output), "these tests failed on PostgreSQL: a::c, e");
    }
}
