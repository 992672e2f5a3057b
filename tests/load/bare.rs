//! The baselines: the rates of warp alone, Argon2 alone and SQLite alone on the same machine.

use std::io::{Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use bytes::Bytes;
use rusqlite::Connection;
use serde_json::Value;
use tidings_tests::Process;
use warp::Filter as _;
use warp::http::header::{CONTENT_TYPE, ETAG, HeaderValue};
use warp::http::{Response, StatusCode};

use crate::Result;
use crate::client::LoadResult;
use crate::data;
use crate::figures::whole;

pub(crate) const PATH: &str = "/bare";
/// The argument that makes this program run as the bare server.
pub(crate) const SERVE: &str = "bare-warp";
/// The argument that makes this program run as the bare server that responds with 304.
pub(crate) const SERVE_UNCHANGED: &str = "bare-warp-304";

/// Returns the number of processors, which is also the number of threads of the Argon2 baseline.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Starts a bare warp server in a new process; it responds to every request for [`PATH`] with `body`.
pub(crate) fn warp_with(body: &[u8]) -> Result<(Process, SocketAddr)> {
    start(SERVE, body)
}

/// Starts a bare warp server in a new process; it responds to every request for [`PATH`] with 304 and this tag.
pub(crate) fn warp_unchanged(tag: &str) -> Result<(Process, SocketAddr)> {
    start(SERVE_UNCHANGED, tag.as_bytes())
}

fn start(argument: &str, input: &[u8]) -> Result<(Process, SocketAddr)> {
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(argument).stdin(file);
    Ok(Process::start(command)?)
}

/// Runs the bare warp server, which responds with the content of standard input as the body, or with 304 and as the tag,
/// until the process is stopped.
pub(crate) fn serve(is_unchanged: bool) -> Result<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let tag = is_unchanged.then(|| HeaderValue::from_bytes(&input)).transpose()?;
    let body = if is_unchanged { Bytes::new() } else { input.into() };
    let answer = warp::path!("bare").map(move || {
        let mut response = Response::new(body.clone());
        if let Some(tag) = &tag {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().insert(ETAG, tag.clone());
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // By which the client knows a success whose body does not say so.
        headers.insert("tidings-result", HeaderValue::from_static("success"));
        response
    });
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        warp::serve(answer).incoming(listener).run().await;
        Ok(())
    })
}

/// The Argon2id baseline: verifications with the parameters that tidings uses.
pub(crate) struct Argon {
    hasher: Argon2<'static>,
    hash: String,
}

const PASSWORD: &[u8] = b"correct horse battery staple";

impl Argon {
    pub(crate) fn new() -> Result<Self> {
        let params = Params::new(19_456, 2, 1, None)?;
        let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let hash = hasher.hash_password(PASSWORD)?.to_string();
        Ok(Self { hasher, hash })
    }

    /// Measures verifications per second, with one thread per processor.
    pub(crate) fn rate(&self, length: Duration) -> Result<LoadResult> {
        let rates: Vec<f64> = thread::scope(|scope| {
            let workers: Vec<_> =
                (0..processors()).map(|_| scope.spawn(|| self.rate_of_one(length))).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()?).collect()
        });
        if rates.len() < processors() {
            return Err("the bare verification failed".into());
        }
        Ok(LoadResult::of_rate(rates.iter().sum()))
    }

    fn rate_of_one(&self, length: Duration) -> Option<f64> {
        let hash = PasswordHash::new(&self.hash).ok()?;
        rate_of(length, || self.hasher.verify_password(PASSWORD, &hash).ok())
    }
}

/// The SQLite baseline: tables of acts and of texts, in which every row is inserted and synced by a separate
/// transaction.
pub(crate) struct Sqlite {
    connection: Connection,
    rows: i64,
}

impl Sqlite {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(
            "CREATE TABLE act (member INTEGER, post INTEGER, date INTEGER, PRIMARY KEY (member, post)) \
             WITHOUT ROWID; \
             CREATE TABLE record (key INTEGER PRIMARY KEY, member INTEGER, date INTEGER, text TEXT)",
        )?;
        Ok(Self { connection, rows: 0 })
    }

    /// Measures sequential commits of rows with this text per second.
    pub(crate) fn rate_of_texts(&mut self, text: &str, length: Duration) -> Result<LoadResult> {
        let sql = "INSERT INTO record (member, date, text) VALUES (?1, ?2, ?3)";
        self.commits(sql, length, |row| (row % 64, 1_700_000_000_000 + row, text))
    }

    /// Measures sequential commits of acts per second.
    pub(crate) fn rate_of_acts(&mut self, length: Duration) -> Result<LoadResult> {
        let sql = "INSERT INTO act (member, post, date) VALUES (?1, ?2, ?3)";
        self.commits(sql, length, |row| (row % 64, row, 1_700_000_000_000 + row))
    }

    fn commits<V: rusqlite::Params>(
        &mut self,
        sql: &str,
        length: Duration,
        values: impl Fn(i64) -> V,
    ) -> Result<LoadResult> {
        let (mut insert, rows) = (self.connection.prepare(sql)?, &mut self.rows);
        let rate = rate_of(length, || {
            *rows += 1;
            insert.execute(values(*rows)).ok()
        });
        rate.map(LoadResult::of_rate).ok_or_else(|| "the bare insert failed".into())
    }
}

/// The baseline of searches: an FTS5 index of titles and texts, without anything else of a post.
pub(crate) struct Fts(Connection);

impl Fts {
    /// Creates the index of the first `posts` posts in memory.
    pub(crate) fn new(posts: usize) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection
            .execute_batch("CREATE VIRTUAL TABLE texts USING fts5 (title, post, content = ''); BEGIN")?;
        let mut insert = connection.prepare("INSERT INTO texts (title, post) VALUES (?1, ?2)")?;
        for line in data::posts(posts).lines() {
            let post: Value = serde_json::from_str(line)?;
            insert.execute((post["title"].as_str(), post["post"].as_str()))?;
        }
        drop(insert);
        connection.execute_batch("COMMIT")?;
        Ok(Self(connection))
    }

    /// Measures searches for the 20 posts that match one of two words best, per second and one after the other.
    pub(crate) fn rate(&self, words: [&str; 2], length: Duration) -> Result<LoadResult> {
        let sql = "SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY bm25(texts, 4.0, 1.0) LIMIT 20";
        let (mut search, words) = (self.0.prepare(sql)?, words.join(" OR "));
        let mut find = || search.query_map([&words], |row| row.get::<_, i64>(0)).ok().map(Iterator::count);
        let rate = rate_of(length, || find().filter(|found| *found > 0).map(drop));
        rate.map(LoadResult::of_rate).ok_or_else(|| "the bare search found nothing".into())
    }
}

/// Repeats `work` for this long and returns its rate per second; `None` if `work` fails.
fn rate_of<T>(length: Duration, mut work: impl FnMut() -> Option<T>) -> Option<f64> {
    let (started, mut done) = (Instant::now(), 0);
    loop {
        work()?;
        done += 1;
        let elapsed = started.elapsed();
        if elapsed >= length {
            return Some(whole(done) / elapsed.as_secs_f64());
        }
    }
}
