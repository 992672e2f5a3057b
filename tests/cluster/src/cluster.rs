//! A temporary server, and standbys that follow it.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::connection::{Connection, Value};
use crate::database::Database;
use crate::programs::Programs;
use crate::supervisor::Supervisor;

const ROLE: &str = "postgres";
/// The port in the name of the socket of a server without TCP.
const SOCKET_PORT: u16 = 5432;
const MAINTENANCE: &str = "postgres";

/// Settings for speed: what a crash would lose does not matter.
const FAST: [(&str, &str); 7] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("checkpoint_timeout", "1h"),
    ("max_wal_size", "1GB"),
];

/// Segments in files are removed with the folder, also after a crash. Autovacuum would wake up for each of hundreds of databases.
const COMMON: [(&str, &str); 6] = [
    ("max_connections", "400"),
    ("autovacuum", "off"),
    ("jit", "off"),
    ("dynamic_shared_memory_type", "mmap"),
    ("log_line_prefix", "'%m [%p] %d '"),
    ("timezone", "UTC"),
];

/// A temporary server with a folder of its own. Dropping it stops the server and removes the folder.
pub struct Cluster {
    supervisor: Supervisor,
    programs: Programs,
    port: u16,
    is_tcp: bool,
    databases: AtomicU64,
}

#[derive(Default)]
pub struct Builder {
    is_tcp: bool,
    is_fast: bool,
    password: Option<String>,
    settings: Vec<(String, String)>,
}

impl Builder {
    /// Makes the server listen on a free port of 127.0.0.1 too. Connections there need the password.
    #[must_use]
    pub fn tcp(mut self, password: &str) -> Self {
        self.is_tcp = true;
        self.password = Some(password.to_owned());
        self
    }

    /// Turns off everything that protects data from a crash, which tests of crashes and replication need.
    #[must_use]
    pub fn fast(mut self) -> Self {
        self.is_fast = true;
        self
    }

    /// Sets a setting of `postgresql.conf`; the value is written as it is.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Creates the folder and starts the server. Panics with the log of a server that does not start.
    pub fn start(self) -> Result<Cluster, String> {
        let cluster = Cluster::prepare(Programs::find()?, self.is_tcp);
        let folder = cluster.folder().display();
        let mut initdb = format!(
            "initdb -D {folder}/data -U {ROLE} --locale=C --encoding=UTF8 --no-sync --auth-local=trust \
             --auth-host=scram-sha-256"
        );
        if let Some(password) = self.password {
            let file = cluster.folder().join("password");
            fs::write(&file, password).unwrap();
            write!(initdb, " --pwfile={}", file.display()).expect("a String takes everything");
        }
        cluster.supervisor.run(&initdb);
        // The server's user makes it, and so may remove what the user of the tests puts into it.
        cluster.supervisor.run(&format!("mkdir {folder}/work"));
        let fast = FAST.iter().filter(|_| self.is_fast);
        cluster.configure(COMMON.iter().chain(fast).copied());
        cluster.configure(self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        cluster.start();
        Ok(cluster)
    }
}

impl Cluster {
    /// Returns the server of this test process, which starts on first use.
    pub fn shared() -> Result<&'static Self, &'static str> {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        SHARED.get_or_init(|| Self::builder().fast().start()).as_ref().map_err(String::as_str)
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The folder has no data yet.
    fn prepare(programs: Programs, is_tcp: bool) -> Self {
        let supervisor = Supervisor::start(&programs);
        let port = if is_tcp { free_port() } else { SOCKET_PORT };
        Self { supervisor, programs, port, is_tcp, databases: AtomicU64::new(0) }
    }

    /// Of several values in `postgresql.conf`, the last counts. The server reads them when it starts.
    fn configure<'a>(&self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut file = OpenOptions::new().append(true).open(self.data().join("postgresql.conf")).unwrap();
        for (name, value) in settings {
            writeln!(file, "{name} = {value}").unwrap();
        }
    }

    /// Returns the folder of the server, which has its socket, its data and its log.
    pub fn folder(&self) -> &Path {
        self.supervisor.folder()
    }

    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Returns a folder for files of the test, which is removed with the server.
    pub fn working_folder(&self) -> PathBuf {
        self.folder().join("work")
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder().join("log")).unwrap()).into_owned()
    }

    pub fn url(&self, database: &str) -> String {
        let folder = self.folder().to_str().expect("the name of a temporary folder is ASCII");
        format!("postgres://{ROLE}@{}:{}/{database}", folder.replace('/', "%2F"), self.port)
    }

    pub fn tcp_url(&self, database: &str) -> String {
        format!("postgres://{ROLE}@{}/{database}", self.address())
    }

    pub fn address(&self) -> SocketAddr {
        assert!(self.is_tcp, "the server was started without TCP");
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub fn database(&self) -> Database {
        self.copy_of("template0")
    }

    /// Nobody may be connected to the template.
    pub(crate) fn copy_of(&self, template: &str) -> Database {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed) + 1);
        let url = self.url(&name);
        Database::create(name, url, self.url(MAINTENANCE), template)
    }

    pub fn connect(&self) -> Connection {
        Connection::open(&self.url(MAINTENANCE)).unwrap()
    }

    /// Runs statements in the database `postgres`, as [`Connection::query`] does.
    pub fn query(&self, sql: &str, args: &[Value<'_>]) -> Vec<Vec<Option<String>>> {
        self.connect().query(sql, args)
    }

    /// Starts a server that has stopped or was killed, and waits until it accepts connections. Panics with its log if it does
    /// not.
    pub fn start(&self) {
        let (folder, port) = (self.folder().display(), self.port);
        let addresses = if self.is_tcp { "127.0.0.1" } else { "" };
        let options =
            format!("-p {port} -c unix_socket_directories={folder} -c listen_addresses={addresses}");
        let command = format!("pg_ctl -D {folder}/data -l {folder}/log -t 60 -w -o \"{options}\" start");
        if let Err(error) = self.supervisor.try_run(&command) {
            panic!("{error}\n{}", self.log());
        }
    }

    /// Stops the server at once, without a checkpoint, as a crash of its program would.
    pub fn stop(&self) {
        self.supervisor.run(&format!("pg_ctl -D {}/data -m immediate -t 60 stop", self.folder().display()));
    }

    /// Kills all processes of the server with SIGKILL, and waits until they are gone.
    pub fn kill(&self) {
        let processes = self.processes();
        send(Signal::KILL, &processes);
        wait_until("a killed server has ended", || !processes.iter().any(|pid| lives(*pid)));
        // The next start would refuse the lock files as long as the system knows the process, which takes a moment if
        // its new parent is slow to ask for its exit status.
        let lock_file = self.data().join("postmaster.pid");
        let text = fs::read_to_string(&lock_file).unwrap();
        if let Some(block) = text.lines().nth(6).and_then(|line| line.split_ascii_whitespace().nth(1)) {
            // Without this program, the next start removes the block of shared memory.
            let _ = self.supervisor.try_run(&format!("ipcrm -m {block}"));
        }
        fs::remove_file(lock_file).unwrap();
        fs::remove_file(self.folder().join(format!(".s.PGSQL.{}.lock", self.port))).unwrap();
    }

    /// Suspends all processes of the server with SIGSTOP: connections stay open, and nothing is answered.
    pub fn suspend(&self) {
        // The parent first, so that no child is started in between.
        send(Signal::STOP, &[self.pid()]);
        send(Signal::STOP, &self.processes());
    }

    pub fn resume(&self) {
        send(Signal::CONT, &self.processes());
    }

    /// Returns whether the server runs or is suspended.
    pub fn is_running(&self) -> bool {
        self.lock_file().is_some_and(lives)
    }

    pub fn pid(&self) -> i32 {
        self.lock_file().expect("the server runs")
    }

    /// A killed server leaves the lock file behind.
    fn lock_file(&self) -> Option<i32> {
        fs::read_to_string(self.data().join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
    }

    fn processes(&self) -> Vec<i32> {
        let pid = self.pid();
        [pid].into_iter().chain(children(pid)).collect()
    }

    /// Starts a standby that follows this server under `name`, a plain word. It has no TCP unless this server has.
    #[must_use]
    pub fn standby(&self, name: &str) -> Self {
        let standby = Self::prepare(self.programs.clone(), self.is_tcp);
        let data = standby.data();
        let data = data.display();
        let source = format!("{}?application_name={name}", self.url(""));
        standby.supervisor.run(&format!("pg_basebackup -D {data} -d '{source}' -c fast --no-sync -X stream"));
        standby.supervisor.run(&format!("touch {data}/standby.signal"));
        standby.configure([("primary_conninfo", format!("'{source}'").as_str())]);
        standby.start();
        standby
    }

    /// Makes commits of this server wait until the standby of this name has them on disk, and waits until the standby
    /// is connected. Without a name, commits wait for no standby.
    pub fn wait_for_standby(&self, name: Option<&str>) {
        let mut connection = self.connect();
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{}'", name.unwrap_or_default());
        connection.query(&set, &[]);
        connection.query("SELECT pg_reload_conf()", &[]);
        let Some(name) = name else { return };
        let sql = "SELECT 1 FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync'";
        wait_until("the standby is connected", || !connection.query(sql, &[name.into()]).is_empty());
    }

    /// Promotes a standby, and waits until it accepts writes.
    pub fn promote(&self) {
        self.supervisor.run(&format!("pg_ctl -D {} -t 60 -w promote", self.data().display()));
    }
}

/// Another program could take the port before the server does, which is unlikely: the kernel gives out free ports in turn.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// The timeout for everything that a server does, with much room for a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < WAIT_MAX, "still waiting after {WAIT_MAX:?} until {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// A process that has ended already is no error.
fn send(signal: Signal, pids: &[i32]) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// A process that has ended, but whose parent has not asked for its exit status, does not count.
fn lives(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z')
}

fn children(parent: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

fn stat(pid: i32) -> Option<(char, i32)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may itself contain blanks and brackets.
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
