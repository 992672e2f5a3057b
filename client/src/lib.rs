//! The operations of a tidings service for programs that administer it, on its database or over HTTPS on a server. Callers of
//! [`Service::call`] cannot tell the two apart: the answers have the same types, and the same rules apply.
//!
//! ```
//! use tidings_client::Service;
//! use tidings_core::{Tidings, account::Caller, notice};
//!
//! # let dir = tempfile::tempdir()?;
//! let tidings = Tidings::open(dir.path().join("campus.db"))?;
//! let service = Service::on_database(tidings, Caller::Operator);
//! let draft = notice::Draft { title: Some("Library".into()), post: Some("Open.".into()), ..Default::default() };
//! service.call(notice::Insert { draft })?;
//! assert_eq!(service.call(notice::List::default())?.notices().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::clock::{Clock, Timestamp};

mod address;
mod call;
mod error;
mod events;
mod export;
mod facts;
mod http;
mod import;
mod member;
mod request;
pub mod shown;
mod sign_in;
mod watch;

pub use address::{Address, InvalidAddress};
pub use error::{Error, Refusal, Result};
pub use events::{Event, Events};
pub use http::Server;
pub use sign_in::{SignedIn, expiry};
pub use watch::{Link, Look, Watch};

/// Cheap to clone.
#[derive(Clone)]
pub struct Service(Place);

#[derive(Clone)]
enum Place {
    Database(Box<Database>),
    Server(Server),
}

#[derive(Clone)]
struct Database {
    tidings: Tidings,
    caller: Caller,
}

impl Service {
    /// `caller` is the operator, or a member in whose name the operator acts.
    pub fn on_database(tidings: Tidings, caller: Caller) -> Self {
        Self(Place::Database(Box::new(Database { tidings, caller })))
    }

    pub fn on_server(server: Server) -> Self {
        Self(Place::Server(server))
    }

    /// For what only a database can do; `None` if this is a server.
    pub fn database(&self) -> Option<(&Tidings, &Caller)> {
        match &self.0 {
            Place::Database(database) => Some((&database.tidings, &database.caller)),
            Place::Server(_) => None,
        }
    }

    /// `None` if this is a database.
    pub fn server(&self) -> Option<&Server> {
        match &self.0 {
            Place::Server(server) => Some(server),
            Place::Database(_) => None,
        }
    }

    pub fn acts_as_member(&self) -> bool {
        self.member().is_some()
    }

    fn member(&self) -> Option<&str> {
        match &self.0 {
            Place::Database(database) => match &database.caller {
                Caller::Member(id) => Some(id.as_str()),
                Caller::Guest | Caller::Token(_) | Caller::Operator => None,
            },
            Place::Server(server) => server.member(),
        }
    }

    fn is_own(&self, id: &str) -> bool {
        self.member().is_some_and(|member| member.eq_ignore_ascii_case(id))
    }

    /// By the clock of the database, or of this machine.
    pub fn now(&self) -> Timestamp {
        self.database().map_or_else(|| Clock::system().now(), |(tidings, _)| tidings.clock().now())
    }

    fn run<T>(
        &self,
        on_database: impl FnOnce(&Tidings, &Caller) -> tidings_core::Result<T>,
        on_server: impl FnOnce(&Server) -> Result<T>,
    ) -> Result<T> {
        match &self.0 {
            Place::Database(database) => Ok(on_database(&database.tidings, &database.caller)?),
            Place::Server(server) => on_server(server),
        }
    }
}
