//! Data in bulk: imports, and downloads of everything that is stored about a member, the posts, and the audit trail.

use std::pin::pin;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use tidings_core::account::Caller;
use tidings_core::act::ImportActs;
use tidings_core::audit::ExportTrail;
use tidings_core::error::{Code, Problem};
use tidings_core::import::{Import, to_the_end};
use tidings_core::member_data::{DataReader, GetMine, GetOf};
use tidings_core::member_import::ImportMembers;
use tidings_core::post::{ExportPosts, Format, ImportPosts};
use tidings_core::roster_import::ImportRoster;
use tidings_core::{Error, Tidings};

use crate::filter::download::{self, Download};
use crate::filter::fields;
use crate::filter::reply::{Answer, JSON, Refusal, Reply};
use crate::filter::request::Call;
use crate::filter::right::Right;
use crate::filter::shares::Of;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::stream::<ImportPosts, _>(import_posts),
        Route::stream::<ImportMembers, _>(import),
        Route::stream::<ImportActs, _>(import),
        Route::stream::<ImportRoster, _>(import),
        Route::stream::<GetMine, _>(get_mine),
        Route::stream::<GetOf, _>(get_of),
        Route::stream::<ExportPosts, _>(download::lines),
        Route::stream::<ExportTrail, _>(download::lines),
    ]
}

async fn import<I: Import>(mut call: Call, operation: I) -> Answer {
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
    import(call, ImportPosts { format, charset }).await
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
