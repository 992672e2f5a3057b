//! A web site with feeds: a small HTTP server that gives what a test wants.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A site on a free port of this machine. It runs until the end of the process.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    pages: Mutex<HashMap<String, String>>,
    /// The oldest first.
    requests: Mutex<Vec<String>>,
}

impl Site {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A server that was killed leaves an incomplete request.
                thread::spawn(move || drop(shared.answer(socket)));
            }
        });
        Self { address, state }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn gives(&self, path: &str, content: &str) {
        self.state.pages.lock().unwrap().insert(path.to_owned(), content.to_owned());
    }

    pub fn requests(&self, path: &str) -> usize {
        self.state.requests.lock().unwrap().iter().filter(|one| *one == path).count()
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
        self.requests.lock().unwrap().push(path);
        let (status, body) = page.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        let length = body.len();
        write!(
            reader.get_mut(),
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }
}

/// Returns a feed whose entries have these titles, and addresses with their numbers from 1.
pub fn feed(title: &str, entries: &[&str]) -> String {
    let entry = |(number, title): (usize, &&str)| {
        format!("<item><title>{title}</title><link>https://a.example/{number}</link></item>")
    };
    let entries: String = (1..).zip(entries).map(entry).collect();
    format!("<rss version=\"2.0\"><channel><title>{title}</title>{entries}</channel></rss>")
}
