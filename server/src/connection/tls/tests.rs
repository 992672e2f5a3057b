//! Tests of TLS with well-behaved and hostile clients.

use std::fs;
use std::path::Path;
use std::process::Command;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::*;
use crate::config::Config;
use crate::connection::listen::{Handle, Server};
use crate::testing;

fn issue(files: &TlsFiles) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2999, 1, 1);
    fs::write(&files.cert, params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&files.key, key.serialize_pem()).unwrap();
}

fn issued() -> (TempDir, TlsFiles) {
    let directory = tempfile::tempdir().unwrap();
    let files = TlsFiles { cert: directory.path().join("cert.pem"), key: directory.path().join("key.pem") };
    issue(&files);
    (directory, files)
}

struct Running {
    address: std::net::SocketAddr,
    handle: Handle,
    config: Config,
    files: TlsFiles,
    _stop: oneshot::Sender<()>,
    _service: testing::Service,
    _directory: TempDir,
}

fn running(config: Config) -> Running {
    let (directory, files) = issued();
    let config = Config { tls_cert: Some(files.cert.clone()), tls_key: Some(files.key.clone()), ..config };
    let service = testing::service();
    let server = Server::new(service.tidings.clone(), config.clone()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let handle = server.handle();
    tokio::spawn(async move {
        let server = server.start(listener).await.unwrap();
        server.serve(async { stopped.await.unwrap_or(()) }).await;
    });
    Running { address, handle, config, files, _stop: stop, _service: service, _directory: directory }
}

/// Connects a client that trusts only the certificate in the file.
async fn connect(
    server: &Running,
    trusted: &Path,
    alpn: &[&[u8]],
    version: &'static SupportedProtocolVersion,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let socket = TcpStream::connect(server.address).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), socket).await
}

async fn health(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
    let mut answer = [0; 15];
    timeout(Duration::from_secs(10), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    let mut rest = [0; 4096];
    let _ = stream.read(&mut rest).await.unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}

async fn until_closed(mut socket: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(10), socket.read_to_end(&mut answer)).await.unwrap();
    answer
}

async fn send(server: &Running, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    socket
}

#[tokio::test]
async fn clients_negotiate_the_version_and_the_protocol() {
    let server = running(Config::default());
    for version in [&TLS12, &TLS13] {
        let mut stream = connect(&server, &server.files.cert, &[b"http/1.1"], version).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(health(&mut stream).await, "HTTP/1.1 200 OK");
        assert_eq!(health(&mut stream).await, "HTTP/1.1 200 OK", "the connection stays open");
    }
    let stream = connect(&server, &server.files.cert, &[b"http/1.1", b"h2"], &TLS13).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(H2));
    let mut stream = connect(&server, &server.files.cert, &[], &TLS13).await.unwrap();
    assert_eq!(health(&mut stream).await, "HTTP/1.1 200 OK");
    connect(&server, &server.files.cert, &[b"smtp"], &TLS13).await.unwrap_err();
}

#[tokio::test]
async fn a_client_without_tls_is_told_or_closed() {
    let server = running(Config::default());
    let request = b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n";
    let answer = until_closed(send(&server, request).await).await;
    let (head, body) = str::from_utf8(&answer).unwrap().split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && body.ends_with("https, please\n"));
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
    assert_eq!(until_closed(send(&server, b"\x00\x01\x02").await).await, b"");
    // An alert, and no more.
    assert!(until_closed(send(&server, &[HANDSHAKE_START, &[0; 64]].concat()).await).await.len() < 16);
}

const HANDSHAKE_START: &[u8] = &[22, 3, 1, 0, 64];

#[tokio::test]
async fn a_slow_handshake_is_dropped_and_keeps_no_other_client_waiting() {
    let server = running(Config { header_timeout: Duration::from_secs(2), ..Config::default() });
    let mut slow = Vec::new();
    for number in 0..60 {
        slow.push(send(&server, &HANDSHAKE_START[..number % 6]).await);
    }
    let answered = timeout(Duration::from_millis(1_500), async {
        let mut stream = connect(&server, &server.files.cert, &[], &TLS13).await.unwrap();
        health(&mut stream).await
    });
    assert_eq!(answered.await.unwrap(), "HTTP/1.1 200 OK");
    for socket in slow {
        assert_eq!(until_closed(socket).await, b"");
    }
}

#[tokio::test]
async fn a_handshake_gives_way_to_another_connection() {
    let server = running(Config { max_connections: 1, ..Config::default() });
    let silent = send(&server, HANDSHAKE_START).await;
    let mut stream = connect(&server, &server.files.cert, &[], &TLS13).await.unwrap();
    assert_eq!(health(&mut stream).await, "HTTP/1.1 200 OK");
    assert_eq!(until_closed(silent).await, b"");
}

#[tokio::test]
async fn a_new_certificate_is_used_for_new_connections_only() {
    let server = running(Config::default());
    let mut old = connect(&server, &server.files.cert, &[], &TLS13).await.unwrap();
    let before = server.files.cert.with_file_name("before.pem");
    fs::copy(&server.files.cert, &before).unwrap();
    issue(&server.files);
    server.handle.reload(&server.config).unwrap();
    assert_eq!(health(&mut old).await, "HTTP/1.1 200 OK");
    let mut new = connect(&server, &server.files.cert, &[], &TLS13).await.unwrap();
    assert_eq!(health(&mut new).await, "HTTP/1.1 200 OK");
    connect(&server, &before, &[], &TLS13).await.unwrap_err();
}

#[test]
fn changed_files_are_loaded_once_they_have_settled_and_a_broken_pair_is_not() {
    let (_directory, files) = issued();
    let tls = Tls::load(files.clone()).unwrap();
    let state = || (Arc::as_ptr(&tls.active.load().config), tls.is_stale());
    let first = state();
    tls.look();
    assert_eq!(state(), first, "nothing has changed");
    // Written one after the other: the first look sees the new certificate with the old key.
    let key = fs::read(&files.key).unwrap();
    issue(&files);
    let new_key = fs::read(&files.key).unwrap();
    fs::write(&files.key, &key).unwrap();
    tls.look();
    assert_eq!(state(), first);
    fs::write(&files.key, &new_key).unwrap();
    tls.look();
    assert_eq!(state(), first, "they have just changed again");
    tls.look();
    let second = state();
    assert!(second.0 != first.0 && !second.1);
    let look_twice = || {
        tls.look();
        tls.look();
    };
    for broken in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(&files.cert, broken).unwrap();
        look_twice();
        assert_eq!(state(), (second.0, true), "{broken:?}");
    }
    issue(&files);
    look_twice();
    assert!(state().0 != second.0 && !tls.is_stale());
    fs::remove_file(&files.cert).unwrap();
    look_twice();
    assert!(tls.is_stale());
}

#[test]
fn the_remaining_time_is_that_of_the_certificate() {
    let (_directory, files) = issued();
    let remaining = Tls::load(files).unwrap().remaining_s();
    let now = Clock::system().now().as_millis() / 1_000;
    // 2999-01-01T00:00:00Z.
    assert!((32_472_144_000 - now - remaining).abs() <= 2, "{remaining}");
}

#[test]
fn keys_may_have_any_usual_form() {
    let (_directory, files) = issued();
    let openssl = |arguments: &str, file: &Path| {
        let ran = Command::new("openssl").args(arguments.split(' ')).arg(file).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    for (generate, form) in [
        ("ecparam -name prime256v1 -genkey -noout -out", "BEGIN EC PRIVATE KEY"),
        ("genrsa -traditional -out", "BEGIN RSA PRIVATE KEY"),
        ("genpkey -algorithm ed25519 -out", "BEGIN PRIVATE KEY"),
    ] {
        openssl(generate, &files.key);
        assert!(fs::read_to_string(&files.key).unwrap().contains(form));
        openssl(&format!("req -x509 -key {} -subj /CN=localhost -out", files.key.display()), &files.cert);
        Tls::load(files.clone()).unwrap();
    }
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let (directory, files) = issued();
    let (_other_directory, other) = issued();
    let error = |files: &TlsFiles| {
        let invalid = Tls::load(files.clone()).err().unwrap();
        let rule = invalid.rule.replace(&format!("{}/", directory.path().display()), "");
        format!("{}: {}", invalid.settings[0], rule)
    };
    let cert = fs::read(&files.cert).unwrap();
    let mut errors = Vec::new();
    for text in [
        &b"hello"[..],
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n",
    ] {
        fs::write(&files.cert, text).unwrap();
        errors.push(error(&files));
    }
    fs::write(&files.cert, &cert).unwrap();
    for text in [
        &cert[..],
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        &fs::read(&other.key).unwrap(),
    ] {
        fs::write(&files.key, text).unwrap();
        errors.push(error(&files));
    }
    fs::remove_file(&files.key).unwrap();
    errors.push(error(&files));
    insta::assert_snapshot!(errors.join("\n"), @r"
    tls-cert: cert.pem has no certificate in PEM form
    tls-cert: cert.pem has a certificate that is not valid: unknown/unsupported ASN.1 DER tag: 0x00
    tls-cert: cert.pem ends before the end of a PEM section
    tls-key: key.pem has no private key in PEM form (PKCS#8, SEC1 or PKCS#1)
    tls-key: key.pem has a key with a passphrase, which the server cannot ask for: remove the passphrase
    tls-key: key.pem has no valid key of RSA, ECDSA or Ed25519
    tls-key: key.pem is not the key of the first certificate in cert.pem
    tls-key: key.pem cannot be read: No such file or directory (os error 2)
    ");
}

#[test]
fn a_certificate_needs_its_key() {
    let file = || Some("x.pem".into());
    let refused = |config: Config| config.check().unwrap_err().to_string();
    assert_eq!(refused(Config { tls_cert: file(), ..Config::default() }), "tls-cert: needs tls-key too");
    assert_eq!(refused(Config { tls_key: file(), ..Config::default() }), "tls-key: needs tls-cert too");
}
