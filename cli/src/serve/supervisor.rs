//! Messages to a service manager such as systemd, and the socket that it passes. Without one, nothing happens.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use listenfd::ListenFd;
use sd_notify::NotifyState;
use tidings_core::Tidings;
use tokio::time;

use crate::failure::Failure;

/// The socket takes the place of `--listen`.
pub(super) fn listener() -> Result<Option<TcpListener>, Failure> {
    let mut passed = ListenFd::from_env();
    match passed.len() {
        0 => Ok(None),
        1 => passed.take_tcp_listener(0).map_err(|e| {
            Failure::system(format!("the socket of the service manager is not a listening TCP socket: {e}"))
        }),
        n => Err(Failure::system(format!(
            "the service manager passes {n} sockets: write one ListenStream in tidings.socket"
        ))),
    }
}

pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

pub(super) fn reloaded() {
    notify(&[NotifyState::Ready]);
}

pub(super) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("finishing what runs")]);
}

/// Says that the server is ready, and then twice in each interval of the watchdog, if there is one, that it works: its runtime runs
/// this task and the database responds. It need not be ready: a restart does not empty a full disk, but it ends what hangs.
pub(super) fn ready(status: &str, tidings: Tidings) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
    let Some(interval) = sd_notify::watchdog_enabled().filter(|interval| !interval.is_zero()) else { return };
    tokio::spawn(async move {
        let mut turns = time::interval(interval / 2);
        loop {
            turns.tick().await;
            let tidings = tidings.clone();
            if tokio::task::spawn_blocking(move || tidings.ready()).await.is_ok() {
                notify(&[NotifyState::Watchdog]);
            }
        }
    });
}

fn notify(state: &[NotifyState<'_>]) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}

/// To a socket in the file system, or an abstract one, whose name begins with `@`. Source: `sd_notify(3)`.
fn send(socket: &OsStr, state: &[NotifyState<'_>]) -> io::Result<()> {
    let address = match socket.as_bytes() {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        [b'@', name @ ..] => <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
    };
    let lines: Vec<String> = state.iter().map(|state| format!("{state}\n")).collect();
    UnixDatagram::unbound()?.send_to_addr(lines.concat().as_bytes(), &address).map(drop)
}
