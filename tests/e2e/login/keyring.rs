//! Secrets in the keyring of the system: that of a desktop session, which the test starts if its programs are installed.

use std::process::Command;

use tidings_tests::{PASSWORD, Server, run};

use super::{Home, assert_refused, sessions, url};

/// Begins a session with an unlocked keyring and runs a command in it.
const SESSION: &str = "exec dbus-run-session -- sh -c '
    export XDG_RUNTIME_DIR=\"$HOME/run\" && mkdir -p \"$XDG_RUNTIME_DIR\" || exit 99
    printf pw | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1 || exit 99
    \"$@\"' sh \"$@\"";

/// Returns whether a program is installed.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_keyring_of_the_system_has_the_secret() {
    if !has("dbus-run-session") || !has("gnome-keyring-daemon") {
        eprintln!("skipped: there is no keyring");
        return;
    }
    let (server, mut home) = (Server::start(), Home::new());
    let _ = server.admin();
    let url = url(&server);
    let before = sessions(&server, "admin");
    let in_session = |home: &mut Home, args: &[&str]| {
        home.through = ["sh", "-c", SESSION, "sh"].map(Into::into).to_vec();
        let mut command = home.command(args);
        command.env_remove("TIDINGS_NO_KEYRING");
        home.through.clear();
        run(command, PASSWORD)
    };
    let login = ["login", "--server", &url, "admin", "--password-stdin"];
    let shown = in_session(&mut home, &login).succeeded().stdout;
    assert!(shown.contains("The secret is in the keyring of the system.\n"), "{shown}");
    assert!(!home.file("secrets.toml").exists());
    let list = ["--server", &url, "member", "list"];
    let _ = in_session(&mut home, &list).succeeded();
    // Outside of the session there is no keyring.
    let mut outside = home.command(list);
    outside.env_remove("DBUS_SESSION_BUS_ADDRESS").env("XDG_RUNTIME_DIR", home.path());
    assert_refused(&run(outside, ""), 3, "the keyring of the system does not answer");
    // A sign-in with a file replaces the secret in the keyring.
    let shown = in_session(&mut home, &[&login[..], &["--no-keyring"]].concat()).succeeded().stdout;
    assert!(shown.contains("secrets.toml.\n"), "{shown}");
    let _ = home.run(list).succeeded();
    assert_eq!(sessions(&server, "admin").len(), before.len() + 1);
    let _ = in_session(&mut home, &login).succeeded();
    assert_eq!(home.read("secrets.toml"), "");
    let _ = in_session(&mut home, &["logout"]).succeeded();
    assert_eq!(sessions(&server, "admin"), before);
}
