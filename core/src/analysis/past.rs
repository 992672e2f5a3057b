//! Requests of long ago: recorded as they would have been when they were made, with the visits of who made them.

use super::calendar::Calendar;
use super::journal::{self, Record};
use super::log::{Operation, Requests};
use super::visitor::{Guest, Network, VisitorNumber};
use crate::account::{Admin, Seen};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::id::MemberKey;
use crate::store::{TimeSlice, Tx};

/// A request that was answered long ago.
pub(crate) struct Request {
    pub(crate) at: Timestamp,
    pub(crate) operation: Operation,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) who: Who,
}

/// Who made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The member with this key.
    Member(MemberKey),
    /// A guest by a number, from 1 on, which is theirs for a day.
    Guest(i64),
    Crawler,
}

impl Who {
    /// As the table of visitors has them.
    pub(crate) fn number(self) -> VisitorNumber {
        match self {
            Self::Member(key) => key.into(),
            // Each in a network of their own, and told apart by the lowest bits as well.
            Self::Guest(number) => VisitorNumber::guest(number << 39 | number),
            Self::Crawler => VisitorNumber::NOBODY,
        }
    }
}

/// Writes requests of the past. What it wrote is to be committed: when it is not, the scribe is to be dropped, for
/// the keys that it remembers are given again.
pub(crate) struct Scribe(Requests);

impl Default for Scribe {
    fn default() -> Self {
        Self(Requests::boundless())
    }
}

impl Scribe {
    /// Writes requests, in the order of time, by the clock's hours, so that each visit stands in the hour in which it
    /// began.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn write(
        &mut self,
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        calendar: &Calendar,
        mut requests: Vec<Request>,
    ) -> Result<()> {
        requests.sort_by_key(|request| request.at);
        for hour in requests.chunk_by(|a, b| calendar.slot(a.at) == calendar.slot(b.at)) {
            let records: Vec<Record> = hour.iter().map(record).collect();
            let mut left = records.as_slice();
            while !left.is_empty() {
                left =
                    &left[journal::write(tx, calendar, &mut self.0, left, TimeSlice::unlimited())?.records..];
            }
        }
        Ok(())
    }
}

fn record(request: &Request) -> Record {
    let Request { at, operation, path, status, who } = request;
    Record {
        at: *at,
        operation: *operation,
        path: operation.varying(path),
        status: *status,
        seen: if let Who::Member(key) = who { Seen::Member(*key) } else { Seen::Guest },
        guest: Guest(matches!(who, Who::Guest(_)).then(|| who.number()), Network(0)),
    }
}
