//! The administrators' notices.

use tidings_core::notice::{self, List};
use tidings_core::operation::Operation as _;

use crate::endpoint;
use crate::filter::reply::Answer;
use crate::filter::request::Call;
use crate::route::Route;
use crate::syndication::{self, Format, Outline};

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<List>().answered_by(list)]
}

/// In the format that the request asks for.
async fn list(call: Call, fields: List) -> Answer {
    let Some(format) = Format::chosen(call.headers(), fields.format.as_deref())? else {
        return call.run(List::SPEC, endpoint::boxed(fields)).await;
    };
    let outline = Outline::new(&call, format, "Notices", List::SPEC.path);
    match notice::try_list(call.tidings()).filter(|_| call.is_guest()) {
        Some(list) => syndication::notices(call, outline, list).await,
        None => {
            syndication::notices_in_lane(call, outline, |tidings, caller| {
                tidings.call(caller, List::default())
            })
            .await
        }
    }
}
