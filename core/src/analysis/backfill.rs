//! Writes requests with past dates: the log lines and visits that would exist if the server had recorded them.

use super::calendar::Calendar;
use super::journal::{self, Record};
use super::log::{LoggedAnswer, Operation, RequestKeys};
use super::visitor::{Guest, Network, VisitorNumber};
use crate::account::{Admin, ResolvedCaller};
use crate::base::clock::Timestamp;
use crate::record::answer::SUCCESS;
use crate::record::error::Result;
use crate::record::id::MemberKey;
use crate::store::{TimeSlice, Tx};

pub(crate) struct PastRequest {
    pub(crate) at: Timestamp,
    pub(crate) operation: Operation,
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) requester: Requester,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requester {
    Member(MemberKey),
    /// The number is 1 or greater, and valid for one day.
    Guest(i64),
    Crawler,
}

impl Requester {
    pub(crate) fn number(self) -> VisitorNumber {
        match self {
            Self::Member(key) => key.into(),
            // Each guest is in a different network; the lowest bits are different too.
            Self::Guest(number) => VisitorNumber::guest(number << 39 | number),
            Self::Crawler => VisitorNumber::NOBODY,
        }
    }
}

/// The requests must be sorted by time. They are written hour by hour, so that each visit counts in the hour in which it began.
pub(crate) fn write(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    calendar: &Calendar,
    requests: &[PastRequest],
) -> Result<()> {
    let mut request_keys = RequestKeys::default();
    for hour in requests.chunk_by(|a, b| calendar.local_hour(a.at) == calendar.local_hour(b.at)) {
        let records: Vec<Record> = hour.iter().map(record).collect();
        let mut left = records.as_slice();
        while !left.is_empty() {
            let written = journal::write(tx, calendar, &mut request_keys, left, TimeSlice::unlimited())?;
            left = &left[written.records..];
        }
    }
    Ok(())
}

fn record(request: &PastRequest) -> Record {
    let PastRequest { at, operation, path, status, requester } = request;
    Record {
        at: *at,
        operation: *operation,
        path: operation.varying(path),
        answer: LoggedAnswer { status: *status, result: SUCCESS },
        seen: if let Requester::Member(key) = requester {
            ResolvedCaller::Member(*key)
        } else {
            ResolvedCaller::Guest
        },
        guest: Guest(matches!(requester, Requester::Guest(_)).then(|| requester.number()), Network(0)),
    }
}
