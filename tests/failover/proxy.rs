//! A TCP proxy in front of a database server, which cuts and disturbs connections at exact points of the protocol.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// The time for which a delayed COMMIT is held back: longer than a server takes to connect again.
const DELAY: Duration = Duration::from_millis(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All bytes pass.
    Pass,
    /// Every n-th COMMIT is cut off from its answer, in all the ways of [`Cut`] in turn.
    CutCommits(u64),
    /// Nothing passes, and nothing is closed, as with a network that loses all packets.
    Hold,
}

/// The ways in which a COMMIT and its answer are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The server has answered, and the answer is lost.
    AfterAnswer,
    /// The server gets the COMMIT and the end of the connection at once.
    AfterCommit,
    /// The server never gets the COMMIT.
    BeforeCommit,
    /// The client loses the connection, and the server gets the COMMIT later.
    LateCommit,
}

impl Cut {
    const ALL: [Self; 4] = [Self::AfterAnswer, Self::AfterCommit, Self::BeforeCommit, Self::LateCommit];
}

pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
    commits: AtomicU64,
    cuts: AtomicU64,
}

struct State {
    mode: Mode,
    is_closed: bool,
    /// The open connections by number, each with its two sockets.
    links: HashMap<u64, [TcpStream; 2]>,
    next: u64,
}

impl Proxy {
    pub(crate) fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { mode: Mode::Pass, is_closed: false, links: HashMap::new(), next: 0 };
        let shared = Arc::new(Shared {
            target,
            state: Mutex::new(state),
            changed: Condvar::new(),
            commits: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.state().is_closed {
                    return;
                }
                let shared = Arc::clone(&accepting);
                thread::spawn(move || shared.connect(&client));
            }
        });
        Self { address, shared }
    }

    /// Returns the address that takes the place of the server's.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what happens to all connections, also the open ones.
    pub(crate) fn set(&self, mode: Mode) {
        self.shared.state().mode = mode;
        self.shared.changed.notify_all();
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state().is_closed = true;
        self.shared.changed.notify_all();
        self.shared.cut_all();
        // Ends the accepting thread.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn cut_all(&self) {
        for link in std::mem::take(&mut self.state().links).into_values() {
            close(&link);
        }
    }

    fn pass(&self) {
        let held = |state: &mut State| state.mode == Mode::Hold && !state.is_closed;
        drop(self.changed.wait_while(self.state(), held).unwrap());
    }

    fn connect(self: &Arc<Self>, client: &TcpStream) {
        self.pass();
        // A server that does not run refuses: the client learns of it by the end of its connection.
        let Ok(server) = TcpStream::connect(self.target) else { return };
        let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
        let number = {
            let mut state = self.state();
            state.next += 1;
            let number = state.next;
            state.links.insert(number, [client.try_clone().unwrap(), server.try_clone().unwrap()]);
            number
        };
        let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let (swallow, shared) = (Arc::new(Mutex::new(false)), Arc::clone(self));
        let swallowing = Arc::clone(&swallow);
        let answers = thread::spawn(move || shared.answers(from, to, &swallowing));
        let _ = self.pass_requests(client, &server, &swallow);
        if !*swallow.lock().unwrap() {
            close_one(&server);
        }
        let _ = answers.join();
        self.state().links.remove(&number);
    }

    /// Passes the requests of a client on, message by message, until the connection ends.
    fn pass_requests(
        &self,
        client: &TcpStream,
        mut server: &TcpStream,
        swallow: &Mutex<bool>,
    ) -> io::Result<()> {
        // The first message has no type.
        let mut message = Vec::new();
        let mut has_type = false;
        loop {
            message.clear();
            read_message(client, has_type, &mut message)?;
            has_type = true;
            self.pass();
            if is_commit(&message)
                && let Some(cut) = self.cut_now()
            {
                match cut {
                    Cut::AfterAnswer => {
                        *swallow.lock().unwrap() = true;
                        server.write_all(&message)?;
                        // The other thread closes both ends after the answer.
                    }
                    Cut::AfterCommit => {
                        // Without it, the end could overtake the COMMIT.
                        server.write_all(&message)?;
                        server.shutdown(Shutdown::Write)?;
                        close_one(client);
                    }
                    Cut::BeforeCommit => {
                        close_one(client);
                        close_one(server);
                    }
                    Cut::LateCommit => {
                        *swallow.lock().unwrap() = true;
                        close_one(client);
                        thread::sleep(DELAY);
                        server.write_all(&message)?;
                    }
                }
                return Ok(());
            }
            server.write_all(&message)?;
        }
    }

    /// Returns how the next COMMIT is cut off, if it is.
    fn cut_now(&self) -> Option<Cut> {
        let Mode::CutCommits(every) = self.state().mode else { return None };
        if !self.commits.fetch_add(1, Ordering::Relaxed).is_multiple_of(every) {
            return None;
        }
        let cut = self.cuts.fetch_add(1, Ordering::Relaxed);
        Some(Cut::ALL[usize::try_from(cut).unwrap_or_default() % Cut::ALL.len()])
    }

    fn answers(&self, mut server: TcpStream, mut client: TcpStream, swallow: &Mutex<bool>) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = server.read(&mut buffer).unwrap_or(0);
            self.pass();
            let swallows = *swallow.lock().unwrap();
            if count == 0 || swallows || client.write_all(&buffer[..count]).is_err() {
                return close(&[client, server]);
            }
        }
    }
}

/// Reads a message: a type, unless it is the first one, the length without the type, and the rest.
fn read_message(mut stream: &TcpStream, has_type: bool, message: &mut Vec<u8>) -> io::Result<()> {
    let head = if has_type { 5 } else { 4 };
    message.resize(head, 0);
    stream.read_exact(message)?;
    let length = u32::from_be_bytes(message[head - 4..].try_into().expect("four bytes"));
    let rest = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
    message.resize(head + rest.ok_or(io::ErrorKind::InvalidData)?, 0);
    stream.read_exact(&mut message[head..])
}

fn is_commit(message: &[u8]) -> bool {
    message.first() == Some(&b'Q') && message.get(5..) == Some(b"COMMIT\0")
}

fn close(link: &[TcpStream; 2]) {
    link.iter().for_each(close_one);
}

fn close_one(stream: &TcpStream) {
    // The other end may have closed it.
    let _ = stream.shutdown(Shutdown::Both);
}
