//! Every operation of tidings: accounts, analytics, notices, feedback, posts, search and newsfeeds over one SQLite
//! file, or over a database of a PostgreSQL server.
//!
//! [`Tidings`] is the handle: open it with a path or a URL ([`Location`]), clone it freely, and [call](Tidings::call) operations,
//! which are types of the modules ([`operation`]). This crate has no
//! HTTP and no terminal, and its functions block: the server, the command line and other programs call the same operations, and
//! all rules of the service are here.
//!
//! ```
//! use tidings_core::account::{Caller, SignUp};
//! use tidings_core::{Tidings, notice};
//!
//! # let dir = tempfile::tempdir()?;
//! let tidings = Tidings::open(dir.path().join("campus.db"))?;
//! let pw = String::from("correct horse");
//! let form = SignUp { id: "ann".into(), pw: pw.clone(), pw_check: pw, nickname: "Ann".into() };
//! let token = tidings.call(&Caller::Guest, form)?.access_token;
//!
//! // The operator, who has access to the database file, may publish notices; Ann is not an administrator yet.
//! let draft = notice::Draft {
//!     title: Some("Library".into()),
//!     post: Some("Open until ten.".into()),
//!     ..notice::Draft::default()
//! };
//! let insert = notice::Insert { draft };
//! assert_eq!(tidings.call(&Caller::token(token), insert.clone()).unwrap_err().to_string(), "Not admin");
//! tidings.call(&Caller::Operator, insert)?;
//! assert_eq!(tidings.call(&Caller::Guest, notice::List::default())?.notices().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Opening and starting
//!
//! [`Tidings::open`] is for a program that runs a few operations and ends, such as a command: each operation loads the
//! data that it needs on first use, and no thread runs in the background.
//!
//! [`Tidings::start`] is for a service that runs permanently. It opens the database and starts the background work: the
//! feed index, the word model, analytics, and retention. A server, a command and an embedder call the same function;
//! `tidings_server::serve` and `tidings_server::service` start a handle that is only open. [`Tidings::builder`] does
//! either with other settings. The background work stops, and the database closes, when the last clone of the handle is
//! dropped.
//!
//! ```
//! use tidings_core::Tidings;
//! use tidings_core::account::Caller;
//! use tidings_core::config::{Analysis, Config};
//! use tidings_core::notice;
//! use tidings_core::stats::Stats;
//!
//! # let dir = tempfile::tempdir()?;
//! # let database = dir.path().join("campus.db");
//! let config = Config { analysis: Analysis { log_days: 7, ..Analysis::default() }, ..Config::default() };
//! let service = Tidings::builder(&database).config(config).start()?;
//! assert!(Stats::of(&service).feeds_age_ms.is_some());
//!
//! // A second handle on the same file, such as that of a command in another process.
//! let command = Tidings::open(&database)?;
//! assert!(Stats::of(&command).feeds_age_ms.is_none());
//! assert_eq!(command.call(&Caller::Guest, notice::List::default())?.notices().len(), 0);
//!
//! drop(service);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Waiting
//!
//! Operations block the calling thread. Some have a function that does not:
//!
//! - A function that returns [`Pending`], such as [`post::like`], has queued a write and does not wait for the disk. `Pending::wait` blocks
//!   until the write is on disk; `.await` does the same on any async runtime without blocking a thread.
//! - A `try_` function, such as [`notice::try_list`], never blocks: it answers from memory, or returns `None` when the
//!   answer needs the database. The caller then calls the operation.
//!
//! An async program calls these two kinds directly, and operations on a thread that may block.
//!
//! ```
//! use tidings_core::account::Caller;
//! use tidings_core::{Tidings, analysis, notice};
//!
//! # let dir = tempfile::tempdir()?;
//! # let tidings = Tidings::open(dir.path().join("campus.db"))?;
//! analysis::insert_device(&tidings, "pc").wait()?;
//!
//! async fn count_a_tablet(tidings: &Tidings) -> tidings_core::Result<()> {
//!     analysis::insert_device(tidings, "tablet").await
//! }
//!
//! assert!(notice::try_list(&tidings).is_none());
//! let list = tidings.call(&Caller::Guest, notice::List::default())?;
//! assert_eq!(notice::try_list(&tidings).map(|kept| kept.notices().len()), Some(list.notices().len()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`account`] | members, signing up and in, tokens, who the caller is, university verification |
//! | [`member`] | the operations of administrators on members |
//! | [`member_import`], [`roster_import`] | imports of members, and of the roster for verification |
//! | [`member_data`] | everything that is stored about a member |
//! | [`admin`] | administrators, the blacklist |
//! | [`audit`] | the trail of what administrators, operators and API keys have done |
//! | [`profile`] | a member's own data: names, lists, interest measurement |
//! | [`notice`] | administrators' notices |
//! | [`main_info`] | the two lines of the front page |
//! | [`feedback`] | messages from members to the administrators |
//! | [`webhook`] | other systems that are told about notices and feedback |
//! | [`post`] | posts, their import, views and likes |
//! | [`lookup`] | posts, notices and feedback by the beginning of their ids |
//! | [`search`] | search over posts, search records |
//! | [`newsfeed`] | the popular, topic and recommended feeds |
//! | [`act`] | the import of members' acts from another system |
//! | [`analysis`] | access log, counters, reports |
//! | [`events`] | live events: new posts, changes of notices, counts |
//! | `demo` | fictitious data for demonstrations; needs the feature `demo` |
//! | [`words`] | the word model: similar words |
//! | [`backup`] | backups of the database, and restoring them |
//! | [`copy`] | copies of the database to a new one, also between SQLite and PostgreSQL |
//! | [`draft_file`] | files that are renamed when they are complete |
//! | [`check`] | checks of a database, and repair of derived rows |
//!
//! # Permissions
//!
//! An operation takes a [`Caller`] and checks the caller's permissions inside its transaction:
//!
//! - **All callers** may search, read feeds, posts and reports, sign up and sign in. An operation that gives every caller
//!   the same answer ([`search::Find`], [`newsfeed::ListPopular`], [`post::Get`]) does not look at the caller.
//! - **Members** act on their own account and lists.
//! - **Administrators** publish, read feedback and the access log, and blacklist members.
//! - **The operator** ([`Caller::Operator`]) is the person who may read the database file.
//!   The operator has every right of an administrator, and also appoints administrators, sets passwords, lists
//!   members, imports the roster and trains words. No HTTP request has the operator's rights. [`backup`] and [`check`] work on a
//!   file rather than on a [`Tidings`], so they take the authority itself, [`Operator`](account::Operator).
//!
//! The functions that run the service are not operations and take no caller: [`Tidings::start`],
//! [`analysis::record`], [`stats`], [`changes`].
//!
//! The modules above use the store, [`location`], [`clock`], [`id`], [`error`], [`config`], [`import`], [`export`],
//! [`stats`], [`changes`], [`fair`] and [`answer`].

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub mod account;
pub mod act;
mod activation;
pub mod admin;
pub mod analysis;
pub mod answer;
pub mod api;
pub mod audit;
mod background;
pub mod backup;
mod builder;
mod cancel;
pub mod changes;
pub mod check;
mod client;
pub mod clock;
pub mod config;
pub mod copy;
#[cfg(feature = "demo")]
pub mod demo;
pub mod draft_file;
pub mod error;
pub mod events;
pub mod export;
pub mod fair;
pub mod feedback;
mod files;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod id;
pub mod import;
mod keyed;
mod last_backup;
mod lease;
pub mod location;
pub mod lookup;
pub mod main_info;
pub mod member;
pub mod member_data;
pub mod member_import;
pub mod newsfeed;
pub mod notice;
pub mod operation;
pub mod operations;
mod outbox;
pub mod post;
mod prefix;
pub mod profile;
mod random;
mod removal;
mod retention;
pub mod roster_import;
pub mod schema;
mod scope;
pub mod search;
pub mod stats;
pub mod status;
mod step;
mod store;
#[cfg(test)]
mod structure;
#[cfg(test)]
mod testing;
mod text;
pub mod text_file;
pub mod tls;
mod trail;
pub mod webhook;
pub mod words;
mod zone;

pub use account::Caller;
pub use builder::Builder;
pub use error::{Error, Outcome, Pending, Result};
pub use location::Location;
pub use store::{PendingFuture, SCHEMA_VERSION, ServerError, StoreError};
pub use trail::Surface;

use account::key::KnownKeys;
use account::password::Hasher;
use account::sessions::SeenSessions;
use account::throttle::Throttle;
use account::token::Keys;
use account::verify::Verifier;
use clock::{Clock, Timestamp};
use config::Config;
use retention::Retention;
use store::Store;

/// The service over one database. Cheap to clone; the last clone dropped flushes and closes it.
#[derive(Clone)]
pub struct Tidings(Arc<Inner>, Surface);

struct Inner {
    // Declared first, so that their threads stop before the store closes.
    feeds: newsfeed::Feeds,
    retention: Retention,
    analysis: analysis::State,
    index_merger: post::index::Merger,
    webhook_sender: webhook::Sender,
    other_views: notice::OtherViews,
    search_cache: post::index::SearchCache,
    spelling: words::Spelling,
    words: Arc<words::ModelKeeper>,
    notice_cache: notice::NoticeCache,
    user_infos: profile::UserInfos,
    store: Arc<Store>,
    keys: Keys,
    known_keys: KnownKeys,
    seen_sessions: SeenSessions,
    hasher: Hasher,
    throttle: Throttle,
    acts: post::acts::Acts,
    /// The latest moment at which this process has inserted, changed or removed posts.
    posts_changed: store::Latest,
    recent_likes: profile::likes::RecentLikes,
    verifier: Box<dyn Verifier>,
    config: Config,
    clock: Clock,
    location: Location,
    /// The name of the operator's account on this machine.
    operator: Option<Arc<str>>,
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
        self.keys().required()?;
        newsfeed::start(self)?;
        retention::start(self)?;
        analysis::start(self)?;
        self.index_merger().start()?;
        self.webhook_sender().start()?;
        self.0.other_views.start()?;
        words::start(self)
    }

    /// Returns the same service with the way in which its operations are called from now on, for the audit trail.
    #[must_use]
    pub fn through(self, surface: Surface) -> Self {
        Self(self.0, surface)
    }

    /// Returns the time and the surface of a call that begins now.
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
    /// reads, such as [`profile::submit_user_info`], run together on threads of the service.
    pub fn is_on_server(&self) -> bool {
        self.store().is_on_server()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.0.keys
    }

    pub(crate) fn known_keys(&self) -> &KnownKeys {
        &self.0.known_keys
    }

    pub(crate) fn seen_sessions(&self) -> &SeenSessions {
        &self.0.seen_sessions
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.0.hasher
    }

    pub(crate) fn user_infos(&self) -> &profile::UserInfos {
        &self.0.user_infos
    }

    pub(crate) fn acts(&self) -> &post::acts::Acts {
        &self.0.acts
    }

    /// Returns the location of the database.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    pub(crate) fn recent_likes(&self) -> &profile::likes::RecentLikes {
        &self.0.recent_likes
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.0.throttle
    }

    pub(crate) fn verifier(&self) -> &dyn Verifier {
        &*self.0.verifier
    }

    pub(crate) fn other_views(&self) -> &notice::OtherViews {
        &self.0.other_views
    }

    pub(crate) fn notice_cache(&self) -> &notice::NoticeCache {
        &self.0.notice_cache
    }

    pub(crate) fn analysis(&self) -> &analysis::State {
        &self.0.analysis
    }

    pub(crate) fn words(&self) -> &words::ModelKeeper {
        &self.0.words
    }

    pub(crate) fn posts_changed(&self) -> &store::Latest {
        &self.0.posts_changed
    }

    pub(crate) fn index_merger(&self) -> &post::index::Merger {
        &self.0.index_merger
    }

    pub(crate) fn webhook_sender(&self) -> &webhook::Sender {
        &self.0.webhook_sender
    }

    pub(crate) fn search_cache(&self) -> &post::index::SearchCache {
        &self.0.search_cache
    }

    pub(crate) fn spelling(&self) -> &words::Spelling {
        &self.0.spelling
    }

    pub(crate) fn feeds(&self) -> &newsfeed::Feeds {
        &self.0.feeds
    }
}

/// Replaces an error with [`StoreError::Full`] if the disk of the database at `location` is full. Otherwise the error would
/// depend on the file that could not grow.
fn full_or(location: &Location, error: Error) -> Error {
    match error {
        Error::Store(StoreError::Other(_)) if location.is_full() => StoreError::Full.into(),
        error => error,
    }
}
