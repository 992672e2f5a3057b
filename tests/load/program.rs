//! The program under measurement: its commands, its servers, and signing in to them.

use std::cell::Cell;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_tests::{Process, usage, wait_until};

use crate::Result;
use crate::client::{ask_json, post_json};

const ADMINISTRATOR: &str = "boss";
/// On a free port, and with all load from one address accepted, which stands for many clients. The access log stays limited.
const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--client-limits", "off"];
/// The text in a server's log before the address of its metrics.
const METRICS: &str = "metrics are served address=";
const PASSWORD: &str = "correct horse battery staple";

#[derive(Clone)]
pub(crate) struct Program {
    binary: PathBuf,
    /// The binary that counts what requests cost.
    counting_binary: PathBuf,
    directory: PathBuf,
    databases: Rc<Cell<u32>>,
}

impl Program {
    pub(crate) fn new(binary: &Path, counting_binary: &Path, directory: &Path) -> Result<Self> {
        Ok(Self {
            binary: fs::canonicalize(binary)?,
            counting_binary: fs::canonicalize(counting_binary)?,
            directory: directory.to_owned(),
            databases: Rc::default(),
        })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns a command in the directory, without the user's environment settings.
    fn command(&self, binary: &Path, database: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TIDINGS_")) {
            command.env_remove(name);
        }
        command.current_dir(&self.directory).args(arguments).args(["--db", database]).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, database: &str, arguments: &[&str], input: &str) -> Result<String> {
        let output = tidings_tests::run(self.command(&self.binary, database, arguments), input);
        match output.status {
            0 => Ok(output.stdout),
            status => Err(format!("{arguments:?}: {status}: {}", output.stderr).into()),
        }
    }

    pub(crate) fn init(&self) -> Result<String> {
        let database = format!("{}.db", self.databases.get());
        self.databases.set(self.databases.get() + 1);
        self.run(
            &database,
            &["init", "--admin", ADMINISTRATOR, "--password-stdin"],
            &format!("{PASSWORD}\n"),
        )?;
        Ok(database)
    }

    pub(crate) fn serve(&self, database: &str, settings: &[&str]) -> Result<Server> {
        self.start(&self.binary, database, settings)
    }

    /// Does the same with the binary that counts; other processes may serve the same database.
    pub(crate) fn serve_counting(&self, database: &str, settings: &[&str]) -> Result<Server> {
        let settings = [&["--metrics-listen", "127.0.0.1:0"][..], settings].concat();
        self.start(&self.counting_binary, database, &settings)
    }

    fn start(&self, binary: &Path, database: &str, settings: &[&str]) -> Result<Server> {
        let mut command = self.command(binary, database, &SERVE);
        command.args(settings);
        let (process, address) = Process::start(command)?;
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Ok(Server { process, address, program: self.clone(), database: database.to_owned(), settings })
    }

    /// Trains the word model, so that the server does not train it during a measurement.
    pub(crate) fn train(&self, database: &str) -> Result<()> {
        self.run(database, &["words", "train"], "").map(drop)
    }

    /// Imports a file of this many records with the command of their kind, and returns how long the command took.
    pub(crate) fn import(&self, database: &str, kind: &str, file: &str, count: usize) -> Result<Duration> {
        let started = Instant::now();
        let output = self.run(database, &["--json", kind, "import", file], "")?;
        let took = started.elapsed();
        imported(&serde_json::from_str(&output)?, count)?;
        Ok(took)
    }
}

/// A running server, with what is needed to start a second one on its database.
pub(crate) struct Server {
    process: Process,
    address: SocketAddr,
    program: Program,
    database: String,
    settings: Vec<String>,
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.program.file(&self.database)
    }

    /// Returns the memory of the process in MiB.
    pub(crate) fn memory_mb(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kb.ok_or("the status of the process has no VmRSS")? / 1024.0)
    }

    /// Returns the processor time that the server has used; `None` if the system does not report it.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        usage::processor_time(self.id())
    }

    /// Returns the processor time that the server has used since an earlier reading.
    pub(crate) fn processor_time_since(&self, before: Option<Duration>) -> Option<Duration> {
        Some(self.processor_time()?.saturating_sub(before?))
    }

    /// Starts a second process with the same database and settings, which counts.
    pub(crate) fn counting(&self) -> Result<Self> {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        self.program.serve_counting(&self.database, &settings)
    }

    /// Returns the address of the metrics of a server that counts.
    pub(crate) fn metrics(&self) -> Result<SocketAddr> {
        let mut address: Option<SocketAddr> = None;
        wait_until("the server serves metrics", || {
            let log = self.process.log();
            address = log.lines().find_map(|line| line.split_once(METRICS)?.1.trim().parse().ok());
            address.is_some()
        });
        address.ok_or_else(|| "the server serves no metrics".into())
    }
}

/// Returns an error if an import did not insert all records.
pub(crate) fn imported(answer: &Value, count: usize) -> Result<()> {
    if answer["inserted"].as_u64() == Some(count as u64) {
        Ok(())
    } else {
        let text: String = answer.to_string().chars().take(200).collect();
        Err(format!("importing {count} records was answered with {text}").into())
    }
}

pub(crate) fn sign_up(address: SocketAddr, id: &str) -> Result<String> {
    let body = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id });
    token(&ask_json(address, &post_json("/sign_up", None, &body))?)
}

/// Returns the request that signs a member in.
pub(crate) fn sign_in(id: &str) -> Vec<u8> {
    post_json("/sign_in", None, &json!({ "id": id, "pw": PASSWORD }))
}

/// Signs the administrator in and returns the token.
pub(crate) fn administrator(address: SocketAddr) -> Result<String> {
    token(&ask_json(address, &sign_in(ADMINISTRATOR))?)
}

fn token(answer: &Value) -> Result<String> {
    Ok(answer["access_token"].as_str().ok_or("the response has no access_token")?.to_owned())
}
