//! The filter of an operation: its path, the request, then the operation itself.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use warp::filters::BoxedFilter;
use warp::path::Tail;
use warp::{Filter, Rejection};

use crate::reply::{self, Answer, Response};
use crate::request::{Call, Context};
use crate::upload::Upload;

/// Returns the filter of the operation whose path has this template.
pub(crate) fn filter<F>(
    template: &'static str,
    handler: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    F: Future<Output = Answer> + Send + 'static,
{
    path(template)
        .and(call())
        .then(move |call| {
            let answer = handler(call);
            async move { reply::incomplete(answer.await, template) }
        })
        .boxed()
}

/// Returns the filter of the first segment of a template. The table has compared the number of the others.
fn path(template: &'static str) -> BoxedFilter<()> {
    match template.split('/').nth(1) {
        None | Some("") => warp::any().boxed(),
        Some(first) => warp::path(first).boxed(),
    }
}

/// Extracts the request, with the rest of its path as the parameters.
fn call() -> impl Filter<Extract = (Call,), Error = Rejection> + Copy {
    warp::ext::get().and(warp::path::tail()).and(warp::body::stream()).map(
        |context: Arc<Context>, rest: Tail, body| {
            let upload =
                if context.has_body { Upload::of(&context.head.headers, body) } else { Upload::default() };
            Call::new(context, segments(rest.as_str()), upload)
        },
    )
}

/// Returns the parameters of a path, percent-decoded.
pub(crate) fn segments(rest: &str) -> Vec<Vec<u8>> {
    let segments = rest.split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| percent_decode_str(segment).collect()).collect()
}
