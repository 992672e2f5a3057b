//! The tests of the command line a second time, with the commands on a server.

use std::env;
use std::process::Command;

use tidings_tests::remote::{self, ACCESS};

/// The modules whose commands a server runs as well. The others test work on the database itself and on settings.
const MODULES: [&str; 9] = [
    "cli::compare",
    "cli::exports",
    "cli::feedback",
    "cli::notice",
    "cli::odd",
    "cli::page",
    "cli::pipe",
    "newsfeed::weights",
    "import::formats",
];

#[test]
fn commands_do_on_a_server_what_they_do_on_a_database() {
    if remote::is_chosen() {
        return;
    }
    let again =
        Command::new(env::current_exe().unwrap()).env(ACCESS, "server").args(MODULES).output().unwrap();
    let printed = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success(), "{printed}\n{}", String::from_utf8_lossy(&again.stderr));
    let passed = printed.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(passed.is_some_and(|passed| passed.parse::<u32>().unwrap() > 25), "{printed}");
}
