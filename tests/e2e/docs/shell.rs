//! A directory in which the documented commands run, with the built binary and a server on a free port.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tidings_tests::{Terminal, command};

use crate::programs::{free_ports, root};

const DOCUMENTED_ADDRESS: &str = "127.0.0.1:8080";
/// The port of the site in the documentation whose feed is a source.
pub(super) const SITE_PORT: &str = "8089";
/// A script in place of cargo, which runs the binary that is already built.
const CARGO: &str = r#"#!/bin/sh
[ "$1 $2 $3" = "run --release --" ] || exit 97
shift 3
exec target/release/tidings "$@"
"#;
/// The start of the script: it ends at the first command that fails or gets an answer that is not a success.
///
/// The server shows posts that another process imported within a second. A person rarely notices the delay; the script
/// waits for the posts.
const BEGIN: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() {
    command curl -s "$@" | tee answer.json
    grep -q '"result":"success"' answer.json
}
tidings() {
    command tidings "$@"
    if [ "$1 ${2-}" = "post import" ] || [ "$1 ${2-}" = "source add" ]; then
        until command curl -s "http://127.0.0.1:8080/get_popularity_newsfeed" | grep -q _id; do sleep 0.05; done
    fi
}
"#;
/// The time limit of all commands together, in seconds.
const RUN_MAX: &str = "300";
/// The password of the tour's administrator in the examples of the API guide.
const PASSWORD: &str = "correct horse";

/// The directory and its server, which runs until this value is dropped.
pub(super) struct Shell {
    directory: TempDir,
    server: Child,
    address: String,
}

impl Shell {
    /// Creates the directory, and starts the server with the documented command.
    pub(super) fn start(serve: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir_all(path.join("target/release")).unwrap();
        symlink(command().get_program(), path.join("target/release/tidings")).unwrap();
        symlink(root().join("tests"), path.join("tests")).unwrap();
        fs::create_dir(path.join("bin")).unwrap();
        fs::write(path.join("bin/cargo"), CARGO).unwrap();
        fs::set_permissions(path.join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();

        let mut bash = bash(path);
        bash.args(["-c", &format!("exec {serve}")]).env("TIDINGS_LISTEN", "127.0.0.1:0");
        let mut server = bash.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let address = ready.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{serve}: {ready:?}")).to_owned();
        Self { directory, server, address }
    }

    /// Runs a script in a terminal, types the password twice, and returns the exit status and the terminal's output.
    pub(super) fn run(&self, script: &str) -> (i32, String) {
        let path = self.directory.path();
        let script = format!("{BEGIN}{script}\n").replace(DOCUMENTED_ADDRESS, &self.address);
        let [site] = free_ports();
        let script = script.replace(SITE_PORT, &site.to_string());
        fs::write(path.join("script.sh"), script).unwrap();
        let mut limited = bash(path);
        limited.args(["-c", &format!("exec timeout --foreground {RUN_MAX} bash -x script.sh")]);
        let terminal = Terminal::start(limited, 120);
        terminal.answer("Password: ", PASSWORD).answer("Password again: ", PASSWORD).end()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Returns a shell in the directory, with the environment of other commands of the tests.
fn bash(directory: &Path) -> Command {
    let mut bash = Command::new("bash");
    let settings = command();
    for (name, value) in settings.get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    let search = std::env::var("PATH").unwrap();
    bash.current_dir(directory).env("PATH", format!("{}:{search}", directory.join("bin").display()));
    bash.stdin(Stdio::null());
    bash
}
