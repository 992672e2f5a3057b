//! Built-in TLS, and the settings that SIGHUP reloads, through the real binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tidings_tests::{Authority, Server, command_in, run, wait_until};

struct Secure {
    server: Server,
    authority: Authority,
    directory: TempDir,
}

fn secure() -> Secure {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new("tests");
    authority.issue_to(directory.path());
    fs::write(directory.path().join("authority.pem"), authority.pem()).unwrap();
    let path = directory.path().to_owned();
    let server = Server::with(move |serve| {
        serve.arg("--tls-cert").arg(path.join("cert.pem")).arg("--tls-key").arg(path.join("key.pem"));
    });
    Secure { server, authority, directory }
}

impl Secure {
    fn curl(&self, path: &str, arguments: &[&str]) -> std::process::Output {
        let url = format!("https://localhost:{}{path}", self.server.address().port());
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"]);
        curl.arg("--cacert").arg(self.directory.path().join("authority.pem"));
        curl.args(arguments).arg(url).output().unwrap()
    }
}

#[test]
fn curl_speaks_http2_and_http1_with_a_server_that_has_a_certificate_and_knows_itself() {
    let secure = secure();
    for (version, shown) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let answered = secure.curl("/get_main_info", &[version, "--write-out", "\n%{http_version}"]);
        let text = String::from_utf8(answered.stdout).unwrap();
        let (body, version) = text.rsplit_once('\n').unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["result"], version), (&"success".into(), shown));
    }
    let page = String::from_utf8(secure.curl("/", &[]).stdout).unwrap();
    assert!(!page.contains("http://localhost"), "{page}");
    let plain = secure.server.raw("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
    assert_eq!(plain.status, 400);
    let old = secure.curl("/healthz", &["--tls-max", "1.1"]);
    assert!(!old.status.success(), "TLS 1.1 is refused");

    let address = secure.server.address().to_string();
    let ready = |arguments: &[&str]| {
        let mut ready = command_in(secure.directory.path());
        ready.args(["ready", "--listen", &address]).args(arguments);
        run(ready, "")
    };
    let shown = ready(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]).succeeded().stdout;
    assert_eq!(shown, format!("https://{address} is ready.\n"));
    // Without the certificate in the settings it asks in plain HTTP, which this server does not speak.
    assert_ne!(ready(&[]).status, 0);
}

#[test]
fn a_changed_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let secure = secure();
    let logged = |text: &str| wait_until(text, || secure.server.log().contains(text));
    secure.authority.issue_to(secure.directory.path());
    logged("a new certificate is in use");
    assert!(secure.curl("/healthz", &[]).status.success());
    fs::write(secure.directory.path().join("cert.pem"), "not a certificate").unwrap();
    logged("cert.pem has no certificate in PEM form");
    assert!(secure.curl("/healthz", &[]).status.success());
}

struct Configured {
    server: Server,
    directory: TempDir,
}

fn configured(settings: &str) -> Configured {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tidings.toml");
    fs::write(&file, settings).unwrap();
    let server = Server::with(move |serve| {
        serve.arg("--config").arg(&file).env_remove("RUST_LOG");
    });
    Configured { server, directory }
}

impl Configured {
    /// Writes the settings, sends SIGHUP, and returns what the log then has after it mentions `expected`.
    fn reload(&self, settings: &str, expected: &str) -> String {
        let before = self.server.log().len();
        fs::write(self.directory.path().join("tidings.toml"), settings).unwrap();
        let pid = i32::try_from(self.server.pid()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::HUP).unwrap();
        let after = || self.server.log().split_off(before);
        wait_until(expected, || after().contains(expected));
        after()
    }
}

#[test]
fn a_hangup_reloads_what_can_change_names_what_cannot_and_ignores_invalid_settings() {
    let configured = configured("rate-limit = 1000\n");
    let server = &configured.server;
    let from = |origin: &'static str| server.anyone().with_header("Origin", origin).get("/get_main_info");
    for (settings, error) in [
        ("rate-limit = 1\nnonsense = 2\n", "there is no setting \"nonsense\""),
        ("rate-limit = 1\nlog-level = \"=,=\"\n", "line 2, log-level"),
        ("rate-limit = 1\ncors-origin = [\"?\"]\n", "line 2, cors-origin"),
    ] {
        let log = configured.reload(settings, error);
        assert_eq!(log.matches("nothing is reloaded: ").count(), 1, "{log}");
        assert!(!log.contains("reloaded: rate-limit"), "{log}");
    }
    for _ in 0..20 {
        let answer = from("https://a.example");
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "*"));
    }
    let settings = "rate-limit = 1\ncors-origin = [\"https://b.example\"]\nlog-level = \"debug\"\n\
                    base-path = \"/api\"\n";
    let log = configured.reload(settings, "restart the server to change base-path");
    assert!(log.contains("reloaded: log-level, cors-origin, rate-limit changed"), "{log}");
    assert_eq!(from("https://a.example").header("access-control-allow-origin"), "");
    let refused = (0..20).any(|_| server.anyone().get("/get_main_info").status == 429);
    assert!(refused, "one request a second is allowed");
    // What waits for a restart is named again, and nothing else.
    let log = configured.reload(settings, "restart the server to change base-path");
    assert!(log.contains("no setting has changed"), "{log}");
}

#[test]
fn the_hook_of_certbot_replaces_a_certificate_that_only_root_can_read() {
    let (live, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = copies.path().join("tls");
    let renew = |name: &str| {
        let authority = Authority::new(name);
        authority.issue_to(live.path());
        for (from, to) in [("cert.pem", "fullchain.pem"), ("key.pem", "privkey.pem")] {
            fs::rename(live.path().join(from), live.path().join(to)).unwrap();
        }
        fs::write(live.path().join("authority.pem"), authority.pem()).unwrap();
        let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/certbot/tidings");
        let group = Command::new("id").arg("-gn").output().unwrap().stdout;
        let mut hook = Command::new(hook);
        hook.env("RENEWED_LINEAGE", live.path()).env("TIDINGS_TLS_DIR", &directory);
        let ended = hook.env("TIDINGS_TLS_GROUP", String::from_utf8(group).unwrap().trim()).status();
        assert!(ended.unwrap().success());
    };
    renew("first");
    let paths = directory.clone();
    let server = Server::with(move |serve| {
        serve.arg("--tls-cert").arg(paths.join("fullchain.pem"));
        serve.arg("--tls-key").arg(paths.join("privkey.pem"));
    });
    let is_trusted = || {
        let url = format!("https://localhost:{}/healthz", server.address().port());
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--noproxy", "*", "--cacert"]).arg(live.path().join("authority.pem")).arg(url);
        curl.output().unwrap().status.success()
    };
    assert!(is_trusted());
    renew("second");
    wait_until("the server has the new certificate", is_trusted);
    assert!(!server.log().contains("other users can read"), "{}", server.log());
}
