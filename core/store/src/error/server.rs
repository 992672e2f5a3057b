//! The errors of connecting to a PostgreSQL server.

/// A PostgreSQL server cannot be used. The message says why, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The URL is malformed.
    #[error(
        "the URL is malformed: {fault}: it has the form postgres://USER@HOST:PORT/DATABASE?PARAMETER=VALUE"
    )]
    Url {
        /// The wrong part, without the password.
        fault: String,
    },
    /// The program was built without the feature `postgres`.
    #[error(
        "this program was built without PostgreSQL: use one that was built with the feature postgres, or name an SQLite \
         file"
    )]
    NotBuilt,
    /// No server answers.
    #[error("no server answers ({hosts}): check the hosts and ports of the URL, and whether the server runs")]
    Unreachable {
        /// The hosts, each with the reason.
        hosts: String,
    },
    /// Servers answer, but none of them accepts writes.
    #[error(
        "no server accepts writes ({hosts}): promote a standby, or add the host of the primary to the URL"
    )]
    NoPrimary {
        /// The hosts, each with its state.
        hosts: String,
    },
    /// The server asks for a password, and none is set.
    #[error("the server asks for the password of the user {user:?}: {advice}")]
    NoPassword {
        /// The user.
        user: String,
        /// Where to put it, or why the password file is ignored.
        advice: String,
    },
    /// The password is wrong.
    #[error(
        "the password of the user {user:?} is wrong: correct it in PGPASSWORD, in the password file or in the URL"
    )]
    WrongPassword {
        /// The user.
        user: String,
    },
    /// The server has no such user, or one that may not sign in.
    #[error("{message}: create it with: CREATE ROLE {user} LOGIN, or name another user in the URL")]
    NoUser {
        /// The server's message.
        message: String,
        /// The user, as SQL writes it.
        user: String,
    },
    /// The server does not accept the connection, for a reason that its message gives.
    #[error("the server refuses the connection: {message}: check the database and the options of the URL")]
    Rejected {
        /// The server's message.
        message: String,
    },
    /// The server does not accept this user from this machine.
    #[error("the server refuses the connection: {message}: see its pg_hba.conf")]
    Refused {
        /// The server's message.
        message: String,
    },
    /// The server has no database of this name.
    #[error("the server has no database {database:?}: create it with: createdb {database}")]
    NoDatabase {
        /// The name.
        database: String,
    },
    /// The database has no tables.
    #[error(
        "the database {database:?} has no tables yet: the first start of the service creates them, or the URL names the \
         wrong database"
    )]
    NoTables {
        /// The name of the database.
        database: String,
    },
    /// The schema has tables of another program.
    #[error(
        "the schema {schema:?} has tables of another program: name an empty database, or a schema without other tables, by \
         options=-csearch_path%3DNAME in the URL"
    )]
    Foreign {
        /// The name of the schema.
        schema: String,
    },
    /// There is no schema in which tables can be created.
    #[error(
        "there is no schema for the tables: search_path is {path:?}: name one that exists and is not PostgreSQL's own, such as \
         with ALTER ROLE {user:?} SET search_path = public, and let its owner run: GRANT USAGE, CREATE ON SCHEMA public TO \
         {user:?}"
    )]
    NoSchema {
        /// The setting `search_path` of the connection.
        path: String,
        /// The user.
        user: String,
    },
    /// A copy to the database was interrupted, or is not finished yet.
    #[error(
        "the database {database:?} is an incomplete copy: wait for the end of tidings store copy, or run it again, which \
         begins anew"
    )]
    Incomplete {
        /// The name of the database.
        database: String,
    },
    /// The user lacks a right.
    #[error("{message}: let the owner of the database run: {grant}")]
    Denied {
        /// The server's message.
        message: String,
        /// The statement that grants the right.
        grant: String,
    },
    /// The server is too old.
    #[error(
        "the server has version {found}, and this program needs PostgreSQL 15 or newer: update the server"
    )]
    TooOld {
        /// The version of the server.
        found: String,
    },
    /// The server is a different product.
    #[error("the server is {found}, which this program does not support: use PostgreSQL 15 or newer")]
    NotPostgres {
        /// The name that the server reports.
        found: String,
    },
    /// The database does not store text as UTF-8.
    #[error(
        "the database {database:?} has the encoding {found}: create one with: createdb --encoding=UTF8 \
         --template=template0 NAME"
    )]
    Encoding {
        /// The name of the database.
        database: String,
        /// Its encoding.
        found: String,
    },
    /// There is no secure connection to the server.
    #[error("no secure connection to {host}: {cause}: check sslmode and sslrootcert in the URL")]
    Tls {
        /// The host.
        host: String,
        /// The cause.
        cause: String,
    },
    /// The clocks of this machine and of the server differ too much.
    #[error(
        "the clock of the database server is {ahead_s} s ahead of the clock of this machine: synchronise both, for example \
         with NTP"
    )]
    Clock {
        /// The seconds by which the clock of the server is ahead; negative if it is behind.
        ahead_s: i64,
    },
    /// A pooler between this program and the server gives a connection of the server to several clients.
    #[error(
        "a pooler gives the connections of the server to other clients between two transactions: set its pool_mode to \
         session, or name the host of the server itself in the URL"
    )]
    SharedConnections,
    /// The server has too many connections.
    #[error(
        "the server has no free connection ({message}): raise its max_connections, or stop other programs"
    )]
    TooManyConnections {
        /// The server's message.
        message: String,
    },
}

impl ServerError {
    /// Returns whether trying again later may succeed, without a change to the settings or the server's configuration.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NoPrimary { .. } | Self::TooManyConnections { .. })
    }
}
