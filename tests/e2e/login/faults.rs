//! Files that are damaged, missing, read by others or cannot be written, and sign-ins at the same time.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tidings_tests::{PASSWORD, run};

use super::{assert_refused, sessions, with_admin};

#[test]
fn without_a_place_for_sign_ins_only_guests_read() {
    let (server, home, url) = with_admin();
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
    let (server, mut home, url) = with_admin();
    let _ = server.member("ann");
    let _ = home.login(&url, &["admin"]).succeeded();
    let before = (home.read("profiles.toml"), sessions(&server, "ann"));
    home.through = ["sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"].map(OsString::from).to_vec();
    assert_refused(&home.login(&url, &["ann"]), 3, "cannot write ");
    home.through.clear();
    let after = (home.read("profiles.toml"), sessions(&server, "ann"));
    assert_eq!(after, before, "the session that could not be stored is signed out");
    let files = fs::read_dir(home.file("")).unwrap().count();
    assert_eq!(files, 2, "no draft is left");
    let _ = home.run(["--server", &url, "member", "list"]).succeeded();
}

#[test]
fn damaged_files_are_named_with_their_line_and_without_secrets() {
    let (_server, home, url) = with_admin();
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let list = ["--server", &*url, "member", "list"];
    let (file, profiles) = (home.file("profiles.toml"), home.read("profiles.toml"));
    let token = profiles.trim().rsplit('"').nth(1).unwrap();
    for damaged in [profiles.trim_end().trim_end_matches('"').to_owned(), format!("{profiles}= {token}")] {
        fs::write(&file, damaged).unwrap();
        for args in [&list[..], &["profile", "list"], &["logout"]] {
            let refused = home.run(args);
            assert_refused(&refused, 2, "profiles.toml, line ");
            assert!(!refused.stderr.contains(&token[..20]), "{refused:?}");
        }
    }
    fs::write(&file, &profiles).unwrap();
    let _ = home.run(list).succeeded();

    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_refused(&home.run(list), 2, "other users can access it: chmod 600 ");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    // The file of an earlier version has no secrets: the profile is signed out.
    let lines = profiles.lines().filter(|line| !line.starts_with("token"));
    fs::write(&file, lines.chain(["secret = \"file\""]).collect::<Vec<_>>().join("\n")).unwrap();
    assert_refused(&home.run(["--profile", "boss", "member", "list"]), 2, "nobody is signed in at");
    let _ = home.run(["profile", "remove", "boss"]).succeeded();
    assert_eq!(home.profiles(), []);
}

#[test]
fn sign_ins_at_the_same_time_are_all_stored() {
    const MEMBERS: usize = 6;
    let (server, home, url) = with_admin();
    for number in 0..MEMBERS {
        let _ = server.member(&format!("ann{number}"));
    }
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
