//! A database of one test.

use crate::connection::{Connection, Value};

/// A database on a [`Cluster`](crate::Cluster). Dropping it closes all connections to it and removes it: left in place,
/// the databases of a suite, 7 MB each, would take gigabytes, and removing one takes 10 ms.
#[derive(Debug)]
pub struct Database {
    url: String,
    name: String,
    /// The URL of the database from which this one is made and removed.
    maintenance: String,
}

impl Database {
    /// Nobody may be connected to `template`: a connection to it would refuse the copy.
    pub(crate) fn create(name: String, url: String, maintenance: String, template: &str) -> Self {
        let sql = format!("CREATE DATABASE {name} TEMPLATE {template}");
        Connection::open(&maintenance).unwrap().query(&sql, &[]);
        Self { url, name, maintenance }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.url).unwrap()
    }

    /// Runs statements on a connection of their own, as [`Connection::query`] does.
    pub fn query(&self, sql: &str, args: &[Value<'_>]) -> Vec<Vec<Option<String>>> {
        self.connect().query(sql, args)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server that has stopped keeps the database until its folder is removed.
        if let Ok(mut connection) = Connection::open(&self.maintenance) {
            let _ = connection.try_query(&format!("DROP DATABASE {} WITH (FORCE)", self.name), &[]);
        }
    }
}
