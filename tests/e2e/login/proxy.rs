//! The proxy that the environment names.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use tidings_tests::{Output, PASSWORD, Server, TlsProxy, run};

use super::{Home, assert_refused, url};

const VARIABLES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

fn through(command: &mut Command, proxy: &TcpListener, excepted: Option<&str>) {
    let proxy = format!("http://{}", proxy.local_addr().unwrap());
    command.envs(VARIABLES.map(|name| (name, &proxy))).env_remove("NO_PROXY").env_remove("no_proxy");
    command.envs(excepted.map(|hosts| ("NO_PROXY", hosts)));
}

#[test]
fn no_proxy_sees_requests_to_this_machine() {
    let (server, home) = (Server::start(), Home::new());
    let _ = server.admin();
    let tls = TlsProxy::before(server.address());
    let key = server.cli(["--json", "key", "add", "script", "--scope", "members"]).succeeded().json();
    let key = key["key"].as_str().unwrap().to_owned();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let (plain, encrypted, port) = (url(&server), tls.url(), server.address().port());
    let names = [plain.clone(), format!("http://localhost:{port}"), encrypted.clone()];
    for (address, excepted) in names.iter().zip([None, Some(""), Some("example.org")]) {
        let with = |args: &[&str], key: Option<&str>| -> Output {
            let mut command = home.command(args);
            through(&mut command, &proxy, excepted);
            command.env("SSL_CERT_FILE", tls.authority()).envs(key.map(|key| ("TIDINGS_SERVER_KEY", key)));
            run(command, PASSWORD)
        };
        let _ = with(&["login", "--server", address, "admin", "--password-stdin"], None).succeeded();
        let _ = with(&["--server", address, "member", "list"], None).succeeded();
        let _ = with(&["--server", address, "member", "list"], Some(&key)).succeeded();
        let _ = with(&["--server", address, "ready"], None).succeeded();
        let _ = with(&["ready", "--listen", &server.address().to_string()], None).succeeded();
        assert!(proxy.accept().is_err(), "{address} was asked for through the proxy");
    }
}

#[test]
fn a_proxy_carries_encrypted_requests_to_other_machines() {
    let home = Home::new();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut login = home.command(["login", "--server", "https://tidings.invalid", "ann", "--password-stdin"]);
    through(&mut login, &proxy, None);
    let asked = thread::spawn(move || {
        let (client, _) = proxy.accept().unwrap();
        let mut lines = BufReader::new(&client).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        lines.take_while(|line| !line.is_empty()).for_each(drop);
        (&client).write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").unwrap();
        first
    });
    assert_refused(&run(login, PASSWORD), 3, "https://tidings.invalid cannot be reached");
    assert_eq!(asked.join().unwrap(), "CONNECT tidings.invalid:443 HTTP/1.1");
}
