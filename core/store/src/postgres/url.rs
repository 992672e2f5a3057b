//! Parses the URL of a PostgreSQL database, which has the form of libpq's URLs.
//!
//! Source: <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::ChannelBinding;

use crate::error::ServerError;
use crate::location::PostgresUrl;

const PORT: u16 = 5432;
/// The default directories of sockets: on Debian, and as PostgreSQL is released.
pub(super) const SOCKET_DIRECTORIES: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

pub(super) struct Target {
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    /// From the URL or `PGPASSWORD`.
    pub(super) password: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) database: String,
    pub(super) tls: Tls,
    /// A connection for writing also accepts a server that does not accept writes.
    pub(super) any_server: bool,
    /// For each host, including the name look-up, TLS and signing in.
    pub(super) connect_timeout: Duration,
    pub(super) tcp_user_timeout: Duration,
    /// `None` if they are off.
    pub(super) keepalives: Option<Keepalives>,
    pub(super) application_name: String,
    pub(super) options: Option<String>,
    pub(super) channel_binding: ChannelBinding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// The name, the address, or the directory of a unix socket.
    pub(super) name: String,
    /// Set if the name is not to be looked up.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

impl Host {
    pub(super) fn is_socket(&self) -> bool {
        self.name.starts_with('/')
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.name {
            socket if self.is_socket() => write!(f, "{socket}/.s.PGSQL.{}", self.port),
            address if address.contains(':') => write!(f, "[{address}]:{}", self.port),
            name => write!(f, "{name}:{}", self.port),
        }
    }
}

/// Keepalives detect a server that no longer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keepalives {
    pub(super) idle: Duration,
    pub(super) interval: Duration,
    pub(super) count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    Off,
    /// TLS if the server supports it, without checking its certificate.
    Preferred,
    /// Does not check the server's certificate.
    Required,
    /// A certificate of a trusted authority, for any name.
    Authority(Roots),
    /// A certificate of a trusted authority, for the host.
    Full(Roots),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// The authorities that web browsers trust.
    Public,
    /// Those in a PEM file, and no others.
    File(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// `PGUSER`, or the user of the operating system.
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// `PGPASSFILE`, or `.pgpass` in the home directory.
    pub(super) password_file: Option<PathBuf>,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let text = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let home = || Some(std::env::home_dir()?.join(".pgpass"));
        Self {
            user: text("PGUSER").or_else(|| whoami::username().ok()),
            password: text("PGPASSWORD"),
            password_file: text("PGPASSFILE").map(PathBuf::from).or_else(home),
        }
    }
}

impl Target {
    /// The text of the error never contains a password.
    pub(super) fn parse(url: &PostgresUrl, environment: Environment) -> Result<Self, ServerError> {
        parse(url, environment).map_err(|fault| ServerError::Url { fault })
    }
}

fn parse(url: &PostgresUrl, environment: Environment) -> Result<Target, String> {
    if url.with_password().contains(|c: char| c.is_control() || c == ' ') {
        return Err("it contains a space or a control character, which must be percent-encoded".into());
    }
    let parts = url.parts().ok_or("it does not begin with postgres:// or postgresql://")?;
    // Otherwise a password with an unescaped character could become part of a name, which messages show.
    let at = [parts.hosts, parts.path, parts.query.unwrap_or_default()].iter().any(|part| part.contains('@'));
    if at || parts.user_info.is_some_and(|info| info.contains('@')) {
        return Err("a character @ that does not end the user and the password must be written as %40".into());
    }
    if parts.path.contains('/') {
        return Err("the name of the database contains a slash, which must be written as %2F".into());
    }
    let mut given = Given::default();
    if let Some(info) = parts.user_info {
        let (user, password) = info.split_once(':').map_or((info, None), |(user, pw)| (user, Some(pw)));
        given.user = decoded(user, "the user")?;
        given.password = password.map(|pw| decoded(pw, "the password")).transpose()?.flatten();
    }
    for host in parts.hosts.split(',').filter(|_| !parts.hosts.is_empty()) {
        let (name, port) = host_and_port(host)?;
        given.hosts.push(decoded(name, "a host")?.unwrap_or_default());
        given.ports.push(port);
    }
    given.database = decoded(parts.path, "the name of the database")?;
    for parameter in
        parts.query.into_iter().flat_map(|query| query.split('&')).filter(|text| !text.is_empty())
    {
        given.take(parameter)?;
    }
    given.finish(environment)
}

/// The host may be an IPv6 address in brackets.
fn host_and_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let (name, rest) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("a host has no closing bracket")?,
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((name, None)),
        Some(port) => Ok((name, self::port(port)?)),
        None => Err("a bracket of a host is followed by something other than a port".into()),
    }
}

/// An empty port is the default.
fn port(text: &str) -> Result<Option<u16>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    // The text may be a password, if the host is missing.
    let port = text.parse().ok().filter(|port| *port > 0);
    port.map(Some).ok_or_else(|| "a port is not a number from 1 to 65535".into())
}

/// `None` for an empty part.
fn decoded(text: &str, what: &str) -> Result<Option<String>, String> {
    let is_hex = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    if text.match_indices('%').any(|(at, _)| !is_hex(at + 1) || !is_hex(at + 2)) {
        return Err(format!("{what} contains a % that is not followed by two hex digits: write it as %25"));
    }
    let text = percent_decode_str(text).decode_utf8().map_err(|_| format!("{what} is not UTF-8"))?;
    if text.contains('\0') {
        return Err(format!("{what} contains %00"));
    }
    Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
}

#[derive(Default)]
struct Given {
    hosts: Vec<String>,
    addresses: Vec<String>,
    ports: Vec<Option<u16>>,
    user: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    database: Option<String>,
    ssl_mode: Option<String>,
    ssl_root: Option<String>,
    any_server: bool,
    connect_timeout: Option<u64>,
    tcp_user_timeout: Option<u64>,
    keepalives: Option<u64>,
    keepalives_idle: Option<u64>,
    keepalives_interval: Option<u64>,
    keepalives_count: Option<u64>,
    application_name: Option<String>,
    options: Option<String>,
    channel_binding: Option<ChannelBinding>,
    has_password: bool,
}

impl Given {
    fn take(&mut self, parameter: &str) -> Result<(), String> {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        // The rest of a password with an unescaped `&` looks like a parameter.
        let is_name = key.len() <= 30 && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let unknown = || match key {
            key if is_name && !self.has_password && parameter.contains('=') => {
                format!("there is no parameter {key}")
            }
            _ => "a parameter does not have the form NAME=VALUE with a known name".to_owned(),
        };
        let text = || decoded(value, &format!("the parameter {key}"));
        let number = |max: u64| {
            let number = value.parse().ok().filter(|n| (1..=max).contains(n));
            number.map(Some).ok_or_else(|| format!("the parameter {key} is not a number from 1 to {max}"))
        };
        let list = || -> Result<Vec<String>, String> {
            Ok(text()?.unwrap_or_default().split(',').map(str::to_owned).collect())
        };
        match key {
            "host" => self.hosts = list()?,
            "hostaddr" => self.addresses = list()?,
            "port" => self.ports = list()?.iter().map(|text| port(text)).collect::<Result<_, _>>()?,
            "user" => self.user = text()?,
            "password" => {
                self.has_password = true;
                self.password = text()?;
            }
            "passfile" => self.password_file = text()?.map(PathBuf::from),
            "dbname" => self.database = text()?,
            "sslmode" => self.ssl_mode = text()?,
            "sslrootcert" => self.ssl_root = text()?,
            "target_session_attrs" => match value {
                "any" => self.any_server = true,
                "read-write" | "primary" => self.any_server = false,
                _ => return Err("the parameter target_session_attrs is read-write, primary or any".into()),
            },
            "standby_reads" => {
                return Err("the parameter standby_reads was removed: the primary answers".into());
            }
            "connect_timeout" => self.connect_timeout = number(3_600)?,
            "tcp_user_timeout" => self.tcp_user_timeout = number(3_600_000)?,
            "keepalives" => match value {
                "0" | "1" => self.keepalives = Some(u64::from(value == "1")),
                _ => return Err("the parameter keepalives is 0 or 1".into()),
            },
            "keepalives_idle" => self.keepalives_idle = number(86_400)?,
            "keepalives_interval" => self.keepalives_interval = number(86_400)?,
            "keepalives_count" => self.keepalives_count = number(100)?,
            "application_name" => self.application_name = text()?,
            "options" => self.options = text()?,
            "channel_binding" => {
                self.channel_binding = Some(match value {
                    "disable" => ChannelBinding::Disable,
                    "prefer" => ChannelBinding::Prefer,
                    "require" => ChannelBinding::Require,
                    _ => return Err("the parameter channel_binding is disable, prefer or require".into()),
                });
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn finish(self, environment: Environment) -> Result<Target, String> {
        let tls = self.tls()?;
        let hosts = self.hosts()?;
        let database = self.database.ok_or("it names no database")?;
        let user = self.user.or(environment.user).ok_or("it names no user")?;
        let seconds = |given: Option<u64>, default| Duration::from_secs(given.unwrap_or(default));
        let keepalives = (self.keepalives != Some(0)).then(|| Keepalives {
            idle: seconds(self.keepalives_idle, 5),
            interval: seconds(self.keepalives_interval, 2),
            count: u32::try_from(self.keepalives_count.unwrap_or(3)).expect("at most 100"),
        });
        Ok(Target {
            hosts,
            user,
            password: self.password.or(environment.password),
            password_file: self.password_file.or(environment.password_file),
            database,
            tls,
            any_server: self.any_server,
            connect_timeout: seconds(self.connect_timeout, 5),
            tcp_user_timeout: Duration::from_millis(self.tcp_user_timeout.unwrap_or(10_000)),
            keepalives,
            application_name: self.application_name.unwrap_or_else(|| "tidings".to_owned()),
            options: self.options,
            channel_binding: self.channel_binding.unwrap_or(ChannelBinding::Prefer),
        })
    }

    fn tls(&self) -> Result<Tls, String> {
        let roots = match self.ssl_root.as_deref() {
            None | Some("system") => Roots::Public,
            Some(file) => Roots::File(file.into()),
        };
        Ok(match self.ssl_mode.as_deref() {
            Some("disable") => Tls::Off,
            None | Some("prefer") => Tls::Preferred,
            // As in libpq: naming authorities means that they are checked.
            Some("require") if self.ssl_root.is_some() => Tls::Authority(roots),
            Some("require") => Tls::Required,
            Some("verify-ca") => Tls::Authority(roots),
            Some("verify-full") => Tls::Full(roots),
            Some(_) => {
                let rule = "the parameter sslmode is disable, prefer, require, verify-ca or verify-full";
                return Err(rule.into());
            }
        })
    }

    fn hosts(&self) -> Result<Vec<Host>, String> {
        let mut names = self.hosts.clone();
        if names.is_empty() {
            names.clone_from(&self.addresses);
        }
        if names.is_empty() {
            names.push(String::new());
        }
        if !self.addresses.is_empty() && self.addresses.len() != names.len() {
            return Err("there are not as many addresses in hostaddr as hosts".into());
        }
        if self.ports.len() > 1 && self.ports.len() != names.len() {
            return Err("there are not as many ports as hosts".into());
        }
        let address = |n: usize| match self.addresses.get(n).map(String::as_str) {
            None | Some("") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| "hostaddr is not a list of IP addresses"),
        };
        let port = |n: usize| self.ports.get(n).or(self.ports.first()).copied().flatten().unwrap_or(PORT);
        let hosts = names.into_iter().enumerate().map(|(n, name)| {
            let name = if name.is_empty() { default_host() } else { name };
            Ok(Host { name, address: address(n)?, port: port(n) })
        });
        hosts.collect()
    }
}

/// The directory of the server's socket, as in libpq.
fn default_host() -> String {
    if cfg!(unix) {
        let existing = SOCKET_DIRECTORIES.iter().find(|directory| Path::new(directory).is_dir());
        return (*existing.unwrap_or(&SOCKET_DIRECTORIES[0])).to_owned();
    }
    "localhost".to_owned()
}

#[cfg(test)]
mod tests;
