//! Connects to the servers that a URL names.

use std::collections::VecDeque;
use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tokio::task::JoinSet;
use tokio_postgres::error::DbError;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{
    AsyncMessage, CancelToken, Client, Config, Connection, Error, SimpleQueryMessage, Socket,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{cause, is_end};
use super::tls;
use super::url::{Environment, Host, Target};
use super::wait::Driving;
use crate::error::{ServerError, StoreError};
use crate::location::PostgresUrl;
use crate::tls::advice;

mod config;

use config::{config, password_of};

const VERSION_MIN: u32 = 15;
/// The next host is tried too after this time, while the hosts before it have not answered. A suspended or unreachable server
/// then delays a connection to another one only by this time. A connection to a primary waits as long for a host that has a later
/// primary.
const STAGGER: Duration = Duration::from_millis(200);

const PASSWORD_ADVICE: &str = "set PGPASSWORD, or add a line to the file that PGPASSFILE names";

/// Receives the notices and warnings of a connection, each before the answer of the statement that caused it.
pub(super) type OnNotice = Arc<dyn Fn(&DbError) + Send + Sync>;

#[derive(Clone)]
pub(super) struct Connector {
    hosts: Arc<[(Host, Config)]>,
    tls: MakeRustlsConnect,
    names: Arc<Names>,
    any_server: bool,
    connect_timeout: Duration,
    ignored_file: Option<Arc<str>>,
    /// The latest timeline of a primary. Each promotion of a standby begins a timeline.
    timeline: Arc<AtomicU32>,
}

/// The function of PostgreSQL that reports a user who does not exist or may not sign in.
const NO_USER: &str = "InitializeSessionUserId";

const TIMELINE: &str =
    "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END";

/// Nothing moves its bytes yet.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) driving: Driving,
    /// 0 for a connection that only reads.
    timeline: u32,
}

struct Names {
    user: String,
    database: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Needs the primary, unless the URL says `target_session_attrs=any`.
    Write,
    Read,
}

enum Refusal {
    /// Trying again does not help.
    Final(ServerError),
    Crowded(ServerError),
    ReadOnly(&'static str),
    /// The server accepts writes, but a standby was promoted in its place.
    Outdated,
    Silent(String),
}

impl Connector {
    /// Also reads the password file and the trusted authorities.
    pub(super) fn new(url: &PostgresUrl) -> Result<Self, StoreError> {
        Ok(Self::to(Target::parse(url, Environment::of_process())?)?)
    }

    fn to(target: Target) -> Result<Self, ServerError> {
        let tls = tls::connector(&target.tls)?;
        let mut ignored_file: Option<Arc<str>> = None;
        let hosts = target.hosts.iter().map(|host| {
            let password = password_of(&target, host).unwrap_or_else(|reason| {
                ignored_file = Some(reason.into());
                None
            });
            (host.clone(), config(&target, host, password))
        });
        let hosts = hosts.collect();
        if let Some(reason) = &ignored_file {
            tracing::warn!("{reason}");
        }
        let Target { user, database, any_server, connect_timeout, .. } = target;
        let (names, timeline) = (Names { user, database }.into(), Arc::default());
        Ok(Self { hosts, tls, names, any_server, connect_timeout, ignored_file, timeline })
    }

    /// 0 if none is known.
    pub(super) fn timeline(&self) -> u32 {
        self.timeline.load(Ordering::Acquire)
    }

    /// Connects to the first host that serves the purpose. If several hosts accept writes, the primary that was promoted last
    /// counts. The socket belongs to the current runtime. The error is the most specific reason why no host gives a connection.
    pub(super) async fn connect(
        &self,
        purpose: Purpose,
        on_notice: &OnNotice,
    ) -> Result<Connected, StoreError> {
        let mut waiting: VecDeque<usize> = (0..self.hosts.len()).collect();
        let mut attempts = JoinSet::new();
        let mut refusals = Vec::new();
        let mut found: Option<Connected> = None;
        let mut due = Instant::now();
        loop {
            if let Some(host) = waiting.pop_front() {
                let (connector, on_notice) = (self.clone(), Arc::clone(on_notice));
                attempts.spawn(async move {
                    let attempt = connector.attempt(host, purpose, on_notice);
                    let attempt = tokio::time::timeout(connector.connect_timeout, attempt).await;
                    (host, attempt.unwrap_or_else(|_| Err(Refusal::Silent("it does not answer".into()))))
                });
                due = Instant::now() + STAGGER;
            }
            let answer = if waiting.is_empty() && found.is_none() {
                attempts.join_next().await
            } else {
                match tokio::time::timeout_at(due.into(), attempts.join_next()).await {
                    Ok(answer) => answer,
                    // Dropping the other attempts ends them.
                    Err(_) if waiting.is_empty() => None,
                    Err(_) => continue,
                }
            };
            match answer {
                Some(Ok((_, Ok(connected)))) => {
                    if purpose == Purpose::Read {
                        return Ok(connected);
                    }
                    if found.as_ref().is_none_or(|other| connected.timeline > other.timeline) {
                        found = Some(connected);
                    }
                }
                Some(Ok((host, Err(refusal)))) => refusals.push((host, refusal)),
                Some(Err(panic)) => return Err(StoreError::other(panic)),
                None => return found.ok_or_else(|| self.refused(refusals).into()),
            }
        }
    }

    pub(super) async fn cancel(&self, token: &CancelToken) {
        // Nothing depends on it: without an answer the statement runs to its end.
        let _ = tokio::time::timeout(self.connect_timeout, token.cancel_query(self.tls.clone())).await;
    }

    async fn attempt(
        &self,
        number: usize,
        purpose: Purpose,
        on_notice: OnNotice,
    ) -> Result<Connected, Refusal> {
        let (host, config) = &self.hosts[number];
        let connected = config.connect(self.tls.clone()).await;
        let (client, connection) = connected.map_err(|error| self.refusal(host, config, &error))?;
        self.check(purpose, |name| connection.parameter(name))?;
        let mut driving: Driving = Box::pin(drive(connection, on_notice));
        if purpose == Purpose::Read {
            return Ok(Connected { client, driving, timeline: 0 });
        }
        let answer = match select(pin!(client.simple_query(TIMELINE)), &mut driving).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => return Err(Refusal::Silent("it has closed the connection".into())),
        };
        // A server whose storage replicates may have no timeline: 0.
        let timeline = answer.ok().and_then(|answer| timeline_in(&answer)).unwrap_or(0);
        if timeline < self.timeline.fetch_max(timeline, Ordering::AcqRel) {
            return Err(Refusal::Outdated);
        }
        Ok(Connected { client, driving, timeline })
    }

    fn check<'a>(
        &self,
        purpose: Purpose,
        parameter: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Refusal> {
        check_version(parameter("server_version").unwrap_or_default(), parameter("crdb_version"))
            .map_err(Refusal::Final)?;
        if let Some(found) = parameter("server_encoding").filter(|encoding| *encoding != "UTF8") {
            let (database, found) = (self.names.database.clone(), found.to_owned());
            return Err(Refusal::Final(ServerError::Encoding { database, found }));
        }
        // A proxy may not report these; the first write then fails.
        let is_on = |name| parameter(name) == Some("on");
        let reason = [
            ("in_hot_standby", "it is a standby"),
            ("default_transaction_read_only", "its setting default_transaction_read_only is on"),
        ];
        let reason = reason.into_iter().find(|(name, _)| is_on(name));
        match reason {
            Some((_, reason)) if purpose == Purpose::Write && !self.any_server => {
                Err(Refusal::ReadOnly(reason))
            }
            _ => Ok(()),
        }
    }

    fn refusal(&self, host: &Host, config: &Config, error: &Error) -> Refusal {
        let Names { user, database } = &*self.names;
        let user = user.clone();
        let Some(answer) = error.as_db_error() else {
            // The driver has no kinds for these errors.
            return match &*error.to_string() {
                "error performing TLS handshake" => {
                    Refusal::Final(ServerError::Tls { host: host.to_string(), cause: tls_cause(error) })
                }
                "invalid configuration" if config.get_password().is_none() => {
                    let advice = self.ignored_file.as_deref().unwrap_or(PASSWORD_ADVICE).to_owned();
                    Refusal::Final(ServerError::NoPassword { user, advice })
                }
                "invalid configuration" | "authentication error" => {
                    Refusal::Final(ServerError::Refused { message: cause(error) })
                }
                // A Unix socket refuses a connection at once while the server's queue of new ones is full.
                _ if is_full_queue(error) => Refusal::Crowded(ServerError::TooManyConnections {
                    message: "its queue of new connections is full".into(),
                }),
                _ => Refusal::Silent(cause(error)),
            };
        };
        let message = answer.message().to_owned();
        Refusal::Final(match answer.code().code() {
            "28P01" => ServerError::WrongPassword { user },
            "3D000" => ServerError::NoDatabase { database: database.clone() },
            "42501" => {
                let grant = format!("GRANT CONNECT ON DATABASE {} TO {}", quoted(database), quoted(&user));
                ServerError::Denied { message, grant }
            }
            "53300" => return Refusal::Crowded(ServerError::TooManyConnections { message }),
            code if is_end(code) => return Refusal::Silent(message),
            // The name of the function does not depend on the language of the server.
            "28000" if answer.routine() == Some(NO_USER) => {
                ServerError::NoUser { message, user: quoted(&user) }
            }
            code if code.starts_with("28") => ServerError::Refused { message },
            _ => ServerError::Rejected { message },
        })
    }

    /// The most specific error of all hosts.
    fn refused(&self, mut refusals: Vec<(usize, Refusal)>) -> ServerError {
        refusals.sort_by_key(|(host, _)| *host);
        let final_one = refusals.iter().find_map(|(_, refusal)| match refusal {
            Refusal::Final(error) => Some(error.clone()),
            _ => None,
        });
        let crowded = refusals.iter().find_map(|(_, refusal)| match refusal {
            Refusal::Crowded(error) => Some(error.clone()),
            _ => None,
        });
        let hosts: Vec<String> = refusals
            .iter()
            .map(|(host, refusal)| {
                let host = &self.hosts[*host].0;
                match refusal {
                    Refusal::Silent(cause) => format!("{host}: {cause}"),
                    Refusal::ReadOnly(reason) => format!("{host}: {reason}"),
                    Refusal::Outdated => format!("{host}: another server was promoted in its place"),
                    Refusal::Final(error) | Refusal::Crowded(error) => format!("{host}: {error}"),
                }
            })
            .collect();
        let hosts = hosts.join(", ");
        let answers =
            refusals.iter().any(|(_, refusal)| matches!(refusal, Refusal::ReadOnly(_) | Refusal::Outdated));
        final_one.or(crowded).unwrap_or(if answers {
            ServerError::NoPrimary { hosts }
        } else {
            ServerError::Unreachable { hosts }
        })
    }
}

/// Returns why TLS failed, with what to do about a certificate that rustls refuses.
fn tls_cause(error: &Error) -> String {
    let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let refusal = io.and_then(io::Error::get_ref).and_then(|cause| cause.downcast_ref());
    refusal.and_then(advice).map_or_else(|| cause(error), ToOwned::to_owned)
}

/// Returns whether an attempt to connect would have to wait.
fn is_full_queue(error: &Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::WouldBlock)
}

/// The first eight digits of the name of a file.
fn timeline_in(answer: &[SimpleQueryMessage]) -> Option<u32> {
    let name = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })?;
    u32::from_str_radix(name.get(..8)?, 16).ok()
}

/// Drives a connection until its client is dropped or it fails; the client then gets the failure as its next answer.
async fn drive(
    mut connection: Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
    on_notice: OnNotice,
) {
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) => on_notice(&notice),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(cause = cause(&error), "the connection to the database server ended");
                return;
            }
        }
    }
}

/// `version` is such as `15.18 (Debian 15.18-0+deb12u1)` or `16beta1`. `cockroach` is the version of a `CockroachDB` server.
fn check_version(version: &str, cockroach: Option<&str>) -> Result<(), ServerError> {
    if let Some(found) = cockroach {
        return Err(ServerError::NotPostgres { found: found.to_owned() });
    }
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    match major.parse::<u32>() {
        Err(_) if version.is_empty() => Err(ServerError::NotPostgres { found: "of an unknown kind".into() }),
        Err(_) => Err(ServerError::NotPostgres { found: version.to_owned() }),
        Ok(major) if major < VERSION_MIN => Err(ServerError::TooOld { found: version.to_owned() }),
        Ok(_) => Ok(()),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
