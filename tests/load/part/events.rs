//! Measures what open streams of live events cost: the memory of the server, and the rate of a feed beside them.

use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use super::MANY;
use crate::Result;
use crate::client::{ask, ask_json, each, get, post_json, whole};
use crate::data;
use crate::measure::{Turns, one_group};
use crate::program::{self, Program};
use crate::server::Server;
use crate::table::Row;
use crate::world;

/// The wanted 10,000 listeners, less what a limit of 20,000 open files, which many systems have, leaves for other uses.
const LISTENERS: usize = 9_800;
/// 300 MB for 10,000 listeners.
const MEMORY_MB: f64 = 294.0;
const RATIO: f64 = 0.95;
/// A client may have three quarters of the streams, so the listeners have two addresses.
const CLIENTS: [[u8; 4]; 2] = [[127, 0, 0, 2], [127, 0, 0, 3]];
/// Connections for twice the listeners, because streams take at most half of them.
const SETTINGS: [&str; 4] = ["--max-connections", "20000", "--words-retrain-after", "0"];
/// The interval of the events.
const EVENT_EVERY: Duration = Duration::from_secs(1);
/// The time in which all listeners must get the last event.
const LAST_MAX: Duration = Duration::from_secs(5);

const FEED: &str = "/get_popularity_newsfeed";

pub(super) fn events(program: &Program, turns: &Turns, posts: usize) -> Result<Vec<Row>> {
    let start = || {
        let server = program.serve(&program.init()?, &SETTINGS)?;
        let token = program::administrator(server.address())?;
        world::import(server.address(), &token, &data::posts(posts), posts)?;
        world::wait_for_feeds(server.address(), posts)?;
        Ok::<_, Box<dyn std::error::Error>>((server, token))
    };
    let ((alone, _), (server, token)) = (start()?, start()?);
    let request = get(FEED, None);
    let compare = |what: &str| {
        let mut limit = |slice| one_group(alone.address(), each(MANY, &request), slice);
        let measured = turns.measure(&server, &mut [&mut limit], || each(MANY, &request))?;
        Ok::<_, Box<dyn std::error::Error>>(Row::measured(what, &measured).against(measured.limits[0], RATIO))
    };
    ask(server.address(), &request)?;
    let before = server.memory_kb("VmRSS")? / 1024.0;
    let listeners = listen(server.address())?;
    let memory = server.memory_kb("VmRSS")? / 1024.0;
    let idle = compare("feed beside idle listeners")?.note("the limit is a server without listeners");
    let address = server.address();
    let (is_over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let busy = thread::scope(|scope| {
        let publisher = scope.spawn(|| publish(address, &token, &is_over, &sent).map_err(|e| e.to_string()));
        let busy = compare("feed beside listeners with events");
        is_over.store(true, Ordering::Relaxed);
        publisher.join().map_err(|_| "the publisher panicked")??;
        busy
    })?;
    let peak = server.memory_kb("VmRSS")? / 1024.0;
    let (sent, lost) = (sent.into_inner(), missing(listeners, &last_notice(&server)?)?);
    let note = format!("{sent} notices and the counts of the day, {lost} listeners without the last notice");
    Ok(vec![
        idle,
        busy.note(note),
        Row::new("memory of listeners", peak - before, "MB").at_most(MEMORY_MB).note(format!(
            "{LISTENERS} listeners; {before:.0} MB without, {memory:.0} MB with idle ones, {:.1} kB each",
            (memory - before) * 1024.0 / whole(LISTENERS as u64),
        )),
    ])
}

/// Opens the streams, and reads their heads.
fn listen(address: SocketAddr) -> Result<Vec<TcpStream>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let request = get("/events", None);
    let open = async |client: [u8; 4]| -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((client, 0).into())?;
        let mut stream = socket.connect(address).await?;
        stream.write_all(&request).await?;
        let mut head = Vec::new();
        while !head.windows(9).any(|part| part == b"retry: 30") {
            if stream.read_buf(&mut head).await? == 0 {
                return Err("a stream was closed".into());
            }
        }
        if head.starts_with(b"HTTP/1.1 200 ") {
            Ok(stream.into_std()?)
        } else {
            Err("a stream was refused".into())
        }
    };
    runtime.block_on(async {
        let mut listeners = Vec::with_capacity(LISTENERS);
        for n in 0..LISTENERS {
            listeners.push(open(CLIENTS[n % CLIENTS.len()]).await?);
        }
        Ok(listeners)
    })
}

/// Publishes a notice in each interval until `is_over`.
fn publish(address: SocketAddr, token: &str, is_over: &AtomicBool, sent: &AtomicUsize) -> Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        let number = sent.fetch_add(1, Ordering::Relaxed) as u64;
        ask_json(address, &post_json("/insert_notice", Some(token), &data::notice(number)))?;
        thread::sleep(EVENT_EVERY);
    }
    Ok(())
}

/// Returns the id of the last notice.
fn last_notice(server: &Server) -> Result<String> {
    let list = ask_json(server.address(), &get("/get_all_notice", None))?;
    Ok(list["notice_list"][0]["_id"].as_str().ok_or("no notice was sent")?.to_owned())
}

/// Returns the number of listeners that do not get the notice with this id.
fn missing(mut listeners: Vec<TcpStream>, id: &str) -> Result<usize> {
    let (begin, mut chunk) = (Instant::now(), vec![0; 256 * 1024]);
    while begin.elapsed() < LAST_MAX && !listeners.is_empty() {
        let mut waiting = Vec::new();
        for mut listener in listeners {
            let mut got = Vec::new();
            loop {
                match listener.read(&mut chunk) {
                    Ok(0) => return Err("a stream was closed".into()),
                    Ok(read) => got.extend_from_slice(&chunk[..read]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.into()),
                }
            }
            if !got.windows(id.len()).any(|part| part == id.as_bytes()) {
                waiting.push(listener);
            }
        }
        listeners = waiting;
    }
    Ok(listeners.len())
}
