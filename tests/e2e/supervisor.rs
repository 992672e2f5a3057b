//! A service manager in place of systemd: it is told what the server does, and passes a socket.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io, thread};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tidings_tests::{Caller, command, only_on_sqlite};

/// The longest time until the server tells something.
const PATIENCE: Duration = Duration::from_secs(60);

/// The socket on which a service manager is told what the server does.
struct Manager {
    directory: TempDir,
    told: UnixDatagram,
}

impl Manager {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let told = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { directory, told }
    }

    fn serve(&self) -> Command {
        let mut serve = command();
        serve.current_dir(self.directory.path()).args(["serve", "--listen", "127.0.0.1:0"]);
        serve.env("NOTIFY_SOCKET", self.directory.path().join("notify"));
        serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        serve
    }

    fn told(&self) -> String {
        let mut text = [0; 4096];
        let length = self.told.recv(&mut text).expect("the server tells something in time");
        String::from_utf8(text[..length].to_vec()).unwrap()
    }

    /// Waits until the server tells something.
    fn waits_for(&self, state: &str) -> String {
        loop {
            let told = self.told();
            if told.lines().any(|line| line == state) {
                return told;
            }
        }
    }
}

fn signal(server: &Child, signal: Signal) {
    kill_process(Pid::from_child(server), signal).unwrap();
}

#[test]
fn the_service_manager_is_told_when_the_server_is_ready_reloads_and_stops() {
    only_on_sqlite!("the server has a file of its own");
    let manager = Manager::new();
    let mut server = manager.serve().spawn().unwrap();
    let told = manager.told();
    let status = told.lines().find_map(|line| line.strip_prefix("STATUS=listening on http://")).unwrap();
    assert!(told.lines().any(|line| line == "READY=1"), "{told}");
    let address: SocketAddr = status.parse().unwrap();
    TcpStream::connect(address).expect("a server that is ready answers");

    signal(&server, Signal::HUP);
    let told = manager.told();
    assert!(told.contains("RELOADING=1") && told.contains("MONOTONIC_USEC="), "{told}");
    assert_eq!(manager.told().trim(), "READY=1");

    signal(&server, Signal::TERM);
    assert!(manager.told().contains("STOPPING=1"));
    assert!(server.wait().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
fn the_socket_of_the_service_manager_may_be_abstract_and_an_empty_name_is_none() {
    only_on_sqlite!("the server has a file of its own");
    let address = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name;
    let manager = Manager::new();
    let name = format!("tidings-test-{}", std::process::id());
    let told = UnixDatagram::bind_addr(&address(name.as_bytes()).unwrap()).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut server = manager.serve().env("NOTIFY_SOCKET", format!("@{name}")).spawn().unwrap();
    let mut text = [0; 4096];
    let length = told.recv(&mut text).unwrap();
    assert!(text[..length].starts_with(b"READY=1\n"));
    server.kill().unwrap();
    server.wait().unwrap();

    let mut serve = manager.serve();
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"] {
        serve.env(name, "");
    }
    let mut server = serve.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(server.stdout.take().unwrap()), &mut line).unwrap();
    signal(&server, Signal::TERM);
    let log = io::read_to_string(server.stderr.take().unwrap()).unwrap();
    assert!(server.wait().unwrap().success());
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn the_watchdog_is_told_that_the_server_works_and_not_when_it_hangs() {
    only_on_sqlite!("the server has a file of its own");
    let manager = Manager::new();
    let mut server = manager.serve().env("WATCHDOG_USEC", "400000").spawn().unwrap();
    manager.waits_for("READY=1");
    for _ in 0..3 {
        assert_eq!(manager.told().trim(), "WATCHDOG=1");
    }
    signal(&server, Signal::STOP);
    // What was sent before is still in the socket.
    manager.told.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    while manager.told.recv(&mut [0; 4096]).is_ok() {}
    assert_eq!(manager.told.recv(&mut [0; 4096]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    signal(&server, Signal::CONT);
    manager.told.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(manager.told().trim(), "WATCHDOG=1");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Starts the server with a passed socket, as the third descriptor of the process.
fn with_socket(manager: &Manager, socket: &impl std::os::fd::AsFd, sockets: u32) -> Child {
    fcntl_setfd(socket, FdFlags::empty()).unwrap();
    // The shell's process becomes the server, which checks that the socket is meant for its process.
    let serve = manager.serve();
    let mut shell = Command::new("bash");
    let number = socket.as_fd().as_raw_fd();
    let script = format!(
        "exec 3<&{number} 4<&{number}; export LISTEN_PID=$$ LISTEN_FDS={sockets}; exec \"$@\" 2>errors"
    );
    shell.args(["-c", &script, "bash"]).arg(serve.get_program()).args(serve.get_args());
    shell.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(manager.directory.path()).stdin(Stdio::null()).stdout(Stdio::null());
    shell.spawn().unwrap()
}

#[test]
fn a_connection_waits_on_the_passed_socket_while_the_server_restarts() {
    only_on_sqlite!("the server has a file of its own");
    let manager = Manager::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut server = with_socket(&manager, &socket, 1);
    assert!(manager.waits_for("READY=1").contains(&address.to_string()));
    signal(&server, Signal::TERM);
    assert!(server.wait().unwrap().success());
    // Nobody serves now. The request waits for the next server.
    let waiting = thread::spawn(move || Caller::to(address).get("/readyz").status);
    let mut server = with_socket(&manager, &socket, 1);
    assert_eq!(waiting.join().unwrap(), 200);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn sockets_that_are_of_no_use_are_named() {
    only_on_sqlite!("the server has a file of its own");
    let manager = Manager::new();
    let errors = |path: &Path| fs::read_to_string(path.join("errors")).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let datagram = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(with_socket(&manager, &socket, 2).wait().unwrap().code(), Some(3));
    assert!(errors(manager.directory.path()).contains("passes 2 sockets"));
    assert_eq!(with_socket(&manager, &datagram, 1).wait().unwrap().code(), Some(3));
    assert!(errors(manager.directory.path()).contains("not a listening TCP socket"));
    assert!(!manager.directory.path().join("tidings.db").exists(), "nothing is created");
}
