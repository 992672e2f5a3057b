//! The shell that runs the programs of a server, and cleans up when the test process has ended.

use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use crate::programs::Programs;

/// Runs each line of standard input and prints its exit status, until the test process closes the other end of the
/// pipe: the kernel does so when that process ends in any way. So no program of the server is still starting when it
/// stops the server and removes the folder `$1`. A suspended server must continue to be stopped; a killed one leaves
/// its lock file, which names its block of shared memory.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    (eval "$line") >"$1/command.log" 2>&1 </dev/null
    echo $?
done
if read -r pid <"$1/data/postmaster.pid"; then
    kill -CONT "$pid"
    pg_ctl -D "$1/data" -m immediate -t 20 stop || kill -KILL "$pid"
    if read -r _ block <<END
$(sed -n 7p "$1/data/postmaster.pid")
END
    then ipcrm -m "$block"; fi
fi >/dev/null 2>&1
cd / && rm -rf "$1"
"#;

/// The parents of folders, the best first. In memory, the hundreds of files of a database are created and removed in a tenth
/// of the time. The path of a socket may have 107 bytes only, and the server's user must reach it, so neither is the user's own
/// folder for temporary files.
const PARENTS: [&str; 2] = ["/dev/shm", "/tmp"];
/// The free space that a parent in memory must have, in bytes. A server uses less than half of it.
const SPACE: u64 = 4 << 30;

/// Dropping it stops the server in the folder and removes the folder.
pub(crate) struct Supervisor {
    folder: PathBuf,
    shell: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Supervisor {
    /// PostgreSQL refuses to run as root. For root the shell runs as the user `postgres`, or `nobody`, who then owns the folder.
    pub(crate) fn start(programs: &Programs) -> Self {
        let folder = tempfile::Builder::new().prefix("tidings-").tempdir_in(parent()).unwrap().keep();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(&folder).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C ends the tests, not the shell.
        shell.process_group(0);
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PG") {
                shell.env_remove(name);
            }
        }
        let path = env::join_paths(
            [programs.folder().to_owned()]
                .into_iter()
                .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
        );
        shell.env("PATH", path.unwrap()).env("LC_ALL", "C").env("TZ", "UTC");
        if rustix::process::geteuid().is_root() {
            let (user, group) = unprivileged();
            chown(&folder, Some(user), Some(group)).unwrap();
            shell.uid(user).gid(group);
        }
        let mut shell = shell.spawn().unwrap();
        let pipes = shell.stdin.take().zip(shell.stdout.take().map(BufReader::new));
        Self { folder, shell, pipes: Mutex::new(pipes) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The error is everything that the command printed.
    pub(crate) fn try_run(&self, command: &str) -> Result<(), String> {
        let mut pipes = self.pipes.lock().unwrap();
        let (requests, statuses) = pipes.as_mut().expect("the pipes are closed on drop only");
        writeln!(requests, "{command}").unwrap();
        let mut status = String::new();
        statuses.read_line(&mut status).unwrap();
        if status.trim_end() == "0" {
            return Ok(());
        }
        let output = fs::read_to_string(self.folder.join("command.log")).unwrap_or_default();
        Err(format!("{command}: exit status {}: {output}", status.trim_end()))
    }

    pub(crate) fn run(&self, command: &str) {
        if let Err(error) = self.try_run(command) {
            panic!("{error}");
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Ok(mut pipes) = self.pipes.lock() {
            pipes.take();
        }
        let _ = self.shell.wait();
    }
}

fn parent() -> &'static str {
    let [memory, disk] = PARENTS;
    let has_space = |space: rustix::fs::StatVfs| space.f_bavail * space.f_frsize >= SPACE;
    if rustix::fs::statvfs(memory).is_ok_and(has_space) { memory } else { disk }
}

fn unprivileged() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2);
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody")).expect("every system has the user nobody")
}
