//! Imports.

use std::pin::pin;

use http::header::CONTENT_TYPE;
use tidings_core::account::Caller;
use tidings_core::act::ImportActs;
use tidings_core::error::{Code, Problem};
use tidings_core::import::{Import, to_the_end};
use tidings_core::member_import::ImportMembers;
use tidings_core::post::{Format, ImportPosts};
use tidings_core::roster_import::ImportRoster;
use tidings_core::{Error, Tidings};

use crate::filter::fields;
use crate::filter::reply::{Answer, Refusal};
use crate::filter::request::Call;
use crate::filter::right::Right;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::stream::<ImportPosts, _>(import_posts),
        Route::stream::<ImportMembers, _>(run),
        Route::stream::<ImportActs, _>(run),
        Route::stream::<ImportRoster, _>(run),
    ]
}

async fn run<I: Import>(mut call: Call, operation: I) -> Answer {
    let (reader, feed) = call.reader(I::TAKES)?;
    // A caller who may not import is refused before the body arrives, and takes no place.
    let scope = I::SPEC.access.scope().expect("a key may import with a scope");
    let right = Right::of(&call, scope).await?;
    let account = call.caller().account(call.tidings());
    let place = account.map(|account| call.app().imports.take(account, 1)).transpose()?;
    let import = move |tidings: &Tidings, caller: &Caller| {
        // Returned when the import ends, also if the client is gone by then.
        let _place = place;
        operation.import(tidings, caller, reader, &mut to_the_end)
    };
    let mut import = pin!(call.answer_in(|lanes| &lanes.import, import));
    let arrived = tokio::select! {
        imported = &mut import => return imported,
        arrived = feed => arrived,
        error = right.lost() => return Err(error.into()),
    };
    match (import.await, arrived) {
        (Err(Refusal::Operation(Error::Input(_))), Err(why)) => Err(why),
        (Ok(_), Ok(0)) => Err(Error::BadRequest(Problem::new(Code::MalformedBody, I::EMPTY)).into()),
        (imported, _) => imported,
    }
}

async fn import_posts(call: Call, _: ImportPosts) -> Answer {
    let given = call.headers().get(CONTENT_TYPE);
    let format = Format::of_media_type(given.map(fields::media_type).unwrap_or_default());
    let charset = given.and_then(fields::charset).map(str::to_owned);
    run(call, ImportPosts { format, charset }).await
}
