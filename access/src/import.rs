//! Imports.

use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use tidings_core::Error as CoreError;
use tidings_core::act::{self, ImportActs};
use tidings_core::error::Code;
use tidings_core::import::{MoveReport, Progress};
use tidings_core::member_import::{self, ImportMembers};
use tidings_core::operation::{CSV, JSON, NDJSON, Stream};
use tidings_core::post::{self, Format, ImportPosts, ImportReport};
use tidings_core::roster_import::{self, ImportRoster, RosterReport};

use crate::Service;
use crate::error::{Error, Result};
use crate::http::{Server, line_ends};

/// Of RSS too: the server looks at the beginning.
const XML_FEED: &str = "application/atom+xml";
const JSON_FEED: &str = "application/feed+json";

impl Service {
    /// Imports posts. On a server, `progress` receives the number of lines that were sent.
    ///
    /// # Errors
    /// Those of [`post::import_as`].
    pub fn import_posts(
        &self,
        format: Format,
        mut input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<ImportReport> {
        match &self.0 {
            crate::Place::Database(database) => {
                Ok(post::import_as(&database.tidings, &database.caller, format, input, progress)?)
            }
            crate::Place::Server(server) => {
                let content_type = match format {
                    Format::Json => json_type(&mut input)?,
                    Format::Csv => CSV,
                    Format::Feed if begins_with(&mut input, b"<")? => XML_FEED,
                    Format::Feed => JSON_FEED,
                };
                server.import(&ImportPosts {}, content_type, input, progress)
            }
        }
    }

    /// Imports members of another system.
    ///
    /// # Errors
    /// Those of [`member_import::import_members`].
    pub fn import_members(&self, mut input: impl BufRead, progress: Progress<'_>) -> Result<MoveReport> {
        match &self.0 {
            crate::Place::Database(database) => {
                Ok(member_import::import_members(&database.tidings, &database.caller, input, progress)?)
            }
            crate::Place::Server(server) => {
                let content_type = json_type(&mut input)?;
                server.import(&ImportMembers {}, content_type, input, progress)
            }
        }
    }

    /// Imports what members did in another system.
    ///
    /// # Errors
    /// Those of [`act::import`].
    pub fn import_acts(&self, mut input: impl BufRead, progress: Progress<'_>) -> Result<MoveReport> {
        match &self.0 {
            crate::Place::Database(database) => {
                Ok(act::import(&database.tidings, &database.caller, input, progress)?)
            }
            crate::Place::Server(server) => {
                let content_type = json_type(&mut input)?;
                server.import(&ImportActs {}, content_type, input, progress)
            }
        }
    }

    /// Imports the roster of the university.
    ///
    /// # Errors
    /// Those of [`roster_import::import_roster`].
    pub fn import_roster(&self, input: impl BufRead, progress: Progress<'_>) -> Result<RosterReport> {
        match &self.0 {
            crate::Place::Database(database) => {
                Ok(roster_import::import_roster(&database.tidings, &database.caller, input, progress)?)
            }
            crate::Place::Server(server) => server.import(&ImportRoster {}, CSV, input, progress),
        }
    }
}

impl Server {
    /// Sends an import, and asks `progress` after each part whether to continue.
    fn import<T: DeserializeOwned + Default>(
        &self,
        operation: &impl Stream,
        content_type: &'static str,
        input: impl Read,
        progress: Progress<'_>,
    ) -> Result<T> {
        let mut input = Watched { input, progress, bytes: 0, lines: 0, failure: None };
        let answer = self.upload(&self.request_of(operation)?.path(), content_type, &mut input);
        match (answer, input.failure) {
            // The request failed because the input did.
            (Err(Error::Unreachable { .. }), Some(failure))
                if failure.kind() == io::ErrorKind::Interrupted && input.bytes > 0 =>
            {
                Err(Error::Stopped)
            }
            (Err(Error::Unreachable { .. }), Some(failure)) => Err(CoreError::Input(failure).into()),
            // A server refuses an empty body, because a client may have forgotten it. An empty file is an import of nothing.
            (Err(error), _) if input.bytes == 0 && error.code() == Some(Code::MalformedBody) => {
                Ok(T::default())
            }
            (answer, _) => answer,
        }
    }
}

/// The input of an import, whose lines are counted.
struct Watched<'p, R> {
    input: R,
    progress: Progress<'p>,
    bytes: usize,
    lines: u64,
    /// Why the input could not be read to its end.
    failure: Option<io::Error>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into).and_then(|length| {
            self.bytes += length;
            self.lines += line_ends(&into[..length]);
            match (self.progress)(self.lines) {
                ControlFlow::Continue(()) => Ok(length),
                ControlFlow::Break(()) => Err(io::ErrorKind::Interrupted.into()),
            }
        });
        read.map_err(|error| {
            let kind = match error.kind() {
                // Readers try again after `Interrupted`.
                io::ErrorKind::Interrupted => io::ErrorKind::ConnectionAborted,
                kind => kind,
            };
            self.failure = Some(error);
            kind.into()
        })
    }
}

/// Returns the type of a file with one JSON object a line, or with one array.
fn json_type(input: &mut impl BufRead) -> Result<&'static str> {
    Ok(if begins_with(input, b"[")? { JSON } else { NDJSON })
}

/// Returns whether a text begins with these bytes, after a byte order mark and white space.
fn begins_with(input: &mut impl BufRead, start: &[u8]) -> Result<bool> {
    let head = input.fill_buf().map_err(CoreError::Input)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    Ok(head.starts_with(start))
}
