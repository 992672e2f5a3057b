//! What one request costs the server: statements, pages, bytes, allocations and processor time.
//!
//! All but the processor time are counted on a second process with the same database and settings, because counting
//! takes time. It gets the same load as the measured server, for a third of the time. Each figure is the difference of
//! two totals, divided by the number of answered requests. Before the second total is read, the server gets time for
//! the work that it does after answering: writing the access log, counters and views, and replacing the feed index. So
//! each request pays for its share of this work, and for its share of a commit with other requests.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tidings_tests::wal::WalWatch;

use crate::Result;
use crate::client::whole;
use crate::server::{CountingServer, Totals, copy_logs};

/// The costs of one request; `None` for what the server or the system does not report.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Costs {
    /// SQL statements, with those that begin and end transactions and savepoints.
    pub(crate) statements: Option<f64>,
    /// Pages written to write-ahead logs.
    pub(crate) pages: Option<f64>,
    /// Bytes written to the disk, with the copy of the log's pages into the database.
    pub(crate) bytes: Option<f64>,
    /// Allocations and reallocations; only of a binary with the feature `count-allocations`.
    pub(crate) allocations: Option<f64>,
    pub(crate) allocated_bytes: Option<f64>,
    /// Processor time in microseconds.
    pub(crate) cpu_us: Option<f64>,
}

impl Costs {
    /// Adds the processor time that all requests together used.
    pub(crate) fn with_processor_time(self, used: Option<Duration>, requests: u64) -> Self {
        Self { cpu_us: used.map(|used| used.as_secs_f64() * 1e6 / whole(requests)), ..self }
    }

    /// Returns the costs by column.
    pub(crate) fn columns(&self) -> [Option<f64>; 6] {
        [self.statements, self.pages, self.bytes, self.allocations, self.allocated_bytes, self.cpu_us]
    }
}

/// Counts what a request costs. `prepare` runs before counting; `work` returns the number of requests.
///
/// `settle` is the time for the work that the server does after answering.
pub(crate) fn count<T>(
    server: &CountingServer,
    settle: Duration,
    prepare: impl FnOnce(SocketAddr) -> Result<T>,
    work: impl FnOnce(SocketAddr, T) -> Result<u64>,
) -> Result<Costs> {
    let prepared = prepare(server.address())?;
    let databases = server.databases()?;
    copy_logs(&databases)?;
    // Reading totals allocates too: the difference of the first two is the cost of one reading.
    let (first, before) = (server.totals()?, server.totals()?);
    let log = WalWatch::start(&databases)?;
    let requests = whole(work(server.address(), prepared)?);
    thread::sleep(settle);
    let pages = whole(log.finish()?);
    let after = server.totals()?;
    let copied = copy_logs(&databases)?;
    if requests == 0.0 {
        return Err("no request was answered while costs were counted".into());
    }
    let each = |of: fn(&Totals) -> Option<f64>| {
        let (first, before, after) = (of(&first)?, of(&before)?, of(&after)?);
        Some(((after - before) - (before - first)).max(0.0) / requests)
    };
    Ok(Costs {
        statements: each(|totals| totals.statements),
        pages: Some(pages / requests),
        bytes: each(|totals| totals.written_bytes)
            .zip(copied)
            .map(|(bytes, copied)| bytes + copied / requests),
        allocations: each(|totals| totals.allocations),
        allocated_bytes: each(|totals| totals.allocated_bytes),
        cpu_us: None,
    })
}
