//! A server under measurement, and a second process on its database that counts what requests cost.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tidings_tests::usage;

use crate::Result;
use crate::client;
use crate::process::Process;
use crate::program::Program;

/// The text in the server's log before the address of its metrics.
const METRICS: &str = "metrics are served address=";
/// The timeout for that line.
const METRICS_TIMEOUT: Duration = Duration::from_secs(10);

/// A running server, with what is needed to start a second one on its database.
pub(crate) struct Server {
    process: Process,
    program: Program,
    database: String,
    settings: Vec<String>,
}

impl Server {
    pub(crate) fn new(process: Process, program: &Program, database: &str, settings: &[&str]) -> Self {
        let settings = settings.iter().copied().map(ToOwned::to_owned).collect();
        Self { process, program: program.clone(), database: database.to_owned(), settings }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.process.address
    }

    /// Returns the write-ahead log of the database.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.program.directory.join(format!("{}-wal", self.database))
    }

    /// Returns a value in kB from `/proc/PID/status`, by its name.
    pub(crate) fn memory_kb(&self, name: &str) -> Result<f64> {
        self.process.memory_kb(name)
    }

    /// Returns the processor time that the server has used; `None` if the system does not report it.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        usage::processor_time(self.process.id())
    }

    /// Returns the processor time that the server has used since an earlier reading.
    pub(crate) fn processor_time_since(&self, before: Option<Duration>) -> Option<Duration> {
        Some(self.processor_time()?.saturating_sub(before?))
    }

    /// Starts a second process with the same database and settings, which counts.
    pub(crate) fn counting(&self) -> Result<CountingServer> {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        self.program.serve_counting(&self.database, &settings)
    }
}

/// A running server that serves metrics, so that costs can be read from it.
pub(crate) struct CountingServer {
    process: Process,
    metrics: SocketAddr,
    program: Program,
    database: String,
}

/// The totals of a server so far; `None` for what it or the system does not report.
pub(crate) struct Totals {
    pub(crate) statements: Option<f64>,
    pub(crate) allocations: Option<f64>,
    pub(crate) allocated_bytes: Option<f64>,
    pub(crate) written_bytes: Option<f64>,
}

impl CountingServer {
    /// Waits until the server logs the address of its metrics, in the part of the log after `from`.
    pub(crate) fn new(process: Process, program: &Program, database: &str, from: usize) -> Result<Self> {
        let started = Instant::now();
        loop {
            let log = fs::read(program.log()).unwrap_or_default();
            let log = String::from_utf8_lossy(log.get(from..).unwrap_or_default()).into_owned();
            let line =
                log.lines().find_map(|line| line.split_once(METRICS)).map(|(_, address)| address.trim());
            if let Some(metrics) = line.and_then(|address| address.parse().ok()) {
                return Ok(Self {
                    process,
                    metrics,
                    program: program.clone(),
                    database: database.to_owned(),
                });
            }
            if started.elapsed() > METRICS_TIMEOUT {
                return Err("the server does not serve metrics".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.process.address
    }

    /// Reads the current totals.
    pub(crate) fn totals(&self) -> Result<Totals> {
        let page = client::page(self.metrics, "/metrics")?;
        Ok(Totals {
            statements: usage::metric(&page, "tidings_statements_total"),
            allocations: usage::metric(&page, "tidings_allocations"),
            allocated_bytes: usage::metric(&page, "tidings_allocated_bytes"),
            written_bytes: usage::written_bytes(self.process.id()).map(client::whole),
        })
    }

    /// Returns the files of the database that have a write-ahead log.
    pub(crate) fn databases(&self) -> Result<Vec<PathBuf>> {
        // "0.db" is in files whose names begin with "0.".
        let (stem, _) = self.database.split_once('.').ok_or("the database has no extension")?;
        let mut databases = Vec::new();
        for entry in fs::read_dir(&self.program.directory)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            let Some(database) = name.strip_suffix("-wal") else { continue };
            if name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.')) {
                databases.push(self.program.directory.join(database));
            }
        }
        Ok(databases)
    }
}

/// Copies the write-ahead logs into their databases, as the server does after more changes, and returns the bytes that
/// this wrote to the disk.
pub(crate) fn copy_logs(databases: &[PathBuf]) -> Result<Option<f64>> {
    let written = || usage::written_bytes(std::process::id());
    let before = written();
    for database in databases {
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(written().zip(before).map(|(after, before)| client::whole(after.saturating_sub(before))))
}
