//! The administrators' notices.

use tidings_core::Tidings;
use tidings_core::notice::{self, List};
use tidings_core::operation::Operation as _;

use crate::filter::reply::Answer;
use crate::filter::request::Call;
use crate::route::Route;
use crate::syndication::{self, Format, Outline, Source};

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::of::<List>().answered_by(list)]
}

async fn list(call: Call, fields: List) -> Answer {
    let Some(format) = Format::chosen(call.headers(), fields.format.as_deref())? else {
        return call.perform(fields).await;
    };
    let outline = Outline::new(&call, format, "Notices", List::SPEC.path);
    let is_in_memory = call.is_guest() && notice::try_list(call.tidings()).is_some();
    let list = |tidings: &Tidings, caller: &_| tidings.call(caller, List::default()).map(Source::Notices);
    syndication::document(call, outline, is_in_memory, |lanes| &lanes.read, list).await
}
