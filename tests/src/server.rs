//! Runs the real binary as a server.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use tidings_cluster::Cluster;

use crate::binary::{self, Output, command};
use crate::caller::{Address, Caller, PASSWORD};
use crate::database::{self, location};
use crate::process::{Process, Stopped};
use crate::{Answer, raw, remote};

/// The system chooses the port.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A running `tidings serve` with its own database and port. Dropping the value kills the process.
pub struct Server {
    database: PathBuf,
    location: OsString,
    configure: Configure,
    address: Address,
    process: Option<Process>,
    past: String,
    // Dropped last, after the process that writes to them has ended.
    postgres_database: Option<tidings_cluster::Database>,
    _directory: Option<TempDir>,
}

/// Adds flags and environment variables to the `serve` command.
type Configure = Box<dyn Fn(&mut Command) + Send + Sync>;

impl Server {
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    /// Starts a server on a new database with additional flags or variables, for example `Server::with(|serve| {
    /// serve.args(["--base-path", "/api"]); })`. A restart uses them again.
    pub fn with(configure: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::new(directory.path().join("tidings.db"), Some(directory), Box::new(configure))
    }

    /// Starts a server on a new database of PostgreSQL, whatever the other tests run on. Methods that read the database
    /// directly work on the other tests' engine only.
    pub fn on_postgres() -> Self {
        Self::on_postgres_at(|database| database.url().to_owned())
    }

    /// Starts a server on a new PostgreSQL database, with the URL that `url` returns for it.
    pub fn on_postgres_at(url: impl FnOnce(&tidings_cluster::Database) -> String) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Cluster::shared().expect("PostgreSQL is installed").database();
        let mut server =
            Self::stopped(directory.path().join("tidings.db"), Some(directory), Box::new(|_| {}));
        server.location = url(&database).into();
        server.postgres_database = Some(database);
        server.restart();
        server
    }

    /// Starts a server that trusts this machine as a proxy, with more flags. [`caller_at`](Self::caller_at) chooses the
    /// addresses of its callers.
    pub fn behind_a_proxy(more: &'static [&'static str]) -> Self {
        Self::with(move |serve| {
            serve.args(["--trust-proxy", "127.0.0.1"]).args(more);
        })
    }

    /// Starts a server on the database at `path`, which is not deleted afterwards, with additional flags or
    /// variables.
    pub fn at(path: impl Into<PathBuf>, configure: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        Self::new(path.into(), None, Box::new(configure))
    }

    /// Starts a server like [`Server::at`]. The error is the log of a process that does not become ready.
    pub fn try_at(
        path: impl Into<PathBuf>,
        configure: impl Fn(&mut Command) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let mut server = Self::stopped(path.into(), None, Box::new(configure));
        server.try_restart(ANY_PORT).map(|()| server)
    }

    fn new(database: PathBuf, directory: Option<TempDir>, configure: Configure) -> Self {
        let mut server = Self::stopped(database, directory, configure);
        server.restart();
        server
    }

    fn stopped(database: PathBuf, directory: Option<TempDir>, configure: Configure) -> Self {
        Self {
            location: location(&database),
            database,
            configure,
            address: Arc::new(Mutex::new(ANY_PORT)),
            process: None,
            past: String::new(),
            postgres_database: None,
            _directory: directory,
        }
    }

    /// Returns the path that names the database: that of its file on SQLite.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Returns the value of the flag `--db`: the path of the file, or the URL.
    pub fn location(&self) -> &OsStr {
        &self.location
    }

    /// Returns the path of a file that belongs to the database, such as its key: its name is that of the database and
    /// `end`.
    pub fn beside(&self, end: &str) -> PathBuf {
        database::beside(&self.database, self.database.parent().unwrap(), end)
    }

    /// Opens a connection to the database, which also works while the server runs.
    pub fn sql(&self) -> database::Database {
        database::Database::open(&self.database)
    }

    pub fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the server runs").id()
    }

    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("the server runs").signal(signal);
    }

    /// Returns everything that the server has written to standard error since its first start.
    pub fn log(&self) -> String {
        let now = self.process.as_ref().map(Process::log);
        format!("{}{}", self.past, now.unwrap_or_default())
    }

    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        self.past.push_str(&process.kill());
    }

    pub fn stop(&mut self) -> Stopped {
        let process = self.process.take().expect("the server runs");
        let stopped = process.stop();
        self.past.push_str(&stopped.log);
        stopped
    }

    /// Starts the server again on the same database, stopping it first if it is running. Existing callers use the
    /// new address.
    pub fn restart(&mut self) {
        self.restart_on(ANY_PORT);
    }

    /// Does the same as [`Server::restart`], at the same address as before, for programs that know no other.
    pub fn restart_here(&mut self) {
        self.restart_on(self.address());
    }

    fn restart_on(&mut self, listen: SocketAddr) {
        if self.process.is_some() {
            self.stop();
        }
        if let Err(log) = self.try_restart(listen) {
            panic!("the server did not become ready; its log:\n{log}");
        }
    }

    /// The error is the log of a process that does not become ready.
    fn try_restart(&mut self, listen: SocketAddr) -> Result<(), String> {
        let mut serve = self.command();
        serve.args(["serve", "--listen", &listen.to_string()]);
        (self.configure)(&mut serve);
        let (process, address) = Process::start(serve)?;
        self.process = Some(process);
        *self.address.lock().unwrap() = address;
        Ok(())
    }

    /// Runs a command on the same database, for example `server.cli(["admin", "grant", "ann"])`.
    pub fn cli<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        self.cli_with_input(args, "")
    }

    pub fn cli_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Output {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let mut command = self.command();
        command.args(&args);
        if remote::is_chosen() && self.process.is_some() && remote::is_remote(&args) {
            self.sign_in(&mut command, &args);
        }
        binary::run(command, input)
    }

    /// Lets a command with these arguments run on this server in place of its database.
    pub fn sign_in(&self, command: &mut Command, args: &[OsString]) {
        remote::sign_in(command, args, &format!("http://{}", self.address()), &self.database);
    }

    /// Returns a command on the same database, with the database's directory as working directory.
    pub fn command(&self) -> Command {
        let mut command = command();
        // The directory of the tests could contain a `tidings.toml`, which the command would read.
        command.current_dir(self.database.parent().unwrap());
        command.arg("--db").arg(&self.location);
        command
    }

    /// Returns everything that the database holds: the bytes of its file and of the write-ahead log, or all rows of
    /// PostgreSQL as text.
    pub fn content(&self) -> Vec<u8> {
        database::content(&self.database)
    }

    /// Returns every row as text, by table. Two dumps are equal if nothing was written in between, apart from
    /// request counts and the access log.
    pub fn dump(&self) -> BTreeMap<String, Vec<String>> {
        database::dump(&self.database)
    }

    /// Runs the integrity checks of the database itself, which also works while the server runs; `ok` means that they
    /// found no error.
    pub fn integrity(&self) -> String {
        database::integrity(&self.database)
    }

    pub fn anyone(&self) -> Caller {
        Caller::new(Arc::clone(&self.address))
    }

    /// Returns a caller that is not signed in, at this address, of a server [behind a proxy](Self::behind_a_proxy).
    pub fn caller_at(&self, address: &str) -> Caller {
        self.anyone().with_header("X-Forwarded-For", address)
    }

    /// Signs up a member with the password [`PASSWORD`] and the id as nickname, and returns its caller.
    pub fn member(&self, id: &str) -> Caller {
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
        let anyone = self.anyone();
        let answer = anyone.post("/sign_up", form).succeeded();
        anyone.with_token(id, answer.text("/access_token"))
    }

    /// Signs up the member `admin` and makes it an administrator. Call it once per server, and clone the caller.
    pub fn admin(&self) -> Caller {
        let admin = self.member("admin");
        let _ = self.cli(["admin", "grant", "admin"]).succeeded();
        admin
    }

    pub fn raw(&self, request: impl AsRef<[u8]>) -> Answer {
        self.try_raw(request).expect("an answer")
    }

    /// Sends exactly these bytes on a new connection; `None` if the server closes it without a response.
    pub fn try_raw(&self, request: impl AsRef<[u8]>) -> Option<Answer> {
        raw::send(self.address(), request.as_ref())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            self.past.push_str(&process.kill());
        }
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.past);
        }
    }
}
