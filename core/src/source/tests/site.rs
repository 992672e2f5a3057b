//! A web site on this machine, which gives what a test wants.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Clone)]
pub(super) enum Page {
    /// A status, headers and a content.
    Content { status: u16, headers: String, body: Vec<u8> },
    /// A byte every now and then, without an end.
    Trickle,
    /// Bytes without an end.
    Flood,
}

/// A site. It runs until the end of the process.
pub(super) struct Site {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    pages: Mutex<HashMap<String, Page>>,
    /// The requests, each with its headers.
    requests: Mutex<Vec<String>>,
}

impl Site {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A reader that has enough closes the connection.
                thread::spawn(move || drop(shared.answer(socket)));
            }
        });
        Self { address, state }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets what a path answers. A content has an entity tag, so that an unchanged one is not sent again.
    pub(super) fn gives(&self, path: &str, body: &str) {
        let etag = format!("etag: \"{:x}\"\r\n", crate::source::seen::hash(&[body]));
        self.answers(path, 200, &etag, body.as_bytes());
    }

    pub(super) fn answers(&self, path: &str, status: u16, headers: &str, body: &[u8]) {
        self.sets(path, Page::Content { status, headers: headers.into(), body: body.into() });
    }

    pub(super) fn sets(&self, path: &str, page: Page) {
        self.state.pages.lock().unwrap().insert(path.into(), page);
    }

    /// Returns the requests since the last call.
    pub(super) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.requests.lock().unwrap())
    }
}

impl State {
    fn answer(&self, socket: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(socket);
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            if reader.read_line(&mut request)? == 0 {
                return Ok(());
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let page = self.pages.lock().unwrap().get(&path).cloned();
        let mut to = reader.into_inner();
        let tag = request
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("if-none-match: ").map(str::to_owned));
        self.requests.lock().unwrap().push(request);
        match page {
            None => to.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
            Some(Page::Content { headers, .. }) if tag.is_some_and(|tag| headers.contains(&tag)) => {
                to.write_all(b"HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n")
            }
            Some(Page::Content { status, headers, body }) => {
                let length = body.len();
                let head = format!("HTTP/1.1 {status} S\r\ncontent-length: {length}\r\n{headers}");
                to.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
                to.write_all(&body)
            }
            Some(Page::Trickle) => {
                to.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
                loop {
                    to.write_all(b"<")?;
                    thread::sleep(Duration::from_millis(50));
                }
            }
            Some(Page::Flood) => {
                to.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
                loop {
                    to.write_all(&[b'x'; 8 << 10])?;
                }
            }
        }
    }
}

pub(super) fn atom(title: &str, entries: &[String]) -> String {
    let entries = entries.concat();
    format!("<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>{title}</title>{entries}</feed>")
}

pub(super) fn entry(number: u32, title: &str) -> String {
    format!(
        "<entry><title>{title}</title><link href=\"https://a.example/{number}\"/>\
         <updated>2026-11-20T08:36:00Z</updated></entry>"
    )
}
