//! A new database of the engine that the tests run on.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::database::Database;
use crate::engine::Engine;

/// A database that does not exist yet, with a temporary folder: a file in the folder, or a database of the
/// [shared](Cluster::shared) PostgreSQL server. Dropping it removes both.
#[derive(Debug)]
pub struct Scratch {
    postgres: Option<Database>,
    folder: TempDir,
}

impl Scratch {
    /// Makes the folder and, on PostgreSQL, a database without tables.
    ///
    /// A handle keeps files beside a database of SQLite, but in the working directory for one of PostgreSQL. So the
    /// first such database moves the test process to a folder that is removed with the server.
    #[expect(clippy::new_without_default, reason = "it creates files")]
    pub fn new() -> Self {
        Self::on(Cluster::database)
    }

    /// Does the same with a database that has the tables already, where making them takes a third of a second: on
    /// PostgreSQL, a copy of the one in which `make_tables` has made them for the first call in this process.
    pub fn with_tables(make_tables: impl FnOnce(&str)) -> Self {
        static TEMPLATE: OnceLock<Database> = OnceLock::new();
        Self::on(|cluster| {
            let template = TEMPLATE.get_or_init(|| {
                let template = cluster.database();
                make_tables(template.url());
                template
            });
            cluster.copy_of(template.name())
        })
    }

    fn on(database: impl FnOnce(&Cluster) -> Database) -> Self {
        let postgres = (Engine::chosen() == Engine::Postgres).then(|| {
            static MOVED: Once = Once::new();
            let cluster = Cluster::shared().expect("the choice of the engine has started it");
            MOVED.call_once(|| env::set_current_dir(cluster.working_folder()).unwrap());
            database(cluster)
        });
        Self { postgres, folder: tempfile::tempdir().unwrap() }
    }

    /// Returns what names the database: the path of its file, or its URL.
    pub fn location(&self) -> String {
        match &self.postgres {
            Some(database) => database.url().to_owned(),
            None => self.path().to_str().expect("a path in UTF-8").to_owned(),
        }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder().join("test.db")
    }

    /// Returns the path of a file that belongs to the database, such as its key: its name is that of the database and
    /// `end`.
    pub fn beside(&self, end: &str) -> PathBuf {
        match &self.postgres {
            Some(database) => env::current_dir().unwrap().join(format!("{}{end}", database.name())),
            None => self.folder().join(format!("test.db{end}")),
        }
    }
}
