//! The filter of an operation: its path, the request, its fields, then the operation itself.
//!
//! The generic part of an operation ends here, in functions that read its fields and box its work: all operations share the code
//! of the filter.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use tidings_core::answer::{self, Encoded};
use tidings_core::operation::{Fields, Method, Operation, Spec};
use tidings_core::{Result, Tidings};
use warp::filters::BoxedFilter;
use warp::path::Tail;
use warp::reject::Reject;
use warp::{Filter, Rejection};

use crate::filter::fields::Given;
use crate::filter::reply::{self, Answer, Refusal, Response};
use crate::filter::request::{Begun, Call, Context, Made, Work};
use crate::filter::upload::Upload;

pub(crate) fn work<O: Operation>(given: &Given) -> Result<Work> {
    Ok(boxed::<O>(given.read()?))
}

pub(crate) fn boxed<O: Operation>(operation: O) -> Work {
    Box::new(move |tidings, caller, client| match tidings.start_from(caller, client, operation) {
        Ok(pending) => Begun::Awaited(Box::pin(async move { Ok(made::<O>(&pending.await?)) })),
        Err(operation) => Begun::Blocking(Box::new(move |tidings, caller, client| {
            Ok(made::<O>(&tidings.call_from(caller, client, operation)?))
        })),
    })
}

fn made<O: Operation>(answer: &O::Answer) -> Made {
    match O::shared(answer) {
        Some(shared) => Made::Shared(Arc::clone(shared)),
        None => Made::Own(answer::success(answer)),
    }
}

/// The answer to a guest, if it is in memory.
pub(crate) fn remembered<O: Operation>(given: &Given, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
    given.read::<O>().ok()?.remembered(tidings)
}

pub(crate) fn declared<O: Operation>() -> BoxedFilter<(Response,)> {
    running(O::SPEC, work::<O>)
}

/// A closure in [`declared`] would be another type, and so another filter to compile, for each operation.
fn running(spec: Spec, read: fn(&Given) -> Result<Work>) -> BoxedFilter<(Response,)> {
    let has_body = spec.method == Method::Post;
    reading(spec, has_body, read, move |call, work| call.run(spec, work))
}

/// For an operation with a handler of its own. `has_body` tells whether fields are in the body, which the handler reads
/// otherwise.
pub(crate) fn handled<T: Fields, F>(
    spec: Spec,
    has_body: bool,
    handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    F: Future<Output = Answer> + Send + 'static,
{
    reading(spec, has_body, Given::read::<T>, handler)
}

fn reading<T: Send + 'static, F>(
    spec: Spec,
    has_body: bool,
    read: fn(&Given) -> Result<T>,
    handler: impl Fn(Call, T) -> F + Clone + Send + Sync + 'static,
) -> BoxedFilter<(Response,)>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let fields = move |mut call: Call| async move {
        let fields = call.given(spec, has_body, read).await.map_err(Unreadable::rejection)?;
        Ok::<_, Rejection>((call, fields))
    };
    let run = move |(call, fields)| {
        let answer = handler(call, fields);
        async move { reply::incomplete(answer.await, spec.path) }
    };
    let recover = move |rejection: Rejection| async move {
        Ok::<_, Rejection>(reply::refused(Unreadable::reason(&rejection), spec.path))
    };
    path(spec.path).and(call()).and_then(fields).then(run).recover(recover).unify().boxed()
}

/// `template` is that of the path.
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

/// The filter answers this rejection.
#[derive(Debug)]
struct Unreadable(Refusal);

impl Reject for Unreadable {}

impl Unreadable {
    fn rejection(refusal: Refusal) -> Rejection {
        warp::reject::custom(Self(refusal))
    }

    /// A rejection without fields means only that the request is for another path.
    fn reason(rejection: &Rejection) -> &Refusal {
        rejection.find::<Self>().map_or(&Refusal::UnknownPath, |Self(refusal)| refusal)
    }
}

/// Compares the first segment of a template. The table has compared the number of the others.
fn path(template: &'static str) -> BoxedFilter<()> {
    match template.split('/').nth(1) {
        None | Some("") => warp::any().boxed(),
        Some(first) => warp::path(first).boxed(),
    }
}

/// The rest of the path is the parameters.
fn call() -> impl Filter<Extract = (Call,), Error = Rejection> + Copy {
    warp::ext::get().and(warp::path::tail()).and(warp::body::stream()).map(
        |context: Arc<Context>, rest: Tail, body| {
            let upload =
                if context.has_body { Upload::of(&context.head.headers, body) } else { Upload::default() };
            Call::new(context, segments(rest.as_str()), upload)
        },
    )
}

/// Percent-decoded.
pub(crate) fn segments(rest: &str) -> Vec<Vec<u8>> {
    let segments = rest.split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| percent_decode_str(segment).collect()).collect()
}
