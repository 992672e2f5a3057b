//! A database on a server while a copy fills it. A table marks it as incomplete, so that no program uses it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::super::inspect::Inspected;
use super::InspectedServer;
use super::connect::Connector;
use super::migrate::{self, INCOMPLETE};
use super::server::Server;
use super::session::Session;
use crate::cancel::CancelFlag;
use crate::location::PostgresUrl;

/// The first half of the key of the lock that a program holds while it fills a database: "tdgc" as a number. The second half is
/// the number of the schema.
const FILLING: i32 = 0x7464_6763;

/// A copy waits for the end of an earlier copy to the same database: the server notices only after a moment that a program was
/// killed.
const EARLIER_MAX: Duration = Duration::from_secs(10);
const TRY_EVERY: Duration = Duration::from_millis(100);

pub struct ServerTarget {
    /// Holds the lock, which tells others of the copy.
    holder: Session,
    inspected: InspectedServer,
    /// An earlier copy to the database was interrupted.
    is_begun: bool,
    // Declared last: the connection runs on its thread.
    _server: Arc<Server>,
}

impl ServerTarget {
    /// Creates the schema if there is none. Reads end when `stop` is requested. [`StoreError::Overloaded`] means that another
    /// program fills the database.
    pub fn open(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let server = Server::new(Connector::new(url)?);
        let mut holder = server.first_connection()?;
        let began = Instant::now();
        while !has_locked(&mut holder, Lock::Fill)? {
            if began.elapsed() >= EARLIER_MAX {
                return Err(StoreError::Overloaded);
            }
            std::thread::sleep(TRY_EVERY);
        }
        let is_begun = migrate::is_incomplete(&mut holder)?;
        migrate::migrate_incomplete(&mut holder)?;
        let inspected = InspectedServer::open_incomplete(url, stop)?;
        Ok(Self { holder, inspected, is_begun, _server: server })
    }

    /// An earlier copy was interrupted, so the rows of the database do not count.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    pub fn begin(&mut self) -> Result<(), StoreError> {
        let sql = format!("CREATE TABLE IF NOT EXISTS {INCOMPLETE} (one bigint PRIMARY KEY)");
        self.holder.control(&sql).map(drop)
    }

    pub fn inspected(&self) -> &dyn Inspected {
        &self.inspected
    }

    /// Marks the database as complete: any program may then use it.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.inspected.close();
        self.holder.control(&format!("DROP TABLE {INCOMPLETE}")).map(drop)
    }
}

/// The connection holds the lock of its database.
#[derive(Clone, Copy)]
pub(super) enum Lock {
    /// For the one program that fills the database.
    Fill,
    /// For a program that copies it.
    Read,
}

pub(super) fn has_locked(session: &mut Session, lock: Lock) -> Result<bool, StoreError> {
    let function = match lock {
        Lock::Fill => "pg_try_advisory_lock",
        Lock::Read => "pg_try_advisory_lock_shared",
    };
    let schema = "CAST(CAST(CAST(current_schema() AS regnamespace) AS oid) AS bigint) % 2147483648";
    let sql = format!("SELECT {function}({FILLING}, CAST({schema} AS integer))");
    Ok(session.first(&sql, &[])? == Some(true))
}
