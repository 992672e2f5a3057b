//! The load generator: keep-alive connections that each send a request, wait for the response, and send the next.
//!
//! It shares the machine with the server, so it uses little processor time: one thread, prepared requests, and
//! responses that are parsed only as far as necessary. It measures tidings and the baselines in the same way.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream as Blocking};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::Result;
use crate::answer::{self, Head};
use crate::figures::whole;
use crate::histogram::Histogram;

/// The warm-up before a measurement, at most as long as the measurement: connections, caches and processor
/// clocks settle.
const WARM_UP: Duration = Duration::from_millis(50);
/// The timeout for the last responses of a measurement.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The read buffer size; most feed responses fit and need a single read.
const ANSWER_BYTES: usize = 64 * 1024;

/// Whether a request is measured, or only prepares the next measured one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counted,
    /// It is measured, and has latencies of its own besides.
    CountedAs(Noted),
    Aside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    Feed,
    Like,
}

/// The requests of one connection: writes the next request, or returns `None` when there are no more.
pub(crate) type Script = Box<dyn FnMut(&mut Vec<u8>) -> Option<Kind>>;

pub(crate) fn always(request: Vec<u8>) -> Script {
    Box::new(move |out| {
        out.extend_from_slice(&request);
        Some(Kind::Counted)
    })
}

/// Returns the first requests of a script.
pub(crate) fn first(mut script: Script, requests: usize) -> Script {
    let mut left = requests;
    Box::new(move |out| {
        left = left.checked_sub(1)?;
        script(out)
    })
}

/// Returns one script per connection; each repeats `request`.
pub(crate) fn each(connections: usize, request: &[u8]) -> Vec<Script> {
    (0..connections).map(|_| always(request.to_vec())).collect()
}

pub(crate) fn get(path: &str, token: Option<&str>) -> Vec<u8> {
    request("GET", path, token, "")
}

pub(crate) fn get_unless(path: &str, tag: &str) -> Vec<u8> {
    request("GET", path, None, &format!("If-None-Match: {tag}\r\n"))
}

pub(crate) fn post(path: &str, token: Option<&str>, content_type: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
    let mut request = request("POST", path, token, &fields);
    request.extend_from_slice(body);
    request
}

pub(crate) fn post_json(path: &str, token: Option<&str>, body: &Value) -> Vec<u8> {
    post(path, token, "application/json", body.to_string().as_bytes())
}

fn request(method: &str, path: &str, token: Option<&str>, fields: &str) -> Vec<u8> {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    // With the user agent of an app, because guests without one are no visitors, which cost less.
    let head = "Host: localhost\r\nUser-Agent: okhttp/4.12.0\r\n";
    format!("{method} {path} HTTP/1.1\r\n{head}{token}{fields}\r\n").into_bytes()
}

/// Sends one request on a new connection, and returns the body of the successful response.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> Result<Vec<u8>> {
    let (head, mut answer) = exchange(address, request)?;
    answer::check(head, &answer)?;
    answer.drain(..head.length);
    Ok(answer)
}

/// Requests a path on a new connection, and returns the tag of the response.
pub(crate) fn tag(address: SocketAddr, path: &str) -> Result<String> {
    let (head, answer) = exchange(address, &get(path, None))?;
    let mut lines = str::from_utf8(&answer[..head.length])?.lines().filter_map(|line| line.split_once(": "));
    let tag = lines.find(|(name, _)| name.eq_ignore_ascii_case("etag"));
    let (_, tag) = tag.ok_or_else(|| format!("the response of {path} has no tag"))?;
    Ok(tag.to_owned())
}

pub(crate) fn page(address: SocketAddr, path: &str) -> Result<String> {
    let (head, mut answer) = exchange(address, &get(path, None))?;
    if head.status != 200 {
        return Err(format!("{path} was answered with {}", head.status).into());
    }
    answer.drain(..head.length);
    Ok(String::from_utf8(answer)?)
}

/// Sends one request on a new connection, and returns the whole response with its head.
fn exchange(address: SocketAddr, request: &[u8]) -> Result<(Head, Vec<u8>)> {
    let mut stream = Blocking::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut chunk = vec![0; ANSWER_BYTES];
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err("the connection was closed before the response".into());
        }
        answer.extend_from_slice(&chunk[..read]);
        if let Some(head) = answer::head(&answer)?.filter(|head| answer.len() >= head.total) {
            return Ok((head, answer));
        }
    }
}

/// Sends a request like [`ask`], and parses the body as JSON.
pub(crate) fn ask_json(address: SocketAddr, request: &[u8]) -> Result<Value> {
    Ok(serde_json::from_slice(&ask(address, request)?)?)
}

pub(crate) struct LoadResult {
    pub(crate) latency: Histogram,
    /// The latencies of each kind in [`Noted`].
    pub(crate) noted: [Histogram; 2],
    /// Counted responses per second.
    pub(crate) rate: f64,
    /// The number of all counted requests that were answered, also before and after the measured time.
    pub(crate) answered: u64,
    /// The share of one processor that the client used; close to 1, the client is the bottleneck.
    pub(crate) client_busy: f64,
    errors: u64,
    first_error: Option<String>,
}

impl LoadResult {
    fn new() -> Self {
        Self::of_rate(0.0)
    }

    /// Wraps a rate that was measured without this client.
    pub(crate) fn of_rate(rate: f64) -> Self {
        let (latency, noted) = (Histogram::new(), [Histogram::new(), Histogram::new()]);
        Self { latency, noted, rate, answered: 0, client_busy: 0.0, errors: 0, first_error: None }
    }

    fn fail(&mut self, error: String) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    /// Returns an error if any response was not a success.
    fn checked(self) -> Result<Self> {
        match &self.first_error {
            Some(first) => Err(format!("{} failed responses, the first: {first}", self.errors).into()),
            None => Ok(self),
        }
    }
}

/// The time span in which responses are counted.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Instant,
}

/// Runs groups of connections concurrently for `length`, and returns the measurements of each group.
pub(crate) fn run<const GROUPS: usize>(
    address: SocketAddr,
    groups: [Vec<Script>; GROUPS],
    length: Duration,
) -> Result<[LoadResult; GROUPS]> {
    let results = [(); GROUPS].map(|()| Rc::new(RefCell::new(LoadResult::new())));
    let drivers = groups
        .into_iter()
        .zip(&results)
        .flat_map(|(scripts, result)| scripts.into_iter().map(|script| (script, Rc::clone(result))));
    let client_busy = drive_all(address, drivers.collect(), Some(length))?;
    let mut checked = Vec::with_capacity(GROUPS);
    for result in results {
        let mut result = result.replace(LoadResult::new()).checked()?;
        result.client_busy = client_busy;
        result.rate = whole(result.latency.count()) / length.as_secs_f64();
        checked.push(result);
    }
    checked.try_into().map_err(|_| "a group has no measurements".into())
}

/// Runs each script to its end on a separate connection.
pub(crate) fn run_to_the_end(address: SocketAddr, scripts: Vec<Script>) -> Result<()> {
    let result = Rc::new(RefCell::new(LoadResult::new()));
    drive_all(address, scripts.into_iter().map(|script| (script, Rc::clone(&result))).collect(), None)?;
    result.replace(LoadResult::new()).checked().map(|_| ())
}

type Driver = (Script, Rc<RefCell<LoadResult>>);

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
        for (stream, (script, result)) in streams {
            let connection = Connection::new(TcpStream::from_std(stream)?);
            local.spawn_local(drive(connection, script, result, span));
        }
    }
    let limit = length.unwrap_or_default() + ANSWER_TIMEOUT;
    runtime
        .block_on(async { tokio::time::timeout(limit, local).await })
        .map_err(|_| "no response for a minute")?;
    let busy = processor_time().saturating_sub(used).as_secs_f64();
    Ok(busy / started.elapsed().as_secs_f64())
}

/// Returns the processor time of this thread, where the system reports it.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = told.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

async fn drive(
    mut connection: Connection,
    mut script: Script,
    result: Rc<RefCell<LoadResult>>,
    span: Option<Span>,
) {
    let mut sent = Instant::now();
    loop {
        connection.request.clear();
        let Some(kind) = script(&mut connection.request) else {
            if span.is_some() {
                result
                    .borrow_mut()
                    .fail("the client has no more requests: use fewer seconds or more posts".into());
            }
            return;
        };
        let outcome = connection.exchange().await;
        let now = Instant::now();
        let mut result = result.borrow_mut();
        if let Err(error) = outcome.and_then(|head| answer::check(head, &connection.answer)) {
            result.fail(error);
            return;
        }
        if kind != Kind::Aside {
            result.answered += 1;
            if span.is_some_and(|span| span.begin <= now && now < span.end) {
                result.latency.record(now - sent);
                if let Kind::CountedAs(noted) = kind {
                    result.noted[noted as usize].record(now - sent);
                }
            }
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

    async fn exchange(&mut self) -> Result<Head, String> {
        self.stream.write_all(&self.request).await.map_err(|error| format!("sending: {error}"))?;
        let (mut filled, mut known) = (0, None);
        loop {
            let read = self.stream.read(&mut self.answer[filled..]).await;
            let read = read.map_err(|error| format!("receiving: {error}"))?;
            if read == 0 {
                return Err("the connection was closed before the response".into());
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
            // Keep room beyond the expected end: a read that does not fill the buffer has read everything.
            if self.answer.len() <= expected {
                self.answer.resize(expected + ANSWER_BYTES, 0);
            }
        }
    }
}
