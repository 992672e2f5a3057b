//! The database of a part.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use tidings_core::account::{Caller, SignUp};
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::config::Config;
use tidings_core::newsfeed::{self, Page};
use tidings_core::post::{self, Draft};
use tidings_core::{Builder, Tidings};

use crate::Result;

/// The time of the benchmark: 2026-11-20T08:36:00Z.
pub(crate) const NOW_MS: i64 = 1_795_163_760_000;

/// A database in a temporary directory, with the member [`ANN`].
pub(crate) struct World {
    directory: TempDir,
    config: Config,
}

pub(crate) const ANN: &str = "ann";
/// The password of [`ANN`].
pub(crate) const PASSWORD: &str = "correct horse battery staple";

impl World {
    pub(crate) fn new(directory: &Path) -> Result<Self> {
        let directory = tempfile::tempdir_in(directory)?;
        let mut config = Config::default();
        // The word model must not be trained during a measurement.
        config.words.retrain_after = 0.0;
        // A measurement sends the same again and again.
        config.client_limits = false;
        let world = Self { directory, config };
        sign_up(&world.open()?, ANN)?;
        Ok(world)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("growth.db")
    }

    /// Opens the database without background work.
    pub(crate) fn open(&self) -> Result<Tidings> {
        Ok(self.builder().open()?)
    }

    /// Opens the database as a service does.
    pub(crate) fn start(&self) -> Result<Tidings> {
        Ok(self.builder().start()?)
    }

    fn builder(&self) -> Builder {
        let clock = Clock::fixed(Timestamp::from_millis(NOW_MS));
        Tidings::builder(self.path()).config(self.config.clone()).clock(clock)
    }

    /// Opens a connection of its own, which does not wait for the disk.
    pub(crate) fn connection(&self) -> Result<Connection> {
        let connection = Connection::open(self.path())?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "cache_size", -(256 << 10))?;
        Ok(connection)
    }

    /// Runs an INSERT for each number `n` of a range while no other connection is open. `rest` is its end, with the
    /// values as a SELECT from the table `number`.
    pub(crate) fn fill(&self, sql: &str, from: u64, until: u64) -> Result<()> {
        let connection = self.connection()?;
        let numbers = format!(
            "WITH RECURSIVE number (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM number WHERE n + 1 < {until}) {sql}"
        );
        if from < until {
            connection.execute(&numbers, [])?;
            // The measurements must not pay for the log of these rows.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
    }

    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        self.connection()?.execute(sql, [])?;
        Ok(())
    }

    pub(crate) fn number(&self, sql: &str) -> Result<i64> {
        Ok(self.connection()?.query_row(sql, [], |row| row.get(0))?)
    }
}

pub(crate) fn sign_up(tidings: &Tidings, id: &str) -> Result<()> {
    let pw = String::from(PASSWORD);
    tidings.call(
        &Caller::Guest,
        SignUp { id: id.into(), pw: pw.clone(), pw_check: pw, nickname: id.into(), email: None },
    )?;
    Ok(())
}

/// Returns the caller who acts as [`ANN`].
pub(crate) fn ann() -> Caller {
    Caller::Member(ANN.into())
}

/// Returns a function that likes or unlikes a post as [`ANN`], and reads the member's feed after it.
pub(crate) fn like_and_feed(tidings: &Tidings, post: &str) -> impl FnMut() -> Result<()> {
    let mut liked = false;
    move || {
        let act = if liked { post::unlike } else { post::like };
        act(tidings, &ann(), post).wait()?;
        liked = !liked;
        newsfeed::recommended(tidings, &ann(), &Page::default())?;
        Ok(())
    }
}

/// Inserts a post with this name in its address and its title, and returns its id.
pub(crate) fn insert_post(tidings: &Tidings, name: &str, topic: &str) -> Result<String> {
    let draft = Draft {
        title: Some(format!("A post about {name}")),
        url: Some(format!("https://growth.example/{name}")),
        topic: Some(vec![topic.into()]),
        ..Draft::default()
    };
    Ok(tidings.call(&Caller::Operator, post::Insert { draft })?.id.to_string())
}
