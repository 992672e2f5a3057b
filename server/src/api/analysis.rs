//! Analytics: counts.

use tidings_core::analysis::{self, InsertDevice};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

#[cfg(test)]
mod tests;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<InsertDevice>().answered_by(insert_device)]
}

/// Counts a device, and waits for the disk without a thread.
async fn insert_device(call: Call, fields: InsertDevice) -> Answer {
    Reply::written(analysis::insert_device_from(call.tidings(), call.caller(), &fields.device)).await
}
