//! Imports of posts.

use http::header::CONTENT_TYPE;
use tidings_core::error::{Code, Problem};
use tidings_core::import::to_the_end;
use tidings_core::post::{self, Format, ImportPosts};

use crate::fields;
use crate::import;
use crate::reply::Answer;
use crate::request::Call;

const NO_BODY: Problem = Problem::new(Code::MalformedBody, "the body is missing: send a post on each line");

/// Imports posts in the format that the request names.
pub(super) async fn import_posts(call: Call, _: ImportPosts) -> Answer {
    let given = call.headers().get(CONTENT_TYPE).map(fields::media_type).unwrap_or_default();
    let format = Format::of_media_type(given);
    let import = move |tidings: &_, caller: &_, reader| {
        post::import_as(tidings, caller, format, reader, &mut to_the_end)
    };
    import::run::<ImportPosts, _>(call, NO_BODY, import).await
}
