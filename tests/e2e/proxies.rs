//! The configurations in `packaging/proxies`, with the real proxies in front of the real binary.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings_tests::{Authority, Server, only_on_sqlite, sample, wait_until};

use crate::programs::{is_installed, packaged};

/// The longest that an event may take through a proxy. One that collects events sends them after a minute.
const EVENT_MAX: Duration = Duration::from_secs(15);
/// The size of a large import, less than the limit of 64 MiB.
const LARGE: usize = 40 << 20;

struct Proxy {
    child: Child,
    port: u16,
    directory: TempDir,
    server: Server,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and a proxy in front of it: `configure` gets the configuration of the package, the directory with
/// the certificate and the port, and returns the configuration to use and the command.
fn proxy(file: &str, configure: impl Fn(&str, &Path, u16) -> (String, Command)) -> Proxy {
    let server = Server::behind_a_proxy(&["--log-auth-failures"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let authority = Authority::new("tests");
    authority.issue_to(path);
    fs::write(path.join("authority.pem"), authority.pem()).unwrap();
    let both = ["cert.pem", "key.pem"].map(|name| fs::read_to_string(path.join(name)).unwrap());
    fs::write(path.join("both.pem"), both.concat()).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text =
        replaced(&packaged(&format!("proxies/{file}")), "127.0.0.1:8080", &server.address().to_string());
    let (text, mut command) = configure(&text, path, port);
    fs::write(path.join(file), text).unwrap();
    let log = fs::File::create(path.join("log")).unwrap();
    command.current_dir(path).env("HOME", path).stdin(Stdio::null());
    let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let proxy = Proxy { child, port, directory, server };
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    wait_until("the proxy listens", || TcpStream::connect(address).is_ok());
    proxy
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

impl Proxy {
    fn curl(&self, path: &str, arguments: &[&str]) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--http2", "--noproxy", "*", "--cacert"]);
        curl.arg(self.directory.path().join("authority.pem")).args(arguments);
        curl.arg(format!("https://localhost:{}{path}", self.port));
        curl
    }

    fn request(&self, path: &str, arguments: &[&str]) -> (Value, String) {
        let shown = ["--write-out", "\n%{http_code} %{http_version}", "--max-time", "60"];
        let output = self.curl(path, &[&shown[..], arguments].concat()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let log = || fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let (body, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{stderr}\n{}", log()));
        (serde_json::from_str(body).unwrap_or(Value::Null), status.to_owned())
    }

    fn works(&self) {
        let admin = self.server.admin();
        let (signed_in, status) =
            self.request("/sign_in", &["--data", &format!("id=admin&pw={}", tidings_tests::PASSWORD)]);
        assert_eq!((&signed_in["result"], &*status), (&"success".into(), "200 2"), "{signed_in}");
        self.passes_events_on(&admin);
        self.takes_large_imports(signed_in["access_token"].as_str().unwrap());
        self.tells_clients_apart();
    }

    fn passes_events_on(&self, admin: &tidings_tests::Caller) {
        let mut listener =
            self.curl("/events?events=notice", &["--no-buffer"]).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(listener.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        // The first line arrives when the listener is registered.
        lines.recv_timeout(EVENT_MAX).unwrap();
        let notice = json!({ "title": "t", "post": "p", "activation": 1 });
        let _ = admin.post("/insert_notice", notice).succeeded();
        let event = std::iter::from_fn(|| lines.recv_timeout(EVENT_MAX).ok());
        let found = event.into_iter().any(|line| line == "event: notice");
        let _ = listener.kill();
        let _ = listener.wait();
        assert!(found, "an event arrives at once");
    }

    fn takes_large_imports(&self, token: &str) {
        let file = self.directory.path().join("posts");
        let mut post = sample::post("large");
        post["post"] = "a word ".repeat(1_000).into();
        let mut line = post.to_string();
        // Spaces between lines are not a post.
        line.push_str(&" ".repeat(200_000));
        line.push('\n');
        fs::write(&file, line.repeat(LARGE / line.len())).unwrap();
        let (token, data) = (format!("Authorization: Bearer {token}"), format!("@{}", file.display()));
        let kind = "Content-Type: application/x-ndjson";
        let (report, status) =
            self.request("/import_posts", &["--data-binary", &data, "--header", kind, "--header", &token]);
        assert_eq!((&*status, &report["result"]), ("200 2", &"success".into()), "{report}");
        fs::write(&file, " ".repeat(65 << 20)).unwrap();
        let (_, status) =
            self.request("/import_posts", &["--data-binary", &data, "--header", kind, "--header", &token]);
        // A proxy may close the connection, because the server does not read the rest.
        assert!(status.starts_with("413") || status.starts_with("000"), "{status}");
    }

    fn tells_clients_apart(&self) {
        let sign_in = |from: &str, forged: &str| {
            let header = format!("X-Forwarded-For: {forged}");
            let arguments = ["--data", "id=nobody&pw=wrong", "--interface", from, "--header", &header];
            let _ = self.request("/sign_in", &arguments);
        };
        for number in 0..3 {
            sign_in("127.0.0.2", &format!("198.51.100.{number}"));
        }
        sign_in("127.0.0.3", "127.0.0.2");
        let lines = |address: &str| self.server.log().lines().filter(|line| line.contains(address)).count();
        wait_until("the log tells whose sign-ins failed", || {
            lines("127.0.0.2") == 3 && lines("127.0.0.3") == 1
        });
        assert_eq!(lines("198.51.100."), 0, "a proxy does not pass on what a client claims");
    }
}

fn check(program: &str, file: &str, configure: impl Fn(&str, &Path, u16) -> (String, Command)) {
    if is_installed(program) {
        proxy(file, configure).works();
    }
}

#[test]
fn caddy_works_in_front_of_the_server() {
    only_on_sqlite!("a proxy does not see the engine");
    let configure = |text: &str, path: &Path, port: u16| {
        let files = format!("tls {0}/cert.pem {0}/key.pem", path.display());
        let site = format!(
            "{{\n\tadmin off\n\tauto_https disable_redirects\n}}\nhttps://localhost:{port} {{\n\t{files}\n"
        );
        let mut caddy = Command::new("caddy");
        caddy.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        (replaced(text, "campus.example.org {\n", &site), caddy)
    };
    check("caddy", "Caddyfile", configure);
}

#[test]
fn nginx_works_in_front_of_the_server() {
    only_on_sqlite!("a proxy does not see the engine");
    let configure = |text: &str, path: &Path, port: u16| {
        let text = replaced(text, "listen 443", &format!("listen 127.0.0.1:{port}"));
        let text = replaced(&text, "/etc/ssl/campus", &path.display().to_string());
        let text = replaced(&text, "campus.example.org", "localhost");
        let here = path.display();
        let own: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {here}/{name};\n"))
            .concat();
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {here}/pid;\nerror_log stderr;\nevents {{}}\n\
             http {{\naccess_log off;\n{own}{text}}}\n"
        );
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(path).arg("-e").arg("stderr").arg("-c").arg(path.join("nginx.conf"));
        (whole, nginx)
    };
    check("nginx", "nginx.conf", configure);
}

#[test]
fn haproxy_works_in_front_of_the_server() {
    only_on_sqlite!("a proxy does not see the engine");
    let configure = |text: &str, path: &Path, port: u16| {
        let text = replaced(text, "bind :443", &format!("bind 127.0.0.1:{port}"));
        let text = replaced(&text, "/etc/haproxy/campus.pem", &path.join("both.pem").display().to_string());
        let mut haproxy = Command::new("haproxy");
        haproxy.args(["-db", "-f", "haproxy.cfg"]);
        (text, haproxy)
    };
    check("haproxy", "haproxy.cfg", configure);
}
