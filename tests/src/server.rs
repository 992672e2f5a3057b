//! The real binary, serving.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::binary::{self, Output, command};
use crate::caller::{Address, Caller, PASSWORD};
use crate::wait::holds_within;
use crate::{Answer, raw, store};

/// The longest that a start may take: the machine may be busy with other tests.
const START_MAX: Duration = Duration::from_secs(60);
/// The longest that a clean stop may take: the 10 seconds for what runs, and some for the disk.
const STOP_MAX: Duration = Duration::from_secs(20);

/// `tidings serve` on a database of its own, on a port of its own. It ends with this value.
pub struct Server {
    database: PathBuf,
    configure: Configure,
    address: Address,
    process: Option<Process>,
    /// What the processes before this one logged.
    past: String,
    // Goes last, when nobody writes into it any more.
    _directory: Option<TempDir>,
}

/// What adds flags and variables to `serve`.
type Configure = Box<dyn Fn(&mut Command) + Send + Sync>;

/// How a server that was asked to stop ended.
#[derive(Debug)]
pub struct Stopped {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it had written to standard error.
    pub log: String,
}

impl Server {
    /// Serves a new database.
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    /// Serves a new database with more flags or variables:
    /// `Server::with(|serve| { serve.args(["--base-path", "/api"]); })`. A restart has them too.
    ///
    /// # Panics
    /// When the server does not get ready.
    pub fn with(configure: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::new(directory.path().join("tidings.db"), Some(directory), Box::new(configure))
    }

    /// Serves the database at `path`, which stays, with more flags or variables.
    ///
    /// # Panics
    /// When the server does not get ready.
    pub fn at(path: impl Into<PathBuf>, configure: impl Fn(&mut Command) + Send + Sync + 'static) -> Self {
        Self::new(path.into(), None, Box::new(configure))
    }

    /// As [`Server::at`], of a start that may fail.
    ///
    /// # Errors
    /// The log of the process when it ended without getting ready.
    pub fn try_at(
        path: impl Into<PathBuf>,
        configure: impl Fn(&mut Command) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let mut server = Self::stopped(path.into(), None, Box::new(configure));
        server.try_restart().map(|()| server)
    }

    fn new(database: PathBuf, directory: Option<TempDir>, configure: Configure) -> Self {
        let mut server = Self::stopped(database, directory, configure);
        server.restart();
        server
    }

    /// A server that does not run yet.
    fn stopped(database: PathBuf, directory: Option<TempDir>, configure: Configure) -> Self {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            database,
            configure,
            address: Arc::new(Mutex::new(nowhere)),
            process: None,
            past: String::new(),
            _directory: directory,
        }
    }

    /// The database file.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap()
    }

    /// The process id of the server.
    ///
    /// # Panics
    /// When it does not run.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the server runs").child.id()
    }

    /// What the server has written to standard error since it first started.
    pub fn log(&self) -> String {
        let now = self.process.as_ref().map(Process::log);
        format!("{}{}", self.past, now.unwrap_or_default())
    }

    /// Ends the server at once, as a crash would (SIGKILL).
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&mut self) {
        let process = self.process.take().expect("the server runs");
        self.past.push_str(&process.kill());
    }

    /// Asks the server to stop (SIGTERM) and waits until it has.
    ///
    /// # Panics
    /// When it does not run, or does not stop.
    pub fn stop(&mut self) -> Stopped {
        let process = self.process.take().expect("the server runs");
        let stopped = process.stop();
        self.past.push_str(&stopped.log);
        stopped
    }

    /// Serves the same database again, stopping first if it runs. The callers from before follow.
    ///
    /// # Panics
    /// When the server does not stop, or does not get ready.
    pub fn restart(&mut self) {
        if self.process.is_some() {
            self.stop();
        }
        if let Err(log) = self.try_restart() {
            panic!("the server did not get ready; its log:\n{log}");
        }
    }

    /// Starts the process; the log of one that did not get ready.
    fn try_restart(&mut self) -> Result<(), String> {
        let mut serve = self.tidings();
        serve.args(["serve", "--listen", "127.0.0.1:0"]);
        (self.configure)(&mut serve);
        let (process, address) = Process::start(serve)?;
        self.process = Some(process);
        *self.address.lock().unwrap() = address;
        Ok(())
    }

    /// Runs a command on the same database: `server.cli(["admin", "grant", "ann"])`.
    pub fn cli<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        self.cli_with_input(args, "")
    }

    /// Runs a command on the same database, with `input` on its standard input.
    pub fn cli_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Output {
        let mut command = self.tidings();
        command.args(args);
        binary::run(command, input)
    }

    /// The binary on the same database, in the database's directory.
    fn tidings(&self) -> Command {
        let mut command = command();
        // Not where the tests run: a `tidings.toml` there would be read.
        command.current_dir(self.database.parent().unwrap());
        command.arg("--db").arg(&self.database);
        command
    }

    /// Every row of every table as text, by table: the same before and after when nothing was written.
    ///
    /// # Panics
    /// When the database cannot be read.
    pub fn dump(&self) -> BTreeMap<String, Vec<String>> {
        store::dump(&self.database)
    }

    /// What SQLite finds wrong with the database, running or not: `ok` when it is sound.
    ///
    /// # Panics
    /// When the database cannot be read.
    pub fn integrity(&self) -> String {
        store::integrity(&self.database)
    }

    /// Somebody who is not signed in.
    pub fn anyone(&self) -> Caller {
        Caller::new(Arc::clone(&self.address))
    }

    /// A new member, signed up with the password [`PASSWORD`] and the id as nickname.
    ///
    /// # Panics
    /// When the id is taken.
    pub fn member(&self, id: &str) -> Caller {
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
        let anyone = self.anyone();
        let answer = anyone.post("/sign_up", form).succeeded();
        anyone.with_token(id, answer.text("/access_token"))
    }

    /// The member `admin`, an administrator. Call it once, or clone what it gives.
    ///
    /// # Panics
    /// When it was called before.
    pub fn admin(&self) -> Caller {
        let admin = self.member("admin");
        let _ = self.cli(["admin", "grant", "admin"]).succeeded();
        admin
    }

    /// Sends these very bytes on a connection of their own.
    ///
    /// # Panics
    /// When the connection closes without an answer.
    pub fn raw(&self, request: impl AsRef<[u8]>) -> Answer {
        self.try_raw(request).expect("an answer")
    }

    /// Sends these very bytes on a connection of their own; `None` when it closes without an answer.
    pub fn try_raw(&self, request: impl AsRef<[u8]>) -> Option<Answer> {
        raw::send(self.address(), request.as_ref())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.past.push_str(&process.kill());
        }
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.past);
        }
    }
}

/// A server that runs.
struct Process {
    child: Child,
    log: Arc<Mutex<Vec<u8>>>,
    readers: [JoinHandle<()>; 2],
}

impl Process {
    /// Starts a server and waits for the line that says where it listens; its log when there is none.
    fn start(mut serve: Command) -> Result<(Self, SocketAddr), String> {
        serve.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let log = Arc::default();
        let (ready, stdout) = first_line(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap(), Arc::clone(&log));
        let process = Self { child, log, readers: [stdout, stderr] };
        let Ok(line) = ready.recv_timeout(START_MAX) else {
            return Err(process.kill());
        };
        let address = line.strip_prefix("listening on http://").and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.trim_end().parse().ok());
        Ok((process, address.unwrap_or_else(|| panic!("not the ready line: {line:?}"))))
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }

    fn kill(mut self) -> String {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().unwrap();
        self.end()
    }

    fn stop(mut self) -> Stopped {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut status = None;
        let in_time = holds_within(STOP_MAX, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(in_time, "the server did not stop within {STOP_MAX:?}; its log:\n{}", self.kill());
        Stopped { status: status.unwrap(), log: self.end() }
    }

    /// The whole log of a process that has ended.
    fn end(self) -> String {
        let Self { log, readers, .. } = self;
        for reader in readers {
            reader.join().unwrap();
        }
        String::from_utf8_lossy(&log.lock().unwrap()).into_owned()
    }
}

/// Sends the first line of `output`, and reads the rest, so that the pipe never fills.
fn first_line(output: impl Read + Send + 'static) -> (Receiver<String>, JoinHandle<()>) {
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if let Some(line) = lines.next() {
            // Nobody waits for it when the start has taken too long.
            let _ = send.send(line);
        }
        drop(send);
        lines.for_each(drop);
    });
    (receive, reader)
}

/// Keeps all of `output`, as it comes.
fn collect(mut output: impl Read + Send + 'static, log: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            log.lock().unwrap().extend_from_slice(&buffer[..count]);
        }
    })
}
