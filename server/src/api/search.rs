//! Searching posts, and recording searches.

use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::search::{self, Log};

use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<Log>().answered_by(log)]
}

/// The searches of many callers are written together: none of them waits on a thread of its own.
async fn log(call: Call, Log { search }: Log) -> Answer {
    let guest = Some(call.guest());
    if call.is_guest() {
        return Reply::written(search::log(call.tidings(), call.caller(), guest, &search)).await;
    }
    // Finding words similar to a member's search takes long enough to need a lane.
    let log = move |tidings: &Tidings, caller: &Caller, _| Ok(search::log(tidings, caller, guest, &search));
    Reply::written(call.run_in(|lanes| &lanes.query, log).await?).await
}
