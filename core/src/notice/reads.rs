use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Call;
use crate::analysis::local_time::date_text;
use crate::base::config::Bounds;
use crate::record::error::{Error, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::Date;
use crate::record::scope::Scope;

/// The number of days that [`GetReads`] reports.
pub const DAYS: Bounds = Bounds { min: 1, max: 366 };

/// The default of [`GetReads::days`].
const READ_DAYS: i64 = 30;

const DAYS_RULE: Problem = Problem::invalid("days", "days is a number from 1 to 366");

/// The reads of a notice on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayReads {
    /// The day, `YYYY-MM-DD` in the time zone of the service.
    #[schema(value_type = Date)]
    pub date: String,
    /// The number of calls of `get_notice` for the notice.
    pub reads: i64,
}

/// The answer to reading how often a notice was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reads {
    /// One entry for each day, oldest first; the last one is today.
    pub notice_reads: Vec<DayReads>,
}

/// Count a notice's daily reads
///
/// One entry for each calendar day, oldest first; the last one is today.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetReads {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
    /// The number of days, {notice-days}; 30 by default.
    pub days: Option<i64>,
}

impl Operation for GetReads {
    type Answer = Reads;
    const SPEC: Spec = Spec::get("notice", "/get_notice_reads/{notice_obi}", Access::Admins(Scope::Notices))
        .works(Work::Store)
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Reads> {
        let (identity, id) = (call.authority(), ObjectId::parse(&self.notice_obi));
        let days = self.days.unwrap_or(READ_DAYS);
        let is_valid = usize::try_from(days).is_ok_and(|days| (DAYS.min..=DAYS.max).contains(&days));
        // Checked before the flush, which is a commit.
        call.store().read(|tx| identity.admin(tx).map(drop))?;
        // So that the reads that were answered are counted.
        call.store().flush().wait()?;
        let today = super::today(call.tidings());
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            if !is_valid {
                return Err(Error::BadRequest(DAYS_RULE));
            }
            let id = id.ok_or(Error::NotFound)?;
            let first = today - days + 1;
            let counted: HashMap<i64, i64> = sql::reads(tx, &admin, id, first)?.ok_or(Error::NotFound)?;
            let day = |day| DayReads { date: date_text(day), reads: counted.get(&day).copied().unwrap_or(0) };
            Ok(Reads { notice_reads: (first..=today).map(day).collect() })
        })
    }
}

mod sql {
    use std::collections::HashMap;

    use super::ObjectId;
    use crate::account::Admin;
    use crate::store::{StoreError, Tx};

    /// `None` if there is no such notice.
    pub(super) fn reads(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: ObjectId,
        first: i64,
    ) -> Result<Option<HashMap<i64, i64>>, StoreError> {
        let id = id.to_string();
        if tx.row("SELECT 1 FROM notice WHERE id = $1", &[(&id).into()])?.is_none() {
            return Ok(None);
        }
        let sql = "SELECT day, reads FROM notice_reads WHERE notice = $1 AND day >= $2";
        let rows = tx.rows(sql, &[(&id).into(), first.into()])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect::<Result<_, _>>().map(Some)
    }
}
