//! A connection for whole tables. Its statements have no time limit, and end when a stop is requested.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::select;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::oneshot;
use tokio_postgres::{Client, CopyInSink, SimpleQueryMessage};

use super::super::connect::{Connected, Connector, OnNotice, Purpose};
use super::super::wait::Driver;
use crate::base::cancel::CancelFlag;
use crate::store::StoreError;

/// The time between two looks for a requested stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Maximum time for a connection to any of the hosts.
const CONNECT_MAX: Duration = Duration::from_secs(15);
/// The maximum number of rows that are received at once.
const RECEIVED_ROWS: usize = 1_024;

/// The settings of the connection, which come first.
const SETTINGS: &str = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
    SET lock_timeout = '10s'; SET client_min_messages = 'warning'; SET jit = off";
/// Otherwise a statement runs on when this process has ended. Some systems do not support it.
const NOTICE_THE_END: &str = "SET client_connection_check_interval = '2s'";

/// A connection for whole tables.
pub(super) struct Link {
    client: Client,
    stop: CancelFlag,
    /// Waits for answers.
    driver: Driver,
    /// Its end ends the connection, which runs on a thread of its own so that bytes move while rows are read or made.
    _open: oneshot::Sender<()>,
}

/// A row that a statement returned, each value as text.
pub(super) type TextRow = Vec<Option<String>>;

impl Link {
    /// Connects to a server that serves the purpose. Statements end when `stop` is requested.
    pub(super) fn open(
        connector: &Connector,
        purpose: Purpose,
        stop: &CancelFlag,
    ) -> Result<Self, StoreError> {
        let (driver, waiting) = (Driver::start()?, Driver::start()?);
        let on_notice: OnNotice =
            Arc::new(|notice| tracing::debug!("the database server says: {}", notice.message()));
        let connected = driver.wait(CONNECT_MAX, connector.connect(purpose, &on_notice));
        let Connected { client, driving, .. } =
            connected.ok_or_else(|| StoreError::Disconnected("no host answers in time".into()))??;
        let (open, ended) = oneshot::channel::<()>();
        let moving = move || driver.wait(Duration::MAX, select(driving, ended));
        thread::Builder::new().name("tidings-pg".into()).spawn(moving).map_err(StoreError::other)?;
        let link = Self { client, stop: stop.clone(), driver: waiting, _open: open };
        link.run(SETTINGS)?;
        let _ = link.run(NOTICE_THE_END);
        Ok(link)
    }

    /// Runs statements without arguments and results.
    pub(super) fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Runs a statement and returns its rows.
    pub(super) fn rows(&self, sql: &str) -> Result<Vec<TextRow>, StoreError> {
        let messages = self.wait(self.client.simple_query(sql))?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Runs a statement and returns the integer in the first column of its first row.
    pub(super) fn number(&self, sql: &str) -> Result<Option<i64>, StoreError> {
        let rows = self.rows(sql)?;
        let value = rows.first().and_then(|row| row.first()).and_then(Option::as_deref);
        value.map(|value| value.parse().map_err(StoreError::other)).transpose()
    }

    /// Runs a `COPY … TO STDOUT`, and calls `each` with each message, which has one row.
    pub(super) fn copy_out(
        &self,
        sql: &str,
        each: &mut dyn FnMut(&Bytes) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let stream = self.wait(self.client.copy_out(sql))?;
        let mut messages = pin!(stream.ready_chunks(RECEIVED_ROWS));
        while let Some(received) = self.wait(async { Ok(messages.next().await) })? {
            for message in received {
                each(&message?)?;
            }
        }
        Ok(())
    }

    /// Begins a `COPY … FROM STDIN`.
    pub(super) fn copy_in(&self, sql: &str) -> Result<CopyIn<'_>, StoreError> {
        let sink = self.wait(self.client.copy_in(sql))?;
        Ok(CopyIn { link: self, sink: Box::pin(sink) })
    }

    /// Blocks the thread until `future` is ready.
    ///
    /// # Errors
    /// `Interrupted` when a stop is requested; the caller then drops the connection, which ends the statement.
    fn wait<T: Send>(
        &self,
        future: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
    ) -> Result<T, StoreError> {
        let mut future = pin!(future);
        loop {
            if self.stop.is_set() {
                return Err(StoreError::Interrupted);
            }
            if let Some(answer) = self.driver.wait(LOOK_EVERY, &mut future) {
                return Ok(answer?);
            }
        }
    }
}

/// A `COPY … FROM STDIN` that has begun. Dropping it aborts it.
pub(super) struct CopyIn<'l> {
    link: &'l Link,
    sink: Pin<Box<CopyInSink<Bytes>>>,
}

impl CopyIn<'_> {
    /// Sends bytes.
    pub(super) fn send(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.link.wait(self.sink.send(bytes))
    }

    /// Sends the last bytes, and waits until the server has inserted the rows.
    pub(super) fn finish(mut self, bytes: Bytes) -> Result<(), StoreError> {
        // If the server has ended the statement, its error is the result of `finish`.
        let sent = self.send(bytes);
        self.link.wait(self.sink.as_mut().finish())?;
        sent
    }
}

/// Returns a column of a row that is never null.
pub(super) fn text(row: &TextRow, place: usize) -> Result<&str, StoreError> {
    let value = row.get(place).and_then(Option::as_deref);
    value.ok_or_else(|| StoreError::other(format!("column {place} is missing or null")))
}
