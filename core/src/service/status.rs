//! The state of the running service, for administrators.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Call;
use crate::analysis::{self, Live};
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::scope::Scope;
use crate::service::changes::Changes;
use crate::service::stats::Stats;

/// The state of the service: the figures of today, and what the program and its database do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The version of the program.
    #[schema(max_length = 50, examples("0.1.0"))]
    pub version: Cow<'static, str>,
    /// The current time of the server.
    pub now: Timestamp,
    /// The time zone in which days and hours are counted, such as `Asia/Seoul`.
    #[schema(max_length = 100, examples("Asia/Seoul"))]
    pub zone: String,
    /// The live figures of the current day.
    pub live: Live,
    /// How many of all communications came from crawlers.
    pub crawled: i64,
    /// Bytes of the database: of an SQLite file without the write-ahead log, or on a server as measured in the last minute.
    pub database_bytes: u64,
    /// Bytes of the write-ahead log of an SQLite file; 0 on a server.
    pub wal_bytes: u64,
    /// Writes, and lines of the access log, that wait for a commit.
    pub writes_waiting: usize,
    /// The numbers of changes of each part of the data, as this server counts them.
    pub changes: Changes,
}

/// Get the service status
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Get {}

impl Operation for Get {
    type Answer = Status;
    const SPEC: Spec =
        Spec::get("analysis", "/get_status", Access::Admins(Scope::AnalyticsRead)).works(Work::Store);

    fn run(self, call: &Call<'_>) -> Result<Status> {
        // Before the figures: a change after this is in the next numbers.
        let changes = Changes::of(call.tidings());
        let live = analysis::live(call.tidings(), call.caller())?;
        let crawled = analysis::crawled(call.tidings())?;
        let Stats { writes_waiting, records_waiting, database_bytes, wal_bytes, .. } =
            Stats::of(call.tidings());
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            now: call.now(),
            zone: analysis::zone(call.tidings()),
            live,
            crawled,
            database_bytes,
            wal_bytes,
            writes_waiting: writes_waiting + records_waiting,
            changes,
        })
    }
}
