//! Imports of members, acts and the roster, and the common part of all imports.

use std::pin::pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidings_core::account::key::Scope;
use tidings_core::account::{Account, Caller};
use tidings_core::error::{Code, Problem};
use tidings_core::import::{MoveReport, to_the_end};
use tidings_core::roster_import::{self, RosterReport};
use tidings_core::{Error, Result, Tidings, act, member_import};
use utoipa::ToSchema;

use crate::docs;
use crate::lane::IMPORTS;
use crate::limit::Counted;
use crate::reply::{Answer, Refusal};
use crate::request::Call;
use crate::right::Right;
use crate::route::Route;
use crate::shares::{Part, Share, Shares};
use crate::upload::UploadReader;

/// The media types of one JSON object per line, or one array.
pub(crate) const LINES: &[&str] = &["application/x-ndjson", "application/json"];
const CSV: &[&str] = &["text/csv"];

const NO_MEMBERS: Problem =
    Problem::new(Code::MalformedBody, "the body is missing: send a member on each line");
const NO_ACTS: Problem = Problem::new(Code::MalformedBody, "the body is missing: send an act on each line");
const NO_ROSTER: Problem = Problem::new(
    Code::MalformedBody,
    "the body is missing: send CSV whose first line names the columns: id,name,major,password",
);

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/import_members", import_members).counts_as(Counted::Write),
        Route::post("/import_acts", import_acts).counts_as(Counted::Write),
        Route::post("/import_roster", import_roster).counts_as(Counted::Write),
    ]
}

/// The maximum number of imports of one administrator or API key at the same time.
const IMPORTS_OF_ONE: usize = 2;

/// Returns the places of imports.
pub(crate) fn places() -> Arc<Shares<Account>> {
    Shares::new(IMPORTS, Part::AtMost(IMPORTS_OF_ONE))
}

/// Takes a place for an import of the caller.
///
/// # Errors
/// `overloaded` if there is none, `too many requests` if the caller has several.
pub(crate) fn take_place(call: &Call) -> Result<Option<Share<Account>>> {
    let account = call.caller().account(call.tidings());
    Ok(account.map(|account| call.app().imports.take(account, 1)).transpose()?)
}

/// Runs an import of a body of one of these media types, for which an API key needs `scope`. An empty body has the problem
/// `empty`.
pub(crate) async fn run<T: Serialize>(
    mut call: Call,
    scope: Scope,
    media_types: &[&str],
    empty: Problem,
    import: impl FnOnce(&Tidings, &Caller, UploadReader) -> Result<T> + Send + 'static,
) -> Answer {
    let (reader, feed) = call.reader(media_types)?;
    // A caller who may not import is refused before the body arrives, and takes no place.
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

/// A member of another system. The document describes a line of an import with it; the core reads it.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "the fields are for the document only")]
pub(crate) struct MemberLineFields {
    /// The sign-in identifier: {id} ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
    id: String,
    /// The displayed name, {nickname} characters; the name by default, or else the id.
    nickname: Option<String>,
    /// The hash of the password: an Argon2 PHC string, or PBKDF2 or scrypt as Werkzeug writes them. A member without a hash
    /// cannot sign in.
    password_hash: Option<String>,
    /// The name that the university verified.
    name: Option<String>,
    /// The subject that the university verified.
    major: Option<String>,
    /// The date of the sign-up, RFC 3339; the current time by default.
    date: Option<String>,
}

/// Imports members of another system with their password hashes
///
/// The body, up to {import}, has one JSON object on each line, or is one array of such objects. Existing members are skipped
/// and do not change. An invalid line is reported and does not stop the import. If the database fails during the import, the
/// response is `internal error` with the numbers of members `inserted` and `skipped` so far; the same import can then be
/// repeated and continues from there.
#[utoipa::path(
    post,
    path = "/import_members",
    tag = "admin",
    security(("token" = [])),
    request_body(content((MemberLineFields = "application/x-ndjson"), (Vec<MemberLineFields> = "application/json"))),
    responses((status = 200, body = docs::Success<MoveReport>), docs::Administrators),
)]
pub(crate) async fn import_members(call: Call) -> Answer {
    run(call, Scope::Members, LINES, NO_MEMBERS, |tidings, caller, reader| {
        member_import::import_members(tidings, caller, reader, &mut to_the_end)
    })
    .await
}

/// An act of a member in another system, for the document.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "the fields are for the document only")]
pub(crate) struct ActLineFields {
    /// The id of the member.
    id: String,
    /// `view`, `like`, `search` or `newsfeed`.
    r#type: String,
    /// The URL of the post, of a view and of a like.
    url: Option<String>,
    /// The text of a search.
    search: Option<String>,
    /// The name of an opened newsfeed.
    newsfeed_name: Option<String>,
    /// The date of the act, RFC 3339.
    date: String,
}

/// Imports views, likes, searches and opened newsfeeds of members in another system
///
/// The body, up to {import}, has one JSON object on each line, or is one array of such objects. Each act counts once: an act
/// that was imported before is skipped. An invalid line is reported and does not stop the import. If the database fails
/// during the import, the response is `internal error` as that of `/import_members`.
#[utoipa::path(
    post,
    path = "/import_acts",
    tag = "admin",
    security(("token" = [])),
    request_body(content((ActLineFields = "application/x-ndjson"), (Vec<ActLineFields> = "application/json"))),
    responses((status = 200, body = docs::Success<MoveReport>), docs::Administrators),
)]
pub(crate) async fn import_acts(call: Call) -> Answer {
    run(call, Scope::ActsImport, LINES, NO_ACTS, |tidings, caller, reader| {
        act::import(tidings, caller, reader, &mut to_the_end)
    })
    .await
}

/// Imports the roster, the members of the university with their passwords
///
/// The body, up to {import}, is CSV whose first line names the columns `id`, `name`, `major` and `password`. A line replaces
/// the entry with its id. An API key does not change the entries of existing administrators. An invalid line is reported and
/// does not stop the import. Each new password takes approximately 20 ms on one core. If the database fails during the
/// import, the response is `internal error` as that of `/import_posts`.
#[utoipa::path(
    post,
    path = "/import_roster",
    tag = "admin",
    security(("token" = [])),
    request_body(content = String, content_type = "text/csv"),
    responses((status = 200, body = docs::Success<RosterReport>), docs::Administrators),
)]
pub(crate) async fn import_roster(call: Call) -> Answer {
    run(call, Scope::Members, CSV, NO_ROSTER, |tidings, caller, reader| {
        roster_import::import_roster(tidings, caller, reader, &mut to_the_end)
    })
    .await
}
