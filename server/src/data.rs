//! The download of everything that is stored about a member.

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use tidings_core::member_data::{DataReader, MemberData};

use crate::docs;
use crate::download::{Download, Of};
use crate::reply::{Answer, JSON, Reply};
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_my_data", get_my_data).reads(),
        // Not `reads`: it has a record in the audit trail.
        Route::get("/get_member_data/{user_id}", get_member_data),
    ]
}

/// Returns everything that is stored about the member
///
/// The response is a download of any length, sent as it is read: lists may change meanwhile. At most 16 downloads of
/// members run at the same time, two of one member, each for at most ten minutes; the client reads at least 64 KiB in 20
/// seconds. The hash of the password and other secrets are left out.
#[utoipa::path(
    get,
    path = "/get_my_data",
    tag = "account",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<MemberData>), docs::Members),
)]
pub(crate) async fn get_my_data(call: Call) -> Answer {
    let reader = DataReader::new(call.tidings(), call.caller());
    send(&call, Of::Member, reader).await
}

/// Returns everything that is stored about a member
///
/// The response is a download as that of `/get_my_data`, and recorded in the audit trail. Only a person reads it: an API key
/// cannot.
#[utoipa::path(
    get,
    path = "/get_member_data/{user_id}",
    tag = "admin",
    security(("token" = [])),
    params(("user_id" = String, Path, description = "The id of the member")),
    responses((status = 200, body = docs::Success<MemberData>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_member_data(mut call: Call) -> Answer {
    let [user_id] = call.ids();
    let (tidings, caller) = (call.tidings().clone(), call.caller().clone());
    let begin = move || DataReader::of(&tidings, &caller, &user_id);
    let reader = call.app().lanes.store.run_for(call.address().into(), begin).await?;
    send(&call, Of::Admin, reader).await
}

async fn send(call: &Call, of: Of, reader: DataReader) -> Answer {
    let (download, first) = Download::begin(call, of, reader).await?;
    let name = download.with(|reader| file_name(reader.id()));
    let begin =
        Bytes::from([br#"{"result":"success","#, first.strip_prefix(b"{").unwrap_or(&first)].concat());
    Ok(Reply::download(download.stream(begin), JSON).with(CONTENT_DISPOSITION, name))
}

/// Returns the header that names the file.
fn file_name(id: &str) -> HeaderValue {
    // The university's ids may have other characters, which a header would have to quote.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let id: String = id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let header = HeaderValue::try_from(format!("attachment; filename=\"{id}.json\""));
    header.unwrap_or(HeaderValue::from_static("attachment"))
}
