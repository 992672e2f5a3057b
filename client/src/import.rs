use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

use tidings_core::Error as CoreError;
use tidings_core::error::Code;
use tidings_core::import::{Import, Progress, Report};

use crate::error::{Error, Result};
use crate::http::{READ, line_ends};
use crate::{Place, Service};

impl Service {
    /// On a server, `progress` receives the number of lines that were sent, and stops the import with [`Error::Stopped`].
    pub fn import<I: Import>(
        &self,
        operation: I,
        mut input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report> {
        let server = match &self.0 {
            Place::Database(database) => {
                return Ok(operation.import(&database.tidings, &database.caller, input, progress)?);
            }
            Place::Server(server) => server,
        };
        let head = input.fill_buf().map_err(CoreError::Input)?;
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let media_type = operation.media_type(head);
        let mut input = Watched { input, progress, bytes: 0, lines: 0, failure: None };
        let request = server.request_of(&operation)?;
        let response = server.send(&request, Some((&mut input, media_type)), READ);
        let answer = response.and_then(|response| server.decode(&server.read(response)?));
        match (answer, input.failure) {
            // The request failed because the input did.
            (Err(Error::Unreachable { .. }), Some(failure))
                if failure.kind() == io::ErrorKind::Interrupted && input.bytes > 0 =>
            {
                Err(Error::Stopped)
            }
            (Err(Error::Unreachable { .. }), Some(failure)) => Err(CoreError::Input(failure).into()),
            // A server refuses an empty body, because a client may have forgotten it. An empty file is an empty import.
            (Err(error), _) if input.bytes == 0 && error.code() == Some(Code::MalformedBody) => {
                Ok(Report::empty::<I>())
            }
            (answer, _) => answer,
        }
    }
}

struct Watched<'p, R> {
    input: R,
    progress: Progress<'p>,
    bytes: usize,
    lines: u64,
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
