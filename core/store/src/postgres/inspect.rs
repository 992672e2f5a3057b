//! Access to a whole database on a server, for the check of the core.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::engine::{Committer as _, WriteTx as _};
use super::super::inspect::Inspected;
use super::super::{Isolation, ServerError, StoreError, Tx, is_replaying};
use super::committer::PgCommitter;
use super::connect::{Connector, Purpose};
use super::fill::{Lock, has_locked};
use super::migrate::{self, Schema};
use super::server::{Interrupts, Server};
use super::session::Session;
use super::tx::ReadTx;
use crate::cancel::CancelFlag;
use crate::location::PostgresUrl;

pub struct InspectedServer {
    session: RefCell<Session>,
    /// Those of the connection that reads, and of the one that writes if a copy fills the database.
    interrupts: Vec<Interrupts>,
    stop: CancelFlag,
    schema: Schema,
    /// `None` for a check.
    committer: RefCell<Option<PgCommitter>>,
    // Declared last: the connections run on its thread.
    _server: Arc<Server>,
}

impl InspectedServer {
    /// Changes nothing; uses a standby if there is no primary. Statements end when `stop` is requested.
    pub fn open(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let server = Server::new(Connector::new(url)?);
        let session = match server.first_connection() {
            Err(StoreError::Server(ServerError::NoPrimary { .. })) => server.connect_for(Purpose::Read),
            connected => connected,
        };
        let mut session = session?;
        migrate::existing(&mut session)?;
        Self::with(server, session, stop)
    }

    /// Also refuses a newer or older schema.
    pub fn open_to_copy(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let inspected = Self::open(url, stop)?;
        match inspected.schema {
            Schema { found, known } if found > known => Err(StoreError::Newer { found, known }),
            Schema { found, known } if found < known => Err(StoreError::Older { found, known }),
            _ => Ok(inspected),
        }
    }

    /// Updates an older schema. Reads end when `stop` is requested.
    pub fn open_for_repair(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let server = Server::new(Connector::new(url)?);
        let mut session = server.first_connection()?;
        migrate::existing(&mut session)?;
        migrate::migrate(&mut session)?;
        Self::writing(server, session, stop)
    }

    /// For the program that fills the database, whose schema is up to date. Writes end too when `stop` is requested.
    pub fn open_incomplete(url: &PostgresUrl, stop: &CancelFlag) -> Result<Self, StoreError> {
        let server = Server::new(Connector::new(url)?);
        let session = server.connect()?;
        let interrupts = server.interrupts(&session, stop)?;
        let mut inspected = Self::writing(server, session, stop)?;
        inspected.interrupts.push(interrupts);
        Ok(inspected)
    }

    fn writing(server: Arc<Server>, session: Session, stop: &CancelFlag) -> Result<Self, StoreError> {
        let inspected = Self::with(Arc::clone(&server), server.connect()?, stop)?;
        let committer = PgCommitter::start(server, session)?;
        Ok(Self { committer: RefCell::new(Some(committer)), ..inspected })
    }

    fn with(server: Arc<Server>, mut session: Session, stop: &CancelFlag) -> Result<Self, StoreError> {
        session.allow_long_statements()?;
        let schema = migrate::existing_or_incomplete(&mut session)?;
        let interrupts = server.interrupts(&session, stop)?;
        Ok(Self {
            session: RefCell::new(session),
            interrupts: vec![interrupts],
            stop: stop.clone(),
            schema,
            committer: RefCell::new(None),
            _server: server,
        })
    }

    /// The second is the newest version that this program supports.
    pub fn schema_versions(&self) -> (i64, i64) {
        (self.schema.found, self.schema.known)
    }

    /// Later programs do not fill the database until this connection ends.
    pub fn is_being_filled(&self) -> Result<bool, StoreError> {
        // A lock belongs to a database. Two connections to different databases can have the same lock.
        Ok(!has_locked(&mut self.session.borrow_mut(), Lock::Read)?)
    }

    pub fn close(self) {
        if let Some(committer) = self.committer.take() {
            committer.close();
        }
    }
}

impl Inspected for InspectedServer {
    fn read_with(&self, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError> {
        if self.stop.is_set() {
            return Err(StoreError::Interrupted);
        }
        let mut session = self.session.borrow_mut();
        if let Some(error) = session.lost() {
            return Err(error);
        }
        let mut tx = ReadTx::begin(&mut session, None);
        work(&mut tx);
        tx.end();
        Ok(())
    }

    fn write_with(&self, work: &mut dyn FnMut(&mut dyn Tx) -> bool) -> Result<(), StoreError> {
        let mut committer = self.committer.borrow_mut();
        let committer = committer.as_mut().expect("only repairs write");
        while let Err(error) = try_to_write(committer, work) {
            committer.ended(Err(&error));
            committer.retry(error)?;
        }
        committer.ended(Ok(()));
        committer.after_group();
        Ok(())
    }
}

/// If the transaction fails as a whole, nothing is committed.
fn try_to_write(
    committer: &mut PgCommitter,
    work: &mut dyn FnMut(&mut dyn Tx) -> bool,
) -> Result<(), StoreError> {
    let mut tx = committer.begin(Isolation::Alone, None)?;
    if is_replaying()
        && let Err(error) = tx.rehearse(|tx| work(tx))
    {
        tx.rollback();
        return Err(error);
    }
    let keep = work(&mut tx);
    match tx.fault() {
        None if keep => tx.commit().map(drop),
        fault => {
            tx.rollback();
            fault.map_or(Ok(()), Err)
        }
    }
}
