//! The load: keep-alive connections that each ask, wait for the answer, and ask again.
//!
//! It shares the machine with what it measures, so it is made to cost little: one thread, requests without a
//! parser, answers read only as far as they must be. All it measures, bare or not, it measures the same way.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as Blocking};
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::Result;
use crate::answer::{self, Head};
use crate::histogram::Histogram;

/// Not counted at the beginning of a measurement, if it is as long: connections, caches and clocks of the
/// processor settle.
const WARM_UP: Duration = Duration::from_millis(50);
/// A measurement whose last answers take longer than this has hung.
const PATIENCE: Duration = Duration::from_secs(60);
/// An answer of a feed fits, so that it is mostly read at once.
const ANSWER_BYTES: usize = 64 * 1024;

/// Whether a request is what is being measured, or only has to be made between such.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counted,
    Aside,
}

/// What one connection asks: writes the next request, or says that there are no more.
pub(crate) type Script = Box<dyn FnMut(&mut Vec<u8>) -> Option<Kind>>;

/// A script that asks the same again and again.
pub(crate) fn always(request: Vec<u8>) -> Script {
    Box::new(move |out| {
        out.extend_from_slice(&request);
        Some(Kind::Counted)
    })
}

/// As many equal scripts as there shall be connections.
pub(crate) fn each(connections: usize, request: &[u8]) -> Vec<Script> {
    (0..connections).map(|_| always(request.to_vec())).collect()
}

/// A GET request, with the token of a member or without.
pub(crate) fn get(path: &str, token: Option<&str>) -> Vec<u8> {
    request("GET", path, token, "")
}

/// A POST request with a body.
pub(crate) fn post(path: &str, token: Option<&str>, content_type: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    let mut request = request("POST", path, token, &fields);
    request.extend_from_slice(body);
    request
}

/// A POST request with a JSON body.
pub(crate) fn post_json(path: &str, token: Option<&str>, body: &Value) -> Vec<u8> {
    post(path, token, "application/json", body.to_string().as_bytes())
}

fn request(method: &str, path: &str, token: Option<&str>, fields: &str) -> Vec<u8> {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{token}{fields}\r\n").into_bytes()
}

/// Asks once, on a connection of its own, and waits; the body of an answer that says success.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> Result<Vec<u8>> {
    let mut stream = Blocking::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut chunk = vec![0; ANSWER_BYTES];
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err("the connection was closed before the answer".into());
        }
        answer.extend_from_slice(&chunk[..read]);
        if let Some(head) = answer::head(&answer)?.filter(|head| answer.len() >= head.total) {
            answer::check(head, &answer)?;
            answer.drain(..head.length);
            return Ok(answer);
        }
    }
}

/// As [`ask`], the body read as JSON.
pub(crate) fn ask_json(address: SocketAddr, request: &[u8]) -> Result<Value> {
    Ok(serde_json::from_slice(&ask(address, request)?)?)
}

/// What a group of connections saw.
pub(crate) struct Tally {
    pub(crate) latency: Histogram,
    /// Counted answers a second.
    pub(crate) rate: f64,
    /// The share of its one processor that the client used; near 1, the client is the limit.
    pub(crate) client_busy: f64,
    errors: u64,
    first_error: Option<String>,
}

impl Tally {
    fn new() -> Self {
        Self::of_rate(0.0)
    }

    /// A rate that was found without this client.
    pub(crate) fn of_rate(rate: f64) -> Self {
        Self { latency: Histogram::new(), rate, client_busy: 0.0, errors: 0, first_error: None }
    }

    fn fail(&mut self, error: String) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    /// Refuses a measurement in which any answer was not the one asked for.
    fn checked(self) -> Result<Self> {
        match &self.first_error {
            Some(first) => Err(format!("{} wrong answers, the first: {first}", self.errors).into()),
            None => Ok(self),
        }
    }
}

/// What is counted: the answers between two moments.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Instant,
}

/// Runs groups of connections beside each other for that long; what each group saw.
///
/// # Errors
/// When a connection fails, an answer is wrong, or a script ends before the time is over.
pub(crate) fn run<const GROUPS: usize>(
    address: SocketAddr,
    groups: [Vec<Script>; GROUPS],
    length: Duration,
) -> Result<[Tally; GROUPS]> {
    let tallies = [(); GROUPS].map(|()| Rc::new(RefCell::new(Tally::new())));
    let drivers = groups
        .into_iter()
        .zip(&tallies)
        .flat_map(|(scripts, tally)| scripts.into_iter().map(|script| (script, Rc::clone(tally))));
    let client_busy = drive_all(address, drivers.collect(), Some(length))?;
    let mut checked = Vec::with_capacity(GROUPS);
    for tally in tallies {
        let mut tally = tally.replace(Tally::new()).checked()?;
        tally.client_busy = client_busy;
        tally.rate = whole(tally.latency.count()) / length.as_secs_f64();
        checked.push(tally);
    }
    checked.try_into().map_err(|_| "a group without a tally".into())
}

/// Runs scripts to their end, each on a connection of its own.
///
/// # Errors
/// When a connection fails or an answer is wrong.
pub(crate) fn run_to_the_end(address: SocketAddr, scripts: Vec<Script>) -> Result<()> {
    let tally = Rc::new(RefCell::new(Tally::new()));
    drive_all(address, scripts.into_iter().map(|script| (script, Rc::clone(&tally))).collect(), None)?;
    tally.replace(Tally::new()).checked().map(|_| ())
}

/// A count as a number to divide; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^53")]
pub(crate) fn whole(count: u64) -> f64 {
    count as f64
}

type Driver = (Script, Rc<RefCell<Tally>>);

fn drive_all(address: SocketAddr, drivers: Vec<Driver>, length: Option<Duration>) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut streams = Vec::with_capacity(drivers.len());
    for driver in drivers {
        let stream = Blocking::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        streams.push((stream, driver));
    }
    let (started, used) = (Instant::now(), processor_time());
    let begin = started + WARM_UP.min(length.unwrap_or_default());
    let span = length.map(|length| Span { begin, end: begin + length });
    let local = LocalSet::new();
    {
        let _inside = runtime.enter();
        for (stream, (script, tally)) in streams {
            let connection = Connection::new(TcpStream::from_std(stream)?);
            local.spawn_local(drive(connection, script, tally, span));
        }
    }
    let limit = length.unwrap_or_default() + PATIENCE;
    runtime
        .block_on(async { tokio::time::timeout(limit, local).await })
        .map_err(|_| "no answer for a minute")?;
    let busy = processor_time().saturating_sub(used).as_secs_f64();
    Ok(busy / started.elapsed().as_secs_f64())
}

/// The processor time of this thread, where the system tells.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = told.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

async fn drive(
    mut connection: Connection,
    mut script: Script,
    tally: Rc<RefCell<Tally>>,
    span: Option<Span>,
) {
    let mut sent = Instant::now();
    loop {
        connection.request.clear();
        let Some(kind) = script(&mut connection.request) else {
            if span.is_some() {
                tally.borrow_mut().fail("nothing left to ask: take fewer seconds or more posts".into());
            }
            return;
        };
        let outcome = connection.exchange().await;
        let now = Instant::now();
        let mut tally = tally.borrow_mut();
        if let Err(error) = outcome.and_then(|head| answer::check(head, &connection.answer)) {
            tally.fail(error);
            return;
        }
        let counted = span.is_some_and(|span| span.begin <= now && now < span.end);
        if counted && kind == Kind::Counted {
            tally.latency.record(now - sent);
        }
        if span.is_some_and(|span| now >= span.end) {
            return;
        }
        sent = now;
    }
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, request: Vec::with_capacity(1024), answer: vec![0; ANSWER_BYTES] }
    }

    /// Sends the request and reads the whole answer.
    async fn exchange(&mut self) -> Result<Head, String> {
        self.send().await.map_err(|error| format!("sending: {error}"))?;
        let (mut filled, mut known) = (0, None);
        loop {
            let read = self.receive(filled).await.map_err(|error| format!("receiving: {error}"))?;
            if read == 0 {
                return Err("the connection was closed before the answer".into());
            }
            filled += read;
            if known.is_none() {
                known = answer::head(&self.answer[..filled])?;
            }
            let expected = match known {
                Some(head) if filled >= head.total => return Ok(head),
                Some(head) => head.total,
                None => filled,
            };
            // Always room for more than is to come: a read that does not fill it tells that all was read.
            if self.answer.len() <= expected {
                self.answer.resize(expected + ANSWER_BYTES, 0);
            }
        }
    }

    async fn send(&mut self) -> std::io::Result<()> {
        let mut rest = self.request.as_slice();
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn receive(&mut self, filled: usize) -> std::io::Result<usize> {
        let mut room = ReadBuf::new(&mut self.answer[filled..]);
        poll_fn(|context| Pin::new(&mut self.stream).poll_read(context, &mut room)).await?;
        Ok(room.filled().len())
    }
}
