//! SQL from tests, with every value as text.

use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

const CONNECT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

/// A connection to a database. A thread of its own serves it, so that asynchronous tests can use it too: they must not
/// block on a runtime.
pub struct Connection {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

struct Request {
    sql: String,
    answer: Sender<Result<Vec<SimpleQueryMessage>, String>>,
}

impl Connection {
    /// Connects to the database of a URL. The error says why it cannot.
    pub fn open(url: &str) -> Result<Self, String> {
        let mut config: Config = url.parse().map_err(|error| message(&error))?;
        config.connect_timeout(CONNECT_MAX).application_name("tidings-test");
        let (requests, received) = channel();
        let (opened, is_open) = channel();
        let thread = thread::spawn(move || serve(&config, &opened, &received));
        is_open.recv().expect("the thread answers")?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Runs a statement, or several without arguments, and returns the rows, each value as text. `$1` in the statement
    /// is the first argument. An error begins with its SQLSTATE.
    pub fn try_query(&mut self, sql: &str, args: &[Value<'_>]) -> Result<Vec<Vec<Option<String>>>, String> {
        let messages = self.run(sql, args)?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    pub fn query(&mut self, sql: &str, args: &[Value<'_>]) -> Vec<Vec<Option<String>>> {
        self.try_query(sql, args).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Runs a statement, or several without arguments, and returns the number of rows that the last one changed.
    pub fn try_execute(&mut self, sql: &str, args: &[Value<'_>]) -> Result<u64, String> {
        let messages = self.run(sql, args)?;
        let counts = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::CommandComplete(count) => Some(count),
            _ => None,
        });
        Ok(counts.last().unwrap_or(0))
    }

    fn run(&mut self, sql: &str, args: &[Value<'_>]) -> Result<Vec<SimpleQueryMessage>, String> {
        let (answer, answered) = channel();
        let requests = self.requests.as_ref().expect("taken on drop only");
        requests
            .send(Request { sql: with_arguments(sql, args), answer })
            .expect("the thread runs until the drop");
        answered.recv().expect("the thread answers")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.requests.take();
        // The server has one connection less when this returns.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(config: &Config, opened: &Sender<Result<(), String>>, requests: &Receiver<Request>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let connected = runtime.block_on(config.connect(NoTls)).map_err(|error| message(&error));
    let (client, connection) = match connected {
        Ok(connected) => connected,
        Err(error) => return drop(opened.send(Err(error))),
    };
    runtime.spawn(connection);
    // The receivers of this and of answers may be gone: their test has failed.
    let _ = opened.send(Ok(()));
    for Request { sql, answer } in requests {
        let result = runtime.block_on(client.simple_query(&sql)).map_err(|error| message(&error));
        let _ = answer.send(result);
    }
}

/// Replaces `$1`, `$2`, … with the arguments.
fn with_arguments(sql: &str, args: &[Value<'_>]) -> String {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        match part[..digits].parse::<usize>().ok().and_then(|number| args.get(number.checked_sub(1)?)) {
            Some(value) => text.push_str(&literal(*value)),
            // The quote of a body such as $$…$$.
            None => text.extend(["$", &part[..digits]]),
        }
        text.push_str(&part[digits..]);
    }
    text
}

fn literal(value: Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        // In brackets, because a minus sign after another one would begin a comment.
        Value::Integer(number) => format!("({number})"),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

fn message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_replace_their_numbers_once() {
        let args = [Value::Text("it's $2"), Value::Integer(-7), Value::Null];
        assert_eq!(
            with_arguments("SELECT $1, 1-$2, $3, $1", &args),
            "SELECT 'it''s $2', 1-(-7), NULL, 'it''s $2'"
        );
        assert_eq!(with_arguments("DO $$ BEGIN END $$", &[]), "DO $$ BEGIN END $$");
        let many: Vec<_> = (1..=12).map(Value::Integer).collect();
        assert_eq!(with_arguments("$1 $11 $12", &many), "(1) (11) (12)");
    }
}
