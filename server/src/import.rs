//! Imports of members, acts and the roster, and the common part of all imports.

use std::pin::pin;

use serde::Serialize;
use tidings_core::account::{Account, Caller};
use tidings_core::act::{self, ImportActs};
use tidings_core::error::{Code, Problem};
use tidings_core::import::to_the_end;
use tidings_core::member_import::{self, ImportMembers};
use tidings_core::operation::Stream;
use tidings_core::roster_import::{self, ImportRoster};
use tidings_core::{Error, Result, Tidings};

use crate::reply::{Answer, Refusal};
use crate::request::Call;
use crate::right::Right;
use crate::route::Route;
use crate::shares::Share;
use crate::upload::UploadReader;

const NO_MEMBERS: Problem =
    Problem::new(Code::MalformedBody, "the body is missing: send a member on each line");
const NO_ACTS: Problem = Problem::new(Code::MalformedBody, "the body is missing: send an act on each line");
const NO_ROSTER: Problem = Problem::new(
    Code::MalformedBody,
    "the body is missing: send CSV whose first line names the columns: id,name,major,password",
);

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::stream::<ImportMembers, _>(import_members),
        Route::stream::<ImportActs, _>(import_acts),
        Route::stream::<ImportRoster, _>(import_roster),
    ]
}

/// Takes a place for an import of the caller.
///
/// # Errors
/// `overloaded` if there is none, `too many requests` if the caller has several.
pub(crate) fn take_place(call: &Call) -> Result<Option<Share<Account>>> {
    let account = call.caller().account(call.tidings());
    Ok(account.map(|account| call.app().imports.take(account, 1)).transpose()?)
}

/// Runs an import. An empty body has the problem `empty`.
pub(crate) async fn run<S: Stream, T: Serialize>(
    mut call: Call,
    empty: Problem,
    import: impl FnOnce(&Tidings, &Caller, UploadReader) -> Result<T> + Send + 'static,
) -> Answer {
    let (reader, feed) = call.reader(S::TAKES)?;
    // A caller who may not import is refused before the body arrives, and takes no place.
    let scope = S::SPEC.access.scope().expect("a key may import with a scope");
    let right = Right::of(&call, scope).await?;
    let place = take_place(&call)?;
    let import = move |tidings: &Tidings, caller: &Caller| {
        // Returned when the import ends, also if the client is gone by then.
        let _place = place;
        import(tidings, caller, reader)
    };
    let mut import = pin!(call.answer_in(|lanes| &lanes.import, import));
    let arrived = tokio::select! {
        imported = &mut import => return imported,
        arrived = feed => arrived,
        error = right.lost() => return Err(error.into()),
    };
    match (import.await, arrived) {
        (Err(Refusal::Operation(Error::Input(_))), Err(why)) => Err(why),
        (Ok(_), Ok(0)) => Err(Error::BadRequest(empty).into()),
        (imported, _) => imported,
    }
}

/// Imports members of another system.
async fn import_members(call: Call, _: ImportMembers) -> Answer {
    let import = |tidings: &_, caller: &_, reader| {
        member_import::import_members(tidings, caller, reader, &mut to_the_end)
    };
    run::<ImportMembers, _>(call, NO_MEMBERS, import).await
}

/// Imports acts of members in another system.
async fn import_acts(call: Call, _: ImportActs) -> Answer {
    let import = |tidings: &_, caller: &_, reader| act::import(tidings, caller, reader, &mut to_the_end);
    run::<ImportActs, _>(call, NO_ACTS, import).await
}

/// Imports the roster of the university.
async fn import_roster(call: Call, _: ImportRoster) -> Answer {
    let import = |tidings: &_, caller: &_, reader| {
        roster_import::import_roster(tidings, caller, reader, &mut to_the_end)
    };
    run::<ImportRoster, _>(call, NO_ROSTER, import).await
}
