//! The server under attack, its resource use, and the victim's requests.

use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use serde_json::json;
use tidings_tests::{Server, wait_until};

use crate::client::{Connection, Latencies};
use crate::data;

/// The maximum number of posts in a feed response.
const FEED_POSTS: usize = 150;

pub(crate) struct World {
    pub(crate) posts: usize,
    pub(crate) length: Duration,
    pub(crate) same_address: bool,
}

impl World {
    pub(crate) fn serve(&self) -> Server {
        let server = Server::start();
        let output = server.cli_with_input(["--json", "post", "import", "-"], data::posts(self.posts));
        assert_eq!(output.succeeded().json()["inserted"], json!(self.posts));
        let anyone = server.anyone();
        let shown = self.posts.min(FEED_POSTS);
        wait_until("the feeds show the posts", || {
            let feed = anyone.get("/get_popularity_newsfeed").body;
            feed["newsfeed"].as_array().is_some_and(|posts| posts.len() == shown)
        });
        let _ = server.cli(["words", "train"]).succeeded();
        server
    }

    /// Returns an address of the attacker: the victim's address, or one in a new network for each number.
    pub(crate) fn attacker(&self, number: usize) -> Ipv4Addr {
        let [_, _, high, low] = u32::try_from(number).unwrap_or_default().to_be_bytes();
        if self.same_address { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(127, 66, high, low.max(1)) }
    }

    pub(crate) fn one_attacker(&self) -> Ipv4Addr {
        self.attacker(1)
    }

    /// Sends `rate` requests per second on one keep-alive connection, and returns their latencies.
    pub(crate) fn probe(&self, server: &Server, request: &[u8], rate: u32) -> Latencies {
        probe(server, request, rate, self.length)
    }
}

/// Sends requests like [`World::probe`], for `length`.
pub(crate) fn probe(server: &Server, request: &[u8], rate: u32, length: Duration) -> Latencies {
    let mut latencies = Latencies::default();
    let mut connection = None;
    let begin = Instant::now();
    for turn in 0.. {
        let due = begin + Duration::from_secs(1) * turn / rate;
        if due.max(Instant::now()) >= begin + length {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let open = connection.take().or_else(|| Connection::open(Ipv4Addr::LOCALHOST, server.address()).ok());
        // Measure from the due time, so that a slow response also counts for the requests that it delays.
        match open.and_then(|mut open| Some((open.ask(request).ok()?, open))) {
            Some((answer, open)) => {
                latencies.add(due.elapsed(), answer.is_success());
                connection = Some(open);
            }
            None => latencies.add(due.elapsed(), false),
        }
    }
    latencies
}

/// Runs `victims` clients that each repeat a request on one connection without a pause; returns all latencies.
pub(crate) fn ask_always(server: &Server, request: &[u8], victims: usize, length: Duration) -> Latencies {
    let end = Instant::now() + length;
    let ask = || {
        let mut latencies = Latencies::default();
        let mut connection = Connection::open(Ipv4Addr::LOCALHOST, server.address()).unwrap();
        while Instant::now() < end {
            let begin = Instant::now();
            let answer = connection.ask(request);
            latencies.add(begin.elapsed(), answer.is_ok_and(|answer| answer.is_success()));
        }
        latencies
    };
    std::thread::scope(|scope| {
        let victims: Vec<_> = (0..victims).map(|_| scope.spawn(ask)).collect();
        let seen = victims.into_iter().map(|victim| victim.join().expect("no victim panics"));
        seen.fold(Latencies::default(), Latencies::and)
    })
}

pub(crate) fn memory_mb(server: &Server) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1_024.0
}

pub(crate) fn socket_memory_mb() -> f64 {
    let text = fs::read_to_string("/proc/net/sockstat").unwrap();
    let line = text.lines().find(|line| line.starts_with("TCP:")).unwrap();
    let pages = line.split_whitespace().skip_while(|word| *word != "mem").nth(1).unwrap();
    pages.parse::<f64>().unwrap() * 4_096.0 / 1e6
}

pub(crate) fn database_mb(server: &Server) -> f64 {
    let path = server.database().to_str().unwrap();
    let length = |path: &str| fs::metadata(path).map_or(0, |file| file.len());
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bytes = (length(path) + length(&format!("{path}-wal"))) as f64;
    bytes / 1e6
}
