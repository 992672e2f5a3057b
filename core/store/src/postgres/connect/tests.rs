//! Tests of connecting, with servers that answer a connection with prepared messages.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Instant;

use super::*;
use crate::location::Location;

/// Starts a server that sends `answer` after the first message of each connection, and then answers each query with an
/// error.
fn server(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 1_024]);
                let _ = stream.write_all(&answer);
                while stream.read(&mut [0; 1_024]).is_ok_and(|read| read > 0) {
                    let error = message(b'E', b"SERROR\0VERROR\0C42883\0Mno function\0\0");
                    let _ = stream.write_all(&[error, message(b'Z', b"I")].concat());
                }
            });
        }
    });
    address
}

/// Returns a message of the protocol.
///
/// Source: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], content].concat()
}

/// Returns the answer of a server that accepts the connection and reports these parameters.
fn accepting(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut answer = message(b'R', &[0; 4]);
    for (name, value) in parameters {
        answer.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    answer.extend(message(b'Z', b"I"));
    answer
}

fn primary() -> SocketAddr {
    server(accepting(&[("server_version", "15.18"), ("server_encoding", "UTF8"), ("in_hot_standby", "off")]))
}

fn standby() -> SocketAddr {
    server(accepting(&[("server_version", "15.18"), ("server_encoding", "UTF8"), ("in_hot_standby", "on")]))
}

/// Returns an address at which nothing listens.
fn nothing() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn connect_to(url: String, purpose: Purpose) -> Result<(), StoreError> {
    let Location::Postgres(url) = Location::from(url) else { panic!("a path") };
    let connector = Connector::new(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let on_notice: OnNotice = Arc::new(|_| {});
    runtime.block_on(connector.connect(purpose, &on_notice)).map(drop)
}

/// Connects to the hosts; `sslmode=disable` unless `query` says otherwise.
fn connect(purpose: Purpose, hosts: &[SocketAddr], query: &str) -> Result<(), ServerError> {
    let hosts: Vec<_> = hosts.iter().map(SocketAddr::to_string).collect();
    let mode = if query.contains("sslmode") { "" } else { "&sslmode=disable" };
    let url = format!("postgres://ann:Secret@{}/campus?{query}{mode}", hosts.join(","));
    match connect_to(url, purpose) {
        Ok(()) => Ok(()),
        Err(StoreError::Server(error)) => {
            assert!(!format!("{error} {error:?}").contains("Secret"), "{error}");
            Err(error)
        }
        Err(error) => panic!("{error}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_whose_queue_of_new_connections_is_full_has_none_free() {
    use socket2::{Domain, SockAddr, Socket, Type};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".s.PGSQL.5432");
    let listening = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    listening.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    listening.listen(0).unwrap();
    // The queue takes one more than its length.
    let _first = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let url = format!("postgres://ann@/campus?host={}", directory.path().display());
    let refused = connect_to(url, Purpose::Read).unwrap_err();
    assert!(matches!(refused, StoreError::Server(ServerError::TooManyConnections { .. })), "{refused}");
}

fn refusal(answer: Vec<u8>) -> ServerError {
    connect(Purpose::Write, &[server(answer)], "").unwrap_err()
}

#[test]
fn an_error_of_the_server_has_its_meaning() {
    let with = |code: &str| refusal(message(b'E', format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0").as_bytes()));
    assert!(matches!(with("28P01"), ServerError::WrongPassword { user } if user == "ann"));
    assert!(matches!(with("28000"), ServerError::Refused { .. }));
    assert!(matches!(with("55000"), ServerError::Rejected { .. }), "the database takes no connections");
    assert!(matches!(with("42704"), ServerError::Rejected { .. }), "an unknown option");
    let no_user = b"SFATAL\0VFATAL\0C28000\0Mno role\0RInitializeSessionUserId\0\0";
    assert!(matches!(refusal(message(b'E', no_user)), ServerError::NoUser { user, .. } if user == "\"ann\""));
    assert!(matches!(with("3D000"), ServerError::NoDatabase { database } if database == "campus"));
    assert!(
        matches!(with("42501"), ServerError::Denied { grant, .. } if grant == "GRANT CONNECT ON DATABASE \"campus\" TO \"ann\"")
    );
    assert!(matches!(with("53300"), ServerError::TooManyConnections { .. }));
    for (code, is_transient) in [("57P03", true), ("57P01", true), ("53300", true), ("3D000", false)] {
        assert_eq!(with(code).is_transient(), is_transient, "{code}");
    }
}

#[test]
fn a_server_of_another_kind_version_or_encoding_is_refused() {
    let cases = [
        ("9.6.24", None, "TooOld"),
        ("14.11 (Debian 14.11-1)", None, "TooOld"),
        ("13.0.0", Some("CockroachDB CCL v23.1.11"), "NotPostgres"),
        ("", None, "NotPostgres"),
        ("devel", None, "NotPostgres"),
    ];
    for (version, cockroach, expected) in cases {
        let error = check_version(version, cockroach).unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{version}: {error:?}");
    }
    for version in ["15.18 (Debian 15.18-0+deb12u1)", "16beta1", "17.2", "15.2-YB-2.25.0.0-b0"] {
        assert_eq!(check_version(version, None), Ok(()));
    }
    let latin = accepting(&[("server_version", "15.18"), ("server_encoding", "LATIN1")]);
    assert!(matches!(refusal(latin), ServerError::Encoding { found, .. } if found == "LATIN1"));
}

#[test]
fn a_write_needs_the_primary_and_a_read_takes_any_server() {
    let (one, two) = (standby(), primary());
    assert_eq!(connect(Purpose::Write, &[one, two], ""), Ok(()));
    assert_eq!(connect(Purpose::Read, &[one], ""), Ok(()));
    assert_eq!(connect(Purpose::Write, &[one], "target_session_attrs=any"), Ok(()));
    let error = connect(Purpose::Write, &[one, nothing()], "").unwrap_err();
    assert!(
        matches!(&error, ServerError::NoPrimary { hosts } if hosts.contains(&one.to_string())),
        "{error}"
    );
}

#[test]
fn hosts_that_do_not_answer_are_named_with_the_reason_and_delay_others_briefly() {
    let (closed, silent) = (nothing(), server(Vec::new()));
    let error = connect(Purpose::Write, &[closed, silent], "connect_timeout=1").unwrap_err();
    let expected = format!("no server answers ({closed}: Connection refused");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(error.to_string().contains(&format!("{silent}: it does not answer")), "{error}");
    let start = Instant::now();
    assert_eq!(connect(Purpose::Write, &[silent, primary()], "connect_timeout=60"), Ok(()));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_server_without_tls_is_refused_if_tls_is_required() {
    for mode in ["require", "verify-full"] {
        let error =
            connect(Purpose::Write, &[server(b"N".to_vec())], &format!("sslmode={mode}")).unwrap_err();
        assert!(matches!(&error, ServerError::Tls { cause, .. } if cause.contains("TLS")), "{error}");
    }
    let missing = Location::from("postgres://u@h/d?sslmode=verify-ca&sslrootcert=/nowhere.pem");
    let Location::Postgres(url) = missing else { panic!("a path") };
    let error = Connector::new(&url).err().unwrap().to_string();
    assert!(error.contains("/nowhere.pem"), "{error}");
}
