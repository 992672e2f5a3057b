//! Faults outside the program: crashes, full disks, invalid database files, concurrent processes, stalled clients.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tidings_tests::{Output, command, integrity, location, wait_until};

mod counts;
mod disk;
mod files;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod injected;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod journal;
mod kill;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod power;
mod processes;
mod removal;
mod replaced;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod shim;
mod stop;

/// Returns the number in an environment variable that makes a test more thorough when it is run by hand.
fn by_hand(variable: &str) -> Option<usize> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is {value:?}, which is not a number")))
}

/// Asserts that the engine's checks find no error in a database, which other processes may have open.
#[track_caller]
fn assert_intact(database: &Path) {
    assert_eq!(integrity(database), "ok");
}

/// Runs a command that must exit soon, and kills it if it does not.
fn ends(mut command: Command) -> Output {
    struct Running(Child);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    wait_until("the command has ended", || running.0.try_wait().unwrap().is_some());
    let status = running.0.wait().unwrap().code().unwrap_or(-1);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    running.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    running.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

/// Returns a command on a database, with the database's directory as working directory.
fn tidings(database: &Path, args: &[&str]) -> Command {
    let mut tidings = command();
    tidings.current_dir(database.parent().unwrap()).arg("--db").arg(location(database)).args(args);
    tidings
}

/// Wraps a command in another command, which must `exec` it.
pub(crate) fn through(command: &Command, by: &[&str]) -> Command {
    let mut through = Command::new(by[0]);
    through.args(&by[1..]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => through.env(name, value),
            None => through.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        through.current_dir(directory);
    }
    through
}

/// A wrapper command that makes file permissions apply to root as well, in case root runs the tests.
pub(crate) const WITHOUT_PRIVILEGES: [&str; 4] = [
    "setpriv",
    "--inh-caps=-dac_override,-dac_read_search",
    "--bounding-set=-dac_override,-dac_read_search",
    "--",
];
