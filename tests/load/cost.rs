//! What one request costs the server: statements, bytes, allocations and processor time.
//!
//! All but the processor time are counted on a second process with the same database and settings, because counting
//! takes time. It gets the same load as the measured server, for a third of the time. Before the last reading, the server
//! gets time for the work that it does after answering, so each request pays for its share of this work.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use tidings_tests::usage;

use crate::Result;
use crate::client;
use crate::figures::whole;
use crate::program::Server;

/// The costs of one request; `None` for what the server or the system does not report.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Costs {
    /// SQL statements, with those that begin and end transactions and savepoints.
    statements: Option<f64>,
    /// Bytes written to the disk, with the copy of the log's pages into the database.
    bytes: Option<f64>,
    /// Allocations and reallocations; only of a binary with the feature `count-allocations`.
    allocations: Option<f64>,
    allocated_bytes: Option<f64>,
    /// Processor time in microseconds.
    pub(crate) cpu_us: Option<f64>,
}

impl Costs {
    /// Adds the processor time that all requests together used.
    pub(crate) fn with_processor_time(self, used: Option<Duration>, requests: u64) -> Self {
        Self { cpu_us: used.map(|used| used.as_secs_f64() * 1e6 / whole(requests)), ..self }
    }

    pub(crate) fn columns(&self) -> [Option<f64>; 5] {
        [self.statements, self.bytes, self.allocations, self.allocated_bytes, self.cpu_us]
    }
}

/// Counts what a request costs a server that serves metrics. `work` returns the number of requests, `settle` is the time for
/// the work that the server does after answering.
pub(crate) fn count(server: &Server, settle: Duration, work: impl FnOnce() -> Result<u64>) -> Result<Costs> {
    let database = server.database();
    copy_log(&database)?;
    // Reading totals allocates too: the difference of the first two is the cost of one reading.
    let (first, before) = (totals(server)?, totals(server)?);
    let requests = whole(work()?);
    thread::sleep(settle);
    let after = totals(server)?;
    let copied = copy_log(&database)?;
    if requests == 0.0 {
        return Err("no request was answered while costs were counted".into());
    }
    let each = |n: usize| {
        let (first, before, after) = (first[n]?, before[n]?, after[n]?);
        Some(((after - before) - (before - first)).max(0.0) / requests)
    };
    Ok(Costs {
        statements: each(0),
        bytes: each(1).zip(copied).map(|(bytes, copied)| bytes + copied / requests),
        allocations: each(2),
        allocated_bytes: each(3),
        cpu_us: None,
    })
}

/// Returns the totals so far of statements, written bytes, allocations and allocated bytes.
fn totals(server: &Server) -> Result<[Option<f64>; 4]> {
    let page = client::page(server.metrics()?, "/metrics")?;
    Ok([
        usage::metric(&page, "tidings_statements_total"),
        usage::written_bytes(server.id()).map(whole),
        usage::metric(&page, "tidings_allocations"),
        usage::metric(&page, "tidings_allocated_bytes"),
    ])
}

/// Copies the write-ahead log into the database, as the server does after more changes, and returns the bytes that this
/// wrote to the disk.
fn copy_log(database: &Path) -> Result<Option<f64>> {
    let written = || usage::written_bytes(std::process::id());
    let before = written();
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(written().zip(before).map(|(after, before)| whole(after.saturating_sub(before))))
}
