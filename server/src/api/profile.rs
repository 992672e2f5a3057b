//! The member's own profile: information, lists, nickname and settings.

use tidings_core::profile::{self, Get};

use crate::filter::reply::Answer;
use crate::filter::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<Get>().answered_by(get)]
}

/// On a PostgreSQL server, reads together with other callers.
async fn get(call: Call, fields: Get) -> Answer {
    if call.tidings().is_on_server() {
        let read = profile::submit_user_info(call.tidings(), call.caller());
        return call.read_together(read).await;
    }
    call.perform(fields).await
}
