//! Downloads: everything that is stored about a member, the posts, and the audit trail.

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use tidings_core::audit::ExportTrail;
use tidings_core::member_data::{DataReader, GetMine, GetOf};
use tidings_core::post::ExportPosts;

use crate::filter::download::{self, Download};
use crate::filter::reply::{Answer, JSON, Reply};
use crate::filter::request::Call;
use crate::filter::shares::Of;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::stream::<GetMine, _>(get_mine),
        Route::stream::<GetOf, _>(get_of),
        Route::stream::<ExportPosts, _>(download::lines),
        Route::stream::<ExportTrail, _>(download::lines),
    ]
}

async fn get_mine(call: Call, _: GetMine) -> Answer {
    let reader = DataReader::new(call.tidings(), call.caller());
    send(&call, Of::Member, reader).await
}

async fn get_of(call: Call, GetOf { user_id }: GetOf) -> Answer {
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
    Ok(Reply::stream(download.stream(begin), JSON).with(CONTENT_DISPOSITION, name))
}

fn file_name(id: &str) -> HeaderValue {
    // The university's ids may have other characters, which a header would have to quote.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let id: String = id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let header = HeaderValue::try_from(format!("attachment; filename=\"{id}.json\""));
    header.unwrap_or(HeaderValue::from_static("attachment"))
}
