//! The errors of connecting to a PostgreSQL server.

/// A PostgreSQL server cannot be used. The message says why, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    #[error(
        "the URL is malformed: {fault}: it has the form postgres://USER@HOST:PORT/DATABASE?PARAMETER=VALUE"
    )]
    Url {
        /// The wrong part, without the password.
        fault: String,
    },
    #[error(
        "this program was built without PostgreSQL: use one that was built with the feature postgres, or name an SQLite \
         file"
    )]
    NotBuilt,
    #[error("no server answers ({hosts}): check the hosts and ports of the URL, and whether the server runs")]
    Unreachable { hosts: String },
    /// Servers answer, but none of them accepts writes.
    #[error(
        "no server accepts writes ({hosts}): promote a standby, or add the host of the primary to the URL"
    )]
    NoPrimary { hosts: String },
    /// The server asks for a password, and none is set.
    #[error("the server asks for the password of the user {user:?}: {advice}")]
    NoPassword {
        user: String,
        /// Where to put it, or why the password file is ignored.
        advice: String,
    },
    #[error(
        "the password of the user {user:?} is wrong: correct it in PGPASSWORD, in the password file or in the URL"
    )]
    WrongPassword { user: String },
    /// The server has no such user, or one that may not sign in.
    #[error("{message}: create it with: CREATE ROLE {user} LOGIN, or name another user in the URL")]
    NoUser {
        message: String,
        /// The user, as SQL writes it.
        user: String,
    },
    /// The server does not accept the connection, for a reason that its message gives.
    #[error("the server refuses the connection: {message}: check the database and the options of the URL")]
    Rejected { message: String },
    /// The server does not accept this user from this machine.
    #[error("the server refuses the connection: {message}: see its pg_hba.conf")]
    Refused { message: String },
    #[error("the server has no database {database:?}: create it with: createdb {database}")]
    NoDatabase { database: String },
    #[error(
        "the database {database:?} has no tables yet: the first start of the service creates them, or the URL names the \
         wrong database"
    )]
    NoTables { database: String },
    #[error(
        "the schema {schema:?} has tables of another program: name an empty database, or a schema without other tables, by \
         options=-csearch_path%3DNAME in the URL"
    )]
    Foreign { schema: String },
    #[error(
        "there is no schema for the tables: search_path is {path:?}: name one that exists and is not PostgreSQL's own, such as \
         with ALTER ROLE {user:?} SET search_path = public, and let its owner run: GRANT USAGE, CREATE ON SCHEMA public TO \
         {user:?}"
    )]
    NoSchema { path: String, user: String },
    /// A copy to the database was interrupted, or is not finished yet.
    #[error(
        "the database {database:?} is an incomplete copy: wait for the end of tidings store copy, or run it again, which \
         begins anew"
    )]
    Incomplete { database: String },
    /// The user lacks a right.
    #[error("{message}: let the owner of the database run: {grant}")]
    Denied { message: String, grant: String },
    #[error(
        "the server has version {found}, and this program needs PostgreSQL 15 or newer: update the server"
    )]
    TooOld { found: String },
    /// The server is a different product.
    #[error("the server is {found}, which this program does not support: use PostgreSQL 15 or newer")]
    NotPostgres { found: String },
    #[error(
        "the database {database:?} has the encoding {found}: create one with: createdb --encoding=UTF8 \
         --template=template0 NAME"
    )]
    Encoding { database: String, found: String },
    #[error("no secure connection to {host}: {cause}: check sslmode and sslrootcert in the URL")]
    Tls { host: String, cause: String },
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
    #[error(
        "the server has no free connection ({message}): raise its max_connections, or stop other programs"
    )]
    TooManyConnections { message: String },
}

impl ServerError {
    /// Returns whether trying again later may succeed, without a change to the settings or the server's configuration.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NoPrimary { .. } | Self::TooManyConnections { .. })
    }
}
