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
//! let form = SignUp { id: "ann".into(), pw: pw.clone(), pw_check: pw, nickname: "Ann".into(), email: None };
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
//! assert!(Stats::of(&service).writable);
//!
//! // A second handle on the same file, such as that of a command in another process.
//! let command = Tidings::open(&database)?;
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
//! | [`search`] | search over posts, search records |
//! | [`newsfeed`] | the popular, topic and recommended feeds |
//! | [`act`] | the import of members' acts from another system |
//! | [`analysis`] | access log, counters, reports |
//! | [`events`] | live events: new posts, changes of notices, counts |
//! | `demo` | fictitious data for demonstrations; needs the feature `demo` |
//! | [`words`] | the word model: similar words |
//! | [`backup`] | backups of the database, and restoring them |
//! | [`copy`] | copies of the database to a new one, also between SQLite and PostgreSQL |
//! | [`atomic_file`] | files that are renamed when they are complete |
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
//! [`stats`], [`changes`] and [`answer`].

#![warn(missing_docs)]

mod base;
mod record;

pub mod account;
pub mod admin;
pub mod analysis;
pub mod audit;
pub mod feedback;
pub mod import;
pub mod mail;
pub mod main_info;
pub mod member;
pub mod member_data;
pub mod newsfeed;
pub mod notice;
pub mod post;
pub mod profile;
mod removal;
pub mod search;
pub mod source;
pub mod webhook;
pub mod words;

mod service;
mod transfer;

#[cfg(test)]
mod testing;

pub use account::{Call, Caller, ClientInfo};
pub use audit::trail::Surface;
pub use base::location::Location;
pub use base::{atomic_file, clock, config, location, text_file, tls};
pub use record::error::{Error, Outcome, Pending, Result};
pub use record::{answer, error, export, id, operation, schema};
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use service::fuzzing;
pub use service::handle::Tidings;
pub use service::handle::builder::Builder;
pub use service::{api, changes, events, operations, stats, status};
pub(crate) use tidings_store as store;
pub use tidings_store::{PendingFuture, READ_CONNECTIONS, SCHEMA_VERSION, ServerError, StoreError};
#[cfg(feature = "demo")]
pub use transfer::demo;
pub use transfer::{act, backup, check, copy, member_import, roster_import};
