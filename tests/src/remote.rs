//! Runs the commands of tests on a server in place of the database, in the second run of the tests of the command line: the same
//! tests in a process with the variable [`ACCESS`]. A command with `--as` has a token of that member, and another one that of the
//! first administrator: commands on a database have the operator's rights.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tidings_cluster::Value;

use crate::database::{Database, beside};
use crate::jwt;

/// The variable that chooses the second run, with the value `server`.
pub const ACCESS: &str = "TIDINGS_TEST_ACCESS";

const LOCAL: [&str; 15] = [
    "init",
    "serve",
    "tui",
    "demo",
    "words",
    "bench",
    "backup",
    "restore",
    "store",
    "check",
    "config",
    "completions",
    "man",
    "openapi",
    "help",
];
/// Options before a command that have a value.
const WITH_VALUE: [&str; 6] = ["--db", "--config", "--as", "--color", "--server", "--profile"];

/// The expiry of the tokens of tests, in seconds since 1970: in 2100.
const NEVER: i64 = 4_102_444_800;

pub fn is_chosen() -> bool {
    std::env::var_os(ACCESS).is_some_and(|value| value == "server")
}

fn command_of(args: &[OsString]) -> Option<&str> {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        if WITH_VALUE.contains(&arg) {
            args.next();
        } else if !arg.starts_with('-') {
            return Some(arg);
        }
    }
    None
}

fn acting(args: &[OsString]) -> Option<&str> {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--as") {
            Some("") => return args.next(),
            Some(id) if id.starts_with('=') => return Some(&id[1..]),
            _ => {}
        }
    }
    None
}

/// Returns whether a command with these arguments can run on a server: it does not ask for help, and it names neither a
/// database nor settings of its own.
pub fn is_remote(args: &[OsString]) -> bool {
    let is_given = |names: &[&str]| args.iter().any(|arg| names.iter().any(|name| arg == name));
    command_of(args).is_some_and(|name| !LOCAL.contains(&name))
        && !is_given(&["--db", "--config", "--help", "-h", "--version"])
}

/// Adds the server at `address` of the database at `path`, and a token, to a command with these arguments. If nobody could
/// sign in, because there is no administrator yet or no such member, the command stays on the database.
pub fn sign_in(command: &mut Command, args: &[OsString], address: &str, path: &Path) {
    let (condition, value) = match acting(args) {
        Some(id) => ("folded = $1", id.to_lowercase()),
        None => ("admin IS NOT NULL AND blacklisted IS NULL AND '' = $1", String::new()),
    };
    let sql = format!("SELECT id, generation FROM member WHERE {condition} ORDER BY admin LIMIT 1");
    let rows = Database::open(path).query(&sql, &[Value::Text(&value)]);
    let Some([Some(id), Some(generation)]) = rows.first().map(Vec::as_slice) else { return };
    command.env("TIDINGS_SERVER", address);
    let key = std::fs::read(beside(path, path.parent().unwrap(), ".key")).unwrap();
    let generation: i64 = generation.parse().unwrap();
    let claims = json!({ "sub": id, "iat": 0, "exp": NEVER, "gen": generation });
    command.env("TIDINGS_SERVER_KEY", jwt::forge(&claims, "HS256", &key));
}
