use http::HeaderValue;
use http::header::{HeaderName, LINK};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_core::Tidings;
use tidings_core::newsfeed::{self, ListPopular, ListRecommended, ListTopic, ListTopicV1, Newsfeed};
use tidings_core::notice;
use tidings_core::operation::{Operation, Work};

use crate::filter::lane::{Lane, Lanes};
use crate::filter::reply::{Answer, JSON, Reply};
use crate::filter::request::{self, Call};
use crate::route::Route;
use crate::syndication::{self, Format, Outline, Source};

/// Version 1 of the topic feed is deprecated since 2026-11-20, the first release, which already had version 2.
/// Source of the format: RFC 9745.
const DEPRECATED: HeaderValue = HeaderValue::from_static("@1795132800");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::of::<ListRecommended>()
            .answered_by(|call, fields: ListRecommended| own(call, |lanes| &lanes.read, fields)),
        Route::of::<ListPopular>().answered_by(popular),
        Route::of::<ListTopicV1>().answered_by(topic_v1),
        Route::of::<ListTopic>().answered_by(topic),
        Route::of::<notice::List>().answered_by(notices),
    ]
}

/// All callers get the same feed, so members also get it from memory, except those who see their own likes in it.
async fn popular(call: Call, fields: ListPopular) -> Answer {
    let format = Format::chosen(call.headers(), fields.format.as_deref())?;
    let is_own = || newsfeed::has_own_likes(call.tidings(), call.caller());
    let continues = fields.page.next.is_some();
    let Some(format) = format else {
        if continues || !fields.page.is_plain()? || is_own() {
            return own(call, |lanes| &lanes.store, fields).await;
        }
        let feed = newsfeed::popular(call.tidings(), &fields.page.page())?;
        return call.document(feed.answer(), JSON).await;
    };
    let outline =
        Outline::new(&call, format, "Popular posts", ListPopular::SPEC.path).at(&fields.page.page());
    let feed = move |tidings: &_, _: &_| newsfeed::popular(tidings, &fields.page.page()).map(Source::Posts);
    syndication::document(call, outline, !continues, |lanes| &lanes.store, feed).await
}

async fn topic_v1(call: Call, fields: ListTopicV1) -> Answer {
    let fields = ListTopic::from(fields);
    let (base, path) = (call.app().config.base_path.as_str(), path(&fields.category_name));
    let link = format!(r#"<{base}{path}>; rel="successor-version""#);
    let link = HeaderValue::from_str(&link).expect("a base path and percent-encoded text are ASCII");
    Ok(topic(call, fields).await?.with(DEPRECATION, DEPRECATED).with(LINK, link))
}

async fn topic(call: Call, fields: ListTopic) -> Answer {
    // A member's opening of the feed is recorded, which waits for the disk. All callers get the same feed, so `HEAD`, which
    // changes nothing, answers as to a guest.
    let call = if call.is_head() { call.by_guest() } else { call };
    let Some(format) = Format::chosen(call.headers(), fields.format.as_deref())? else {
        if call.is_guest()
            && let Some(answer) = fields.remembered(call.tidings())
        {
            return call.document(&answer?, JSON).await;
        }
        return own(call, |lanes| &lanes.store, fields).await;
    };
    let ListTopic { category_name: name, page, .. } = fields;
    let outline = Outline::new(&call, format, &name, &path(&name)).at(&page.page());
    let is_in_memory = call.is_guest() && page.next.is_none();
    let feed = move |tidings: &_, caller: &_| {
        newsfeed::topic(tidings, caller, &name, &page.page()).map(Source::Posts)
    };
    syndication::document(call, outline, is_in_memory, |lanes| &lanes.store, feed).await
}

/// The page may be the caller's own. Few such pages are requested again, so none is compressed with Brotli.
async fn own(
    call: Call,
    lane: impl FnOnce(&Lanes) -> &Lane + Send,
    fields: impl Operation<Answer = Newsfeed>,
) -> Answer {
    if call.is_guest() {
        return call.begin(Work::Store, request::boxed(fields)).await;
    }
    let answer = move |tidings: &Tidings, caller: &_, accepted| {
        Ok(Reply::encoded(tidings.call(caller, fields)?.encoded(), JSON, accepted))
    };
    call.run_in(lane, answer).await
}

fn path(name: &str) -> String {
    let name = utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
    ListTopic::SPEC.path.replace("{category_name}", &name)
}

async fn notices(call: Call, fields: notice::List) -> Answer {
    let Some(format) = Format::chosen(call.headers(), fields.format.as_deref())? else {
        return call.run(notice::List::SPEC, request::boxed(fields)).await;
    };
    let outline = Outline::new(&call, format, "Notices", notice::List::SPEC.path);
    let is_in_memory = call.is_guest() && notice::try_list(call.tidings()).is_some();
    let list =
        |tidings: &Tidings, caller: &_| tidings.call(caller, notice::List::default()).map(Source::Notices);
    syndication::document(call, outline, is_in_memory, |lanes| &lanes.read, list).await
}
