use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Log, Window, read_log};
use crate::account::Call;
use crate::record::error::{Pending, Result};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::ReportedDevice;
use crate::record::scope::Scope;

const GROUP: &str = "analysis";
const ADMINS: Access = Access::Admins(Scope::AnalyticsRead);
const OWN: Access = Access::Own(Scope::AnalyticsRead);

/// Get a period's access log
///
/// Newest first. Exactly one of `months`, `days` and `hours` is above 0. For administrators, unless the settings make
/// the log public.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogDate {
    /// Calendar months, or 0
    pub months: i64,
    /// Periods of 24 hours, or 0
    pub days: i64,
    /// Hours, or 0
    pub hours: i64,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogDate {
    type Answer = Log;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_log_date/{months}/{days}/{hours}/{limit}", ADMINS).works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<Log> {
        let Self { months, days, hours, limit } = self;
        read_log(call.tidings(), call.caller(), None, Some(Window { months, days, hours }), limit)
    }
}

/// Get a member's access log
///
/// Newest first. `guest` gives the lines of all guests, `removed` those of removed members. For administrators and
/// the member, unless the settings make the log public.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogUser {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogUser {
    type Answer = Log;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_log_user/{user_id}/{limit}", OWN).works(Work::Query).or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Log> {
        read_log(call.tidings(), call.caller(), Some(&self.user_id), None, self.limit)
    }
}

/// Get a member's dated log
///
/// Returns the lines of one member in a period. Combines `/get_log_user/{user_id}/{limit}` and
/// `/get_log_date/{months}/{days}/{hours}/{limit}`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLogUserDate {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// Calendar months, or 0
    pub months: i64,
    /// Periods of 24 hours, or 0
    pub days: i64,
    /// Hours, or 0
    pub hours: i64,
    /// The maximum number of lines, at most {log-lines}
    pub limit: i64,
}

impl Operation for GetLogUserDate {
    type Answer = Log;
    const SPEC: Spec = Spec::get(GROUP, "/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}", OWN)
        .works(Work::Query)
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Log> {
        let Self { user_id, months, days, hours, limit } = self;
        read_log(call.tidings(), call.caller(), Some(&user_id), Some(Window { months, days, hours }), limit)
    }
}

/// Count a device
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InsertDevice {
    /// `pc`, `tablet` or `mobile`, also with the prefix `device_`
    #[schema(value_type = ReportedDevice)]
    pub device: String,
}

impl Operation for InsertDevice {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/insert_device/{device}", Access::Open).writes();

    fn run(self, call: &Call<'_>) -> Result<()> {
        super::insert_device_from(call.tidings(), call.caller(), &self.device).wait()
    }

    fn start(self, call: &Call<'_>) -> Result<Pending<()>, Self> {
        Ok(super::insert_device_from(call.tidings(), call.caller(), &self.device))
    }
}
