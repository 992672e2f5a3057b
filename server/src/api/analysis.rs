//! Analytics: counters, reports, and the access log.

use tidings_core::analysis::{
    self, GetBursts, GetDay, GetDaysAgo, GetDevices, GetRealtime, GetSummary, InsertDevice, Question,
};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

#[cfg(test)]
mod tests;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<GetRealtime>().answered_by(|call, _: GetRealtime| report(call, Question::Realtime)),
        Route::of::<GetBursts>().answered_by(|call, _: GetBursts| report(call, Question::Bursts)),
        Route::of::<GetSummary>().answered_by(|call, _: GetSummary| report(call, Question::Summary)),
        Route::of::<GetDaysAgo>().answered_by(|call, asked: GetDaysAgo| report(call, asked.into())),
        Route::of::<GetDay>().answered_by(|call, asked: GetDay| report(call, asked.into())),
        Route::of::<InsertDevice>().answered_by(insert_device),
        Route::of::<GetDevices>().answered_by(|call, _: GetDevices| report(call, Question::Devices)),
    ]
}

/// Answers with a report, from memory if it is cached.
async fn report(call: Call, question: Question) -> Answer {
    if let Some(cached) = analysis::try_answer(call.tidings(), call.caller(), question) {
        return call.encoded(&cached).await;
    }
    call.shared_in(|lanes| &lanes.store, move |tidings, caller| analysis::answer(tidings, caller, question))
        .await
}

/// Counts a device, and waits for the disk without a thread.
async fn insert_device(call: Call, fields: InsertDevice) -> Answer {
    Reply::written(analysis::insert_device_from(call.tidings(), call.caller(), &fields.device)).await
}
