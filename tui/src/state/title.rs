//! The database or the server that the screens show, as the title names it.

use std::sync::Arc;

use tidings_client::Link;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Title {
    /// The path or the URL of a database, or the host of a server.
    pub(crate) name: Arc<str>,
    /// The caller of the operations of a server, if it is known.
    pub(crate) caller: Option<Arc<str>>,
    /// `None` for a database.
    pub(crate) link: Option<Link>,
}

impl Title {
    pub(crate) fn database(name: &str) -> Self {
        Self { name: name.into(), caller: None, link: None }
    }

    /// The server was not asked yet.
    pub(crate) fn server(host: &str) -> Self {
        Self { name: host.into(), caller: None, link: Some(Link::Connecting) }
    }
}
