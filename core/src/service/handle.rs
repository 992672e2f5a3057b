//! The handle of the service, with everything that its operations share.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::audit::trail::{self, Surface};
use crate::base::clock::{Clock, Timestamp};
use crate::base::config::Config;
use crate::base::files;
use crate::base::location::Location;
use crate::mail::outbox::Outbox;
use crate::record::error::{Error, Result};
use crate::record::jobs::Jobs;
use crate::service::handle::builder::Builder;
use crate::service::retention;
use crate::service::retention::Retention;
use crate::store::{self, SCHEMA_VERSION, Store, StoreError};
use crate::{account, analysis, mail, newsfeed, notice, post, profile, source, webhook, words};

pub(crate) mod builder;

/// The service over one database. Cheap to clone; the last clone dropped flushes and closes it.
#[derive(Clone)]
pub struct Tidings(pub(crate) Arc<Inner>, pub(super) Surface);

pub(crate) struct Inner {
    // Declared first, so that their threads stop before the store closes.
    pub(super) feeds: newsfeed::Feeds,
    pub(super) retention: Retention,
    pub(super) analysis: analysis::State,
    pub(super) jobs: Jobs,
    pub(super) notice: notice::Shared,
    pub(crate) webhook_counters: Arc<webhook::Counters>,
    pub(crate) sources: Arc<source::Reader>,
    pub(super) post: post::State,
    pub(super) words: Arc<words::ModelCache>,
    pub(super) profile: profile::State,
    pub(crate) store: Arc<Store>,
    pub(super) account: account::State,
    pub(super) config: Config,
    pub(super) clock: Clock,
    pub(super) location: Location,
    pub(super) operator: Option<Arc<str>>,
}

impl Tidings {
    /// Opens the database at `location`, which is a path or the URL of a PostgreSQL database, with default settings.
    /// Creates the file if it does not exist. Starts no background work.
    ///
    /// # Errors
    /// When the file cannot be opened, is not a tidings database, or was written by a newer program; when the server
    /// cannot be used.
    pub fn open(location: impl Into<Location>) -> Result<Self> {
        Self::builder(location).open()
    }

    /// Opens the database at `location` with default settings, creates the file if it does not exist, and starts the
    /// background work of a service.
    ///
    /// # Errors
    /// The errors of [`Builder::start`].
    pub fn start(location: impl Into<Location>) -> Result<Self> {
        Self::builder(location).start()
    }

    /// Returns a builder that opens or starts the database at `location` with other settings.
    pub fn builder(location: impl Into<Location>) -> Builder {
        Builder::new(location.into())
    }

    /// Returns the file with the signing key of the SQLite file at `location` if the key exists and the database does not:
    /// the database was probably removed by mistake. Opening it creates a new database, which uses this key.
    pub fn key_without_database(location: impl Into<Location>) -> Option<PathBuf> {
        let location = location.into();
        let path = location.file()?;
        let key = files::key_file(&location.base());
        (key.exists() && matches!(path.try_exists(), Ok(false))).then_some(key)
    }

    /// Starts the background work of a service, as [`Builder::start`] does, on a handle that is only open.
    ///
    /// Blocks while the posts are loaded. Calling it again has no effect.
    ///
    /// # Errors
    /// When the store fails, or the system refuses a thread.
    pub fn start_background(&self) -> Result<()> {
        self.start_all().map_err(|error| full_or(&self.0.location, error))
    }

    fn start_all(&self) -> Result<()> {
        self.account().keys.required()?;
        newsfeed::start(self)?;
        retention::start(self)?;
        analysis::start(self)?;
        webhook::start(self)?;
        source::start(self)?;
        mail::start(self)?;
        self.notice().other_views.start()?;
        words::start(self)
    }

    /// Returns the same service with the way in which its operations are called from now on, for the audit trail.
    #[must_use]
    pub fn through(self, surface: Surface) -> Self {
        Self(self.0, surface)
    }

    pub(crate) fn origin(&self) -> trail::Origin {
        trail::Origin { at: self.now(), surface: self.1, operator: self.0.operator.clone() }
    }

    /// Returns whether opening the database neither creates nor updates anything: it is an SQLite file whose schema is the one
    /// of this program. Programs that must not change a database ask this first, such as the completion of a shell.
    pub fn is_up_to_date(location: &Location) -> bool {
        let head = || {
            let mut head = [0; 72];
            std::fs::File::open(location.file()?).ok()?.read_exact(&mut head).ok()?;
            store::schema_of_head(&head)
        };
        head() == Some(SCHEMA_VERSION)
    }

    /// Returns the settings in force.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Returns the clock in use.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Returns whether `file` is the database or one of the files that belong to it, under any of its names. A program must
    /// not write to such a file.
    pub fn owns(&self, file: &Path) -> bool {
        self.0.location.owns(file)
    }

    /// Checks that the service can read and write: runs a small query and returns the outcome of the last writes. While
    /// writes fail, the store tries one every second.
    ///
    /// # Errors
    /// When reads or writes fail.
    pub fn ready(&self) -> Result<()> {
        self.store().writable()?;
        self.store().read(|tx| {
            tx.horizon()?;
            Ok(())
        })
    }

    /// Returns whether a read would start at once, because a connection of the pool is idle. Another thread may take the
    /// connection before the read, which then waits for another one.
    pub fn can_read_now(&self) -> bool {
        self.store().can_read_now()
    }

    /// Returns whether the database is on a server. Then operations wait for the network and use no core meanwhile, and frequent
    /// reads, such as that of [`profile::Get`], run together on threads of the service.
    pub fn is_on_server(&self) -> bool {
        self.store().is_on_server()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn account(&self) -> &account::State {
        &self.0.account
    }

    pub(crate) fn profile(&self) -> &profile::State {
        &self.0.profile
    }

    pub(crate) fn post(&self) -> &post::State {
        &self.0.post
    }

    pub(crate) fn notice(&self) -> &notice::Shared {
        &self.0.notice
    }

    /// Returns the location of the database.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    pub(crate) fn analysis(&self) -> &analysis::State {
        &self.0.analysis
    }

    pub(crate) fn words(&self) -> &words::ModelCache {
        &self.0.words
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    pub(crate) fn outbox(&self) -> Outbox {
        Outbox::of(self.config())
    }

    pub(crate) fn sources(&self) -> &source::Reader {
        &self.0.sources
    }

    pub(crate) fn feeds(&self) -> &newsfeed::Feeds {
        &self.0.feeds
    }
}

/// Replaces an error with [`StoreError::Full`] if the disk of the database at `location` is full. Otherwise the error would
/// depend on the file that could not grow.
pub(super) fn full_or(location: &Location, error: Error) -> Error {
    match error {
        Error::Store(StoreError::Other(_)) if location.is_full() => StoreError::Full.into(),
        error => error,
    }
}
