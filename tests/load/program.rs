//! The program under measurement: its commands, and signing in to it.

use std::cell::Cell;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::client::{ask_json, post_json};
use crate::process::Process;
use crate::server::{CountingServer, Server};

const ADMINISTRATOR: &str = "boss";
/// Settings that accept all load from one address, which stands for many clients. The access log stays limited.
const UNLIMITED: [&str; 2] = ["--client-limits", "off"];
/// The password of all members.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// The binaries, and their working directory.
#[derive(Clone)]
pub(crate) struct Program {
    /// The binary to measure.
    binary: PathBuf,
    /// The binary that counts what requests cost.
    counting_binary: PathBuf,
    pub(crate) directory: PathBuf,
    /// The number of databases created.
    databases: Rc<Cell<u32>>,
}

impl Program {
    pub(crate) fn new(binary: &Path, counting_binary: &Path, directory: &Path) -> Result<Self> {
        let program = Self {
            binary: fs::canonicalize(binary)?,
            counting_binary: fs::canonicalize(counting_binary)?,
            directory: directory.to_owned(),
            databases: Rc::default(),
        };
        fs::write(program.password_file(), PASSWORD)?;
        Ok(program)
    }

    fn password_file(&self) -> PathBuf {
        self.directory.join("password")
    }

    /// Returns the file of the log that all commands write.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Returns a command in the directory, without the user's environment settings.
    fn command(&self, database: &str, arguments: &[&str]) -> Result<Command> {
        self.command_of(&self.binary, database, arguments)
    }

    fn command_of(&self, binary: &Path, database: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(binary);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TIDINGS_")) {
            command.env_remove(name);
        }
        let log = File::options().create(true).append(true).open(self.log())?;
        command.current_dir(&self.directory).args(arguments).args(["--db", database]);
        command.stdin(Stdio::null()).stderr(log);
        Ok(command)
    }

    /// Returns the end of the program's log, to be shown after a failure.
    pub(crate) fn log_end(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    /// Creates a new database with an administrator, and returns its name.
    pub(crate) fn init(&self) -> Result<String> {
        let database = format!("{}.db", self.databases.get());
        self.databases.set(self.databases.get() + 1);
        let mut command = self.command(&database, &["init", "--admin", ADMINISTRATOR])?;
        let output = command.arg("--password-file").arg(self.password_file()).output()?;
        if output.status.success() { Ok(database) } else { Err(format!("init: {}", output.status).into()) }
    }

    /// Serves a database with these settings, on a free port.
    pub(crate) fn serve(&self, database: &str, settings: &[&str]) -> Result<Server> {
        let mut command = self.command(database, &["serve", "--listen", "127.0.0.1:0"])?;
        command.args(UNLIMITED).args(settings);
        Ok(Server::new(Process::start(command, &[])?, self, database, settings))
    }

    /// Does the same with the binary that counts; other processes may serve the same database.
    pub(crate) fn serve_counting(&self, database: &str, settings: &[&str]) -> Result<CountingServer> {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
        let mut command = self.command_of(&self.counting_binary, database, &arguments)?;
        command.args(UNLIMITED).args(settings);
        let logged = fs::read(self.log()).map_or(0, |log| log.len());
        CountingServer::new(Process::start(command, &[])?, self, database, logged)
    }

    /// Trains the word model, so that the server does not train it during a measurement.
    pub(crate) fn train(&self, database: &str) -> Result<()> {
        succeed(self.command(database, &["words", "train"])?)
    }

    /// Loads word vectors from a file.
    pub(crate) fn load_words(&self, database: &str, file: &Path) -> Result<()> {
        let mut command = self.command(database, &["words", "load"])?;
        command.arg(file);
        succeed(command)
    }

    /// Imports a file of this many records with the command of their kind, and returns how long the command took.
    pub(crate) fn import(&self, database: &str, kind: &str, file: &Path, count: usize) -> Result<Duration> {
        let mut command = self.command(database, &["--json", kind, "import"])?;
        let started = Instant::now();
        let output = command.arg(file).output()?;
        let took = started.elapsed();
        if !output.status.success() {
            return Err(format!("{kind} import: {}", output.status).into());
        }
        imported(&serde_json::from_slice(&output.stdout)?, count)?;
        Ok(took)
    }
}

/// Runs a command and waits until it exits.
fn succeed(mut command: Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
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

/// Registers a member and returns its token.
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
