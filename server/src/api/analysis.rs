//! Analytics: counting a device.

use tidings_core::analysis::{self, InsertDevice};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

#[cfg(test)]
mod tests;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<InsertDevice>().answered_by(insert_device)]
}

/// Waits for the disk without blocking a thread.
async fn insert_device(call: Call, fields: InsertDevice) -> Answer {
    Reply::written(analysis::insert_device_from(call.tidings(), call.caller(), &fields.device)).await
}
