//! The examples of the page on PostgreSQL: the scripts run, and the page shows them as they are.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tidings_cluster::{Programs, is_installed};
use tidings_tests::command;

use super::page::{Page, pages, root};

/// The directory of the scripts.
const EXAMPLES: &str = "docs/examples";
/// The ports in the scripts. The tests replace them with free ones.
const PORTS: [u16; 6] = [15432, 15433, 18080, 18081, 18082, 18083];
/// The time limit of a script, in seconds. Other tests may keep the machine busy.
const RUN_MAX: &str = "400";

#[test]
fn the_example_of_one_server_runs() {
    run("one-server.sh", &[]);
}

#[test]
fn the_example_of_a_standby_and_three_servers_runs() {
    run("three-servers.sh", &["haproxy"]);
}

#[test]
fn blocks_that_are_parts_of_files_are_in_them() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (file, block) in page.parts_of_files() {
            let text = fs::read_to_string(root().join(file)).unwrap();
            if !format!("\n{text}").contains(&format!("\n{block}\n")) {
                wrong.push(format!("{}: not in {file}:\n{block}", page.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!Page::named("docs/postgresql.md").parts_of_files().is_empty());
}

#[test]
fn the_page_on_the_client_shows_all_of_the_board_which_has_40_lines() {
    let file = "clients/typescript/examples/board.html";
    let board = fs::read_to_string(root().join(file)).unwrap();
    let page = Page::named("docs/client.md");
    let shown = page.parts_of_files().into_iter().find(|(name, _)| *name == file).unwrap().1;
    assert_eq!(format!("{shown}\n"), board);
    assert_eq!(board.lines().count(), 40);
}

/// Runs a script of the examples, unless PostgreSQL or one of these programs is not installed.
fn run(script: &str, needs: &[&str]) {
    let script_path = format!("{EXAMPLES}/{script}");
    if !is_installed(&script_path) {
        return;
    }
    let search = search_path();
    let is_missing =
        |program: &&&str| !search.iter().any(|directory| Path::new(directory).join(program).exists());
    if let Some(missing) = needs.iter().find(is_missing) {
        // Unlike `eprintln!`, this is not captured. Nothing can be done if standard error is closed.
        let _ = writeln!(io::stderr(), "left out: {script_path}: {missing} is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    symlink(command().get_program(), path.join("tidings")).unwrap();
    let ports = free_ports();
    for entry in fs::read_dir(root().join(EXAMPLES)).unwrap() {
        let file = entry.unwrap().path();
        let mut text = fs::read_to_string(&file).unwrap();
        for (written, free) in PORTS.iter().zip(&ports) {
            text = text.replace(&written.to_string(), &free.to_string());
        }
        fs::write(path.join(file.file_name().unwrap()), text).unwrap();
    }
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=60", RUN_MAX, "bash"]).arg(path.join(script));
    let search = [path.to_str().unwrap()].into_iter().chain(search.iter().map(String::as_str));
    limited.env("PATH", search.collect::<Vec<_>>().join(":"));
    limited.env("TIDINGS_POSTGRES_BIN", Programs::find().unwrap().folder());
    let done = limited.stdin(Stdio::null()).output().unwrap();
    let shown = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{script}: {}\n{}", done.status, String::from_utf8_lossy(&shown));
}

/// Returns the directories of programs. Those of system programs may be missing from the path of an ordinary user.
fn search_path() -> Vec<String> {
    let path = std::env::var("PATH").unwrap();
    path.split(':').chain(["/usr/sbin"]).map(str::to_owned).collect()
}

/// Returns ports that no program listens on, one for each of [`PORTS`].
fn free_ports() -> Vec<u16> {
    // All of them are taken before the first is free again.
    let listeners: Vec<_> =
        PORTS.iter().map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
