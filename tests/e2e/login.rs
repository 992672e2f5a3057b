//! `tidings login`, `logout` and `profile`, and commands on a server with the sign-ins that they store.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings_tests::{Output, PASSWORD, Server, command, run};

mod choice;
mod faults;
mod proxy;
mod tls;

/// The home of a user, whose commands run on servers.
struct Home {
    directory: TempDir,
    /// The arguments before those of the command that a test runs, such as a shell that sets limits.
    through: Vec<OsString>,
}

impl Home {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), through: Vec::new() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("홈")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(".config/tidings").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    fn command<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        fs::create_dir_all(self.path()).unwrap();
        let tidings = command();
        let mut command = match self.through.split_first() {
            Some((program, arguments)) => {
                let mut through = Command::new(program);
                through.args(arguments).arg(tidings.get_program());
                for (name, value) in tidings.get_envs() {
                    match value {
                        Some(value) => through.env(name, value),
                        None => through.env_remove(name),
                    };
                }
                through
            }
            None => tidings,
        };
        command.args(args).current_dir(self.directory.path());
        command.env("HOME", self.path()).env_remove("XDG_CONFIG_HOME");
        command
    }

    fn run<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        run(self.command(args), "")
    }

    /// Signs a member in with the password of all members.
    fn login(&self, server: &str, args: &[&str]) -> Output {
        self.login_with(server, args, PASSWORD)
    }

    fn login_with(&self, server: &str, args: &[&str], password: &str) -> Output {
        let args = [&["login", "--server", server, "--password-stdin"], args].concat();
        run(self.command(args), password)
    }

    /// Returns the names of the profiles with `admin`, `signed_in` and `default`.
    fn profiles(&self) -> Vec<(String, u64, u64, u64)> {
        let list = self.run(["profile", "list", "--json"]).succeeded().json();
        let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
        let rows = list["profiles"].as_array().unwrap().iter();
        rows.map(|row| {
            let name = row["name"].as_str().unwrap().to_owned();
            (name, number(row, "admin"), number(row, "signed_in"), number(row, "default"))
        })
        .collect()
    }
}

/// Starts a server with the administrator `admin`, whose address it returns, and makes a home.
fn with_admin() -> (Server, Home, String) {
    let (server, home) = (Server::start(), Home::new());
    let _ = server.admin();
    let url = url(&server);
    (server, home, url)
}

fn url(server: &Server) -> String {
    format!("http://{}", server.address())
}

fn sessions(server: &Server, id: &str) -> Vec<String> {
    let list = server.cli(["member", "sessions", id, "--json"]).succeeded().json();
    let sessions = list["sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["_id"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that a command was refused with this exit status, and that its message has this part.
#[track_caller]
fn assert_refused(output: &Output, status: i32, part: &str) {
    assert_eq!(output.status, status, "{output:?}");
    assert!(output.stderr.contains(part), "{output:?}");
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_administrator_signs_in_and_commands_run_on_the_server() {
    let (server, mut home, url) = with_admin();
    // Even without a umask, no other user can read what is stored.
    home.through = ["sh", "-c", "umask 000; exec \"$@\"", "sh"].map(OsString::from).to_vec();
    let signed_in = home.login(&url, &["ADMIN"]).succeeded();
    let shown = &signed_in.stdout;
    assert!(shown.starts_with(&format!("admin is signed in at {url} as an administrator.\n")), "{shown}");
    assert!(shown.contains("The sign-in expires on 20"), "{shown}");
    assert!(shown.ends_with(&format!("Commands use it with --server {url}.\n")), "{shown}");
    assert_eq!(signed_in.stderr, "");
    let name = format!("admin@{}", server.address());
    assert_eq!(home.profiles(), [(name.clone(), 1, 1, 1)]);
    for (file, expected) in [("", 0o700), ("profiles.toml", 0o600), ("lock", 0o600)] {
        assert_eq!(mode(&home.file(file)), expected, "{file}");
    }
    let list = home.run(["--server", &url, "member", "list", "--json"]).succeeded();
    assert_eq!(list.json(), server.cli(["member", "list", "--json"]).succeeded().json());
    let by_name = home.run(["member", "list", "--json", "--profile", &name]).succeeded();
    assert_eq!(by_name.json(), list.json());
    let mut by_variable = home.command(["member", "list", "--json"]);
    by_variable.env("TIDINGS_PROFILE", &name);
    assert_eq!(run(by_variable, "").succeeded().json(), list.json());
    // A command that names no server uses the database, which does not exist here.
    assert_refused(&home.run(["member", "list"]), 3, "there is no database");

    let profiles = home.read("profiles.toml");
    let token = profiles.trim().rsplit('"').nth(1).unwrap();
    assert!(token.starts_with("eyJ") && !shown.contains(token), "{profiles}");

    // Another sign-in replaces the session.
    let before = sessions(&server, "admin");
    let answer = home.login(&url, &["admin", "--json"]).succeeded().json();
    let expires = &answer["expires"];
    let expected = json!({
        "result": "success", "profile": name, "server": url, "member": "admin", "admin": 1, "expires": expires,
    });
    assert_eq!(answer, expected);
    let after = sessions(&server, "admin");
    assert_eq!((after.len(), before.len()), (2, 2), "one is that of the test");
    assert!(after != before && home.read("profiles.toml") != profiles);
}

#[test]
fn a_member_uses_the_commands_of_their_own_and_of_their_role() {
    let (server, home, url) = with_admin();
    let _ = server.member("ann");
    let signed_in = home.login(&url, &["ann"]).succeeded();
    assert!(signed_in.stdout.starts_with(&format!("ann is signed in at {url}.\n")), "{signed_in:?}");
    assert!(signed_in.stderr.contains("ann is no administrator"), "{signed_in:?}");
    let run = |args: &[&str]| home.run([&["--server", &url], args].concat());
    assert_refused(&run(&["member", "list"]), 1, "Not admin");
    let _ = run(&["--as", "ann", "member", "nickname", "ann", "Annie"]).succeeded();
    let shown = server.cli(["member", "show", "ann", "--json"]).succeeded().json();
    assert_eq!(shown["nickname"], "Annie");

    let _ = server.cli(["member", "role", "ann", "notices,members"]).succeeded();
    let signed_in = home.login(&url, &["ann"]).succeeded();
    let note =
        "ann is no administrator, and has a role: the server accepts the commands that need notices, members";
    assert!(signed_in.stderr.contains(note), "{signed_in:?}");
    let _ = run(&["notice", "add", "--title", "Closed", "--post", "On Friday."]).succeeded();
    server.member("mallory");
    let _ = run(&["member", "remove", "mallory", "--yes"]).succeeded();
    let _ = server.member("trent");
    let _ = run(&["--as", "ann", "member", "remove", "trent", "--yes"]).succeeded();
    // A command that would be refused does not ask whether it should go on.
    assert_refused(&run(&["--as", "ann", "post", "remove", "6560c1a2ffeeddccbbaa0001"]), 1, "Not admin");
    assert_refused(&run(&["member", "role", "ann", "posts"]), 1, "Not admin");
    let _ = server.cli(["member", "role", "ann", "--none"]).succeeded();
    assert_refused(&run(&["notice", "add", "--title", "Closed", "--post", "Again."]), 1, "Not admin");
}

#[test]
fn a_wrong_password_stores_nothing() {
    let (_server, home, url) = with_admin();
    assert_refused(&home.login_with(&url, &["admin"], "not the password"), 1, "incorrect pw");
    assert_refused(&home.login(&url, &["nobody"]), 1, "No member");
    let json = home.login_with(&url, &["admin", "--json"], "not the password");
    assert_eq!((json.status, &json.json()["result"]), (1, &json!("incorrect pw")));
    assert_eq!(home.profiles(), []);
    assert!(!home.file("profiles.toml").exists());
    assert_refused(&home.login("http://127.0.0.1:1", &["admin"]), 3, "cannot be reached");
    for (address, part) in [
        ("http://tidings.example.org", "use https: plain http"),
        ("https://ann:pw@example.org", "tidings login signs in"),
        ("", "--server"),
        ("news.example.org", "https://"),
    ] {
        assert_refused(&home.login(address, &["ann"]), 2, part);
    }
    assert_refused(&home.run(["login", "--password-stdin"]), 2, "tidings login --server URL ID");
    assert_refused(&home.run(["login", "--server", &url, "--password-stdin"]), 2, "name the member");
    assert_refused(&home.login(&url, &["admin", "--as", "admin"]), 2, "leave --as out");
    assert_refused(&home.login(&url, &["admin", "--profile", "a b"]), 2, "the name of a profile");
}

#[test]
fn an_api_key_is_checked_before_it_is_stored() {
    let (server, home, url) = with_admin();
    let add = |name: &str, scope: &str| {
        let key = server.cli(["key", "add", name, "--scope", scope]).succeeded().stdout;
        key.trim().to_owned()
    };
    let login = |key: &str| run(home.command(["login", "--server", &url, "--key-stdin"]), key);
    let revoked = add("revoked", "members");
    let _ = server.cli(["key", "revoke", "revoked"]).succeeded();
    let refused = login(&revoked);
    assert_refused(&refused, 1, "does not accept the key");
    assert!(!refused.stderr.contains(&revoked), "{refused:?}");
    for text in [PASSWORD, "", "tidings_00", &revoked[..revoked.len() - 1]] {
        assert_refused(&login(text), 2, "this is no API key");
    }
    assert_eq!(home.profiles(), []);

    for (name, scope, status) in [("importer", "posts:import", 1), ("manager", "members:read", 0)] {
        let key = add(name, scope);
        let file = home.path().join(name);
        fs::write(&file, format!("{key}\n")).unwrap();
        let mut args = vec!["login", "--server", &url, "--profile", name, "--key-file"];
        args.push(file.to_str().unwrap());
        let stored = home.run(args).succeeded().stdout;
        assert!(stored.starts_with(&format!("The API key signs in at {url};")), "{stored}");
        assert!(!stored.contains(&key));
        assert_eq!(home.run(["--profile", name, "member", "list"]).status, status, "{name}");
    }
    let _ = server.cli(["key", "revoke", "manager"]).succeeded();
    let refused = home.run(["--profile", "manager", "member", "list"]);
    assert_refused(&refused, 1, "bad token: http://");
    assert_refused(&refused, 1, "tidings login --profile manager --key-file F");
    let removed = home.run(["logout", "--profile", "importer"]).succeeded();
    assert!(removed.stderr.contains("tidings key revoke NAME"), "{removed:?}");
}

#[test]
fn a_sign_in_that_is_no_longer_valid_names_the_command_to_sign_in_again() {
    let (server, home, url) = with_admin();
    let list = ["--server", &*url, "member", "list"];
    assert_refused(
        &home.run(list),
        1,
        &format!("nobody is signed in at {url}: tidings login --server {url} ID"),
    );
    let _ = home.login(&url, &["admin"]).succeeded();
    let _ = server.cli(["member", "sign-out", "admin"]).succeeded();
    let again = format!("sign in again with tidings login --profile admin@{}", server.address());
    let refused = home.run(list);
    assert_refused(&refused, 1, "bad token: the sign-in of admin at http://");
    assert_refused(&refused, 1, &format!("is no longer valid: {again}"));
    let profiles = home.read("profiles.toml");
    let (before, after) = profiles.split_once("expires = \"20").unwrap();
    fs::write(home.file("profiles.toml"), format!("{before}expires = \"19{after}")).unwrap();
    let refused = home.run(list);
    assert_refused(&refused, 1, "expired on 19");
    assert_refused(&refused, 1, &again);
    assert!(home.run(["profile", "list"]).succeeded().stdout.contains(" expired "));
    let name = format!("admin@{}", server.address());
    let _ = run(home.command(["login", "--profile", &name, "--password-stdin"]), PASSWORD).succeeded();
    let _ = home.run(list).succeeded();
}

#[test]
fn logging_out_ends_the_session_on_the_server() {
    let (mut server, home, url) = with_admin();
    let _ = server.member("ann");
    let before = sessions(&server, "admin");
    for member in ["admin", "ann"] {
        let _ = home.login(&url, &[member]).succeeded();
    }
    assert_eq!(sessions(&server, "admin").len(), before.len() + 1);
    assert_refused(&home.run(["logout"]), 2, "there are several sign-ins");
    assert_refused(&home.run(["logout", "--all", "--server", &url]), 2, "leave --server and --profile out");
    let shown = home.run(["logout", "--server", &url]).succeeded();
    assert_eq!((&*shown.stdout, &*shown.stderr), (&*format!("admin is signed out at {url}.\n"), ""));
    assert_eq!(sessions(&server, "admin"), before);
    let names = [format!("admin@{}", server.address()), format!("ann@{}", server.address())];
    assert_eq!(home.profiles(), [(names[0].clone(), 1, 0, 0), (names[1].clone(), 0, 1, 1)]);
    assert_refused(&home.run(["--profile", &names[0], "member", "list"]), 2, "tidings login --profile");

    server.stop();
    let shown = home.run(["logout"]).succeeded();
    assert_eq!(shown.stdout, format!("ann is signed out at {url}.\n"));
    assert!(shown.stderr.contains("cannot be reached") && shown.stderr.contains("until 20"), "{shown:?}");
    assert!(!home.read("profiles.toml").contains("token"));
    assert_refused(&home.run(["logout"]), 2, "nobody is signed in");
    let _ = home.run(["profile", "remove", &names[1]]).succeeded();
    assert_eq!(home.profiles(), [(names[0].clone(), 1, 0, 0)]);
    assert_refused(&home.run(["profile", "remove", &names[1]]), 2, "there is no profile");
}

#[test]
fn signing_out_everywhere_ends_every_session_of_the_member() {
    let ((server, home, url), other) = (with_admin(), Home::new());
    for home in [&home, &other] {
        let _ = home.login(&url, &["admin"]).succeeded();
    }
    let list = ["--server", &*url, "member", "list"];
    let _ = other.run(list).succeeded();
    let ended = home.run(["logout", "--server", &url, "--everywhere"]).succeeded();
    assert_eq!(ended.stdout, format!("admin is signed out at {url}, on every device.\n"));
    assert_eq!(sessions(&server, "admin"), <[String; 0]>::default());
    assert_refused(&other.run(list), 1, "is no longer valid");
    assert_refused(&home.run(list), 1, "nobody is signed in");

    // A key has no sessions, and stays.
    let key = server.cli(["key", "add", "reader", "--scope", "members:read"]).succeeded().stdout;
    let _ = run(home.command(["login", "--server", &url, "--profile", "reader", "--key-stdin"]), key.trim())
        .succeeded();
    assert_refused(&home.run(["logout", "--profile", "reader", "--everywhere"]), 2, "leave --everywhere out");
    let _ = home.run(["--profile", "reader", "member", "list"]).succeeded();
}

#[test]
fn what_guests_may_do_as_well_is_refused_once_the_sign_in_has_ended() {
    let (server, home, url) = with_admin();
    let _ = server.member("ann");
    let own = ["--server", &*url, "--as", "ann"];
    let commands: [&[&str]; 3] =
        [&["search", "log", "crabs"], &["feed", "recommended"], &["notice", "list", "--all"]];
    let _ = home.login(&url, &["ann"]).succeeded();
    for command in commands {
        let _ = home.run([&own[..], command].concat()).succeeded();
    }
    let _ = server.cli(["member", "sign-out", "ann"]).succeeded();
    for command in commands {
        assert_refused(&home.run([&own[..], command].concat()), 1, "is no longer valid");
    }
    let searches = server.cli(["--as", "ann", "search", "recent", "--json"]).succeeded().json();
    assert_eq!(searches["lately_search_list"].as_array().map(Vec::len), Some(1));
    let mut keyed = home.command(["--server", &*url, "notice", "list", "--all"]);
    keyed.env("TIDINGS_SERVER_KEY", "bad");
    assert_refused(&run(keyed, ""), 2, "TIDINGS_SERVER_KEY is neither an API key");
}

#[test]
fn a_changed_password_renews_the_sign_in_with_which_it_was_changed() {
    let ((server, home, url), other) = (with_admin(), Home::new());
    let _ = server.member("ann");
    for home in [&home, &other] {
        let _ = home.login(&url, &["ann"]).succeeded();
    }
    let profiles = home.read("profiles.toml");
    let own = ["--server", &*url, "--as", "ann"];
    let change = [&own[..], &["member", "password", "ann", "--password-stdin"]].concat();
    let changed = run(home.command(change), format!("{PASSWORD}\nbattery staple\n")).succeeded();
    assert!(changed.stdout.contains("signed out everywhere else"), "{changed:?}");
    assert_ne!(home.read("profiles.toml"), profiles, "the new token is stored");
    let show = [&own[..], &["member", "sessions", "ann"]].concat();
    let _ = home.run(&show).succeeded();
    assert_refused(&other.run(&show), 1, "is no longer valid");
    assert_refused(&other.login(&url, &["ann"]), 1, "incorrect pw");
    let _ = other.login_with(&url, &["ann"], "battery staple").succeeded();
}
