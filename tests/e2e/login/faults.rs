//! Files that are damaged, missing, read by others or cannot be written, and sign-ins at the same time.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tidings_tests::{PASSWORD, Server, run};

use super::{Home, assert_refused, sessions, url};

#[test]
fn without_a_place_for_sign_ins_only_guests_read() {
    let (server, home) = (Server::start(), Home::new());
    let _ = server.admin();
    let url = url(&server);
    let without = |args: &[&str], home_variable: Option<&str>| {
        let mut command = home.command(args);
        command.env_remove("HOME").envs(home_variable.map(|path| ("HOME", path)));
        run(command, PASSWORD)
    };
    let login = ["login", "--server", &url, "admin", "--password-stdin"];
    for variable in [None, Some(""), Some("relative")] {
        assert_refused(&without(&login, variable), 2, "set HOME or XDG_CONFIG_HOME");
        let _ = without(&["--server", &url, "notice", "list"], variable).succeeded();
        assert_refused(&without(&["--server", &url, "member", "list"], variable), 1, "nobody is signed in");
    }
    // The command fails before it signs in: the server has no session that nobody can use.
    let before = sessions(&server, "admin");
    for place in ["/dev/null", "/proc"] {
        assert_refused(&without(&login, Some(place)), 3, &format!("cannot write {place}/.config"));
        let _ = without(&["--server", &url, "notice", "list"], Some(place));
    }
    assert_eq!(sessions(&server, "admin"), before);
    let mut elsewhere = home.command(login);
    elsewhere.env("XDG_CONFIG_HOME", home.path().join("설정"));
    let _ = run(elsewhere, PASSWORD).succeeded();
    assert!(home.path().join("설정/tidings/profiles.toml").exists() && !home.file("").exists());
}

#[test]
fn a_full_disk_keeps_the_earlier_sign_in() {
    let (server, mut home) = (Server::start(), Home::new());
    let _ = (server.admin(), server.member("ann"));
    let url = url(&server);
    let _ = home.login(&url, &["admin"]).succeeded();
    let before = (home.read("profiles.toml"), home.read("secrets.toml"), sessions(&server, "ann"));
    home.through = ["sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"].map(OsString::from).to_vec();
    assert_refused(&home.login(&url, &["ann"]), 3, "cannot write ");
    home.through.clear();
    let after = (home.read("profiles.toml"), home.read("secrets.toml"), sessions(&server, "ann"));
    assert_eq!(after, before, "the session that could not be stored is signed out");
    let files = fs::read_dir(home.file("")).unwrap().count();
    assert_eq!(files, 3, "no draft is left");
    let _ = home.run(["--server", &url, "member", "list"]).succeeded();
}

#[test]
fn damaged_files_are_named_with_their_line_and_without_secrets() {
    let (server, home) = (Server::start(), Home::new());
    let _ = server.admin();
    let url = url(&server);
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let list = ["--server", &*url, "member", "list"];
    let [profiles, secrets] =
        ["profiles.toml", "secrets.toml"].map(|name| (home.file(name), home.read(name)));

    fs::write(&profiles.0, format!("{}\ntokens = 1\n", profiles.1)).unwrap();
    let line = format!("profiles.toml: TOML parse error at line {},", profiles.1.lines().count() + 2);
    for args in [&list[..], &["profile", "list"], &["logout"]] {
        let refused = home.run(args);
        assert_refused(&refused, 2, &line);
        assert_refused(&refused, 2, "unknown field `tokens`");
    }
    assert_refused(&home.login(&url, &["admin", "--profile", "boss"]), 2, "unknown field `tokens`");
    fs::write(&profiles.0, &profiles.1).unwrap();

    let token = secrets.1.trim().rsplit('"').nth(1).unwrap();
    for damaged in [secrets.1.trim_end().trim_end_matches('"').to_owned(), format!("{}= {token}", secrets.1)]
    {
        fs::write(&secrets.0, damaged).unwrap();
        let refused = home.run(list);
        assert_refused(&refused, 2, "secrets.toml, line ");
        assert!(!refused.stderr.contains(&token[..20]), "{refused:?}");
    }
    fs::write(&secrets.0, &secrets.1).unwrap();
    let _ = home.run(list).succeeded();

    fs::set_permissions(&secrets.0, fs::Permissions::from_mode(0o644)).unwrap();
    assert_refused(&home.run(list), 2, "other users can access it: chmod 600 ");
    fs::remove_file(&secrets.0).unwrap();
    assert_refused(&home.run(list), 2, "nobody is signed in at");
    let _ = home.run(["profile", "remove", "boss"]).succeeded();
    assert_eq!(home.profiles(), []);
    // A profile that was edited to name another server does not send the secret there.
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let edited = home.read("profiles.toml").replace(&url, "http://127.0.0.1:1");
    fs::write(&profiles.0, edited).unwrap();
    assert_refused(
        &home.run(["--profile", "boss", "member", "list"]),
        2,
        "nobody is signed in at http://127.0.0.1:1",
    );
}

#[test]
fn sign_ins_at_the_same_time_are_all_stored() {
    const MEMBERS: usize = 6;
    let (server, home) = (Server::start(), Home::new());
    for number in 0..MEMBERS {
        let _ = server.member(&format!("ann{number}"));
    }
    let url = url(&server);
    std::thread::scope(|threads| {
        for number in 0..MEMBERS {
            let (home, url) = (&home, &url);
            threads.spawn(move || home.login(url, &[&format!("ann{number}")]).succeeded());
        }
    });
    assert_eq!(home.profiles().len(), MEMBERS);
    for number in 0..MEMBERS {
        let id = format!("ann{number}");
        let _ = home.run(["--server", &url, "--as", &id, "search", "recent"]).succeeded();
    }
}
