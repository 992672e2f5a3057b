//! Newsfeeds: popular posts, posts of a topic, posts recommended to a member.
//!
//! Feeds are answered from an index of the newest posts in memory, which follows the store's changes, also
//! other processes', within a second. What guests get is encoded beforehand. A page's `next` continues the
//! very order that its first page began, for ten minutes, whatever happens to the ranks meanwhile.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;

use crate::Tidings;
use crate::account::Caller;
use crate::answer::Encoded;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::profile::history;

pub mod evaluation;
mod features;
mod index;
mod interest;
mod keeper;
mod meaning;
pub(crate) mod pages;
mod personal;
mod ranking;
#[cfg(test)]
mod tests;

pub(crate) use keeper::Feeds;
pub use pages::{LIMIT, LIMIT_MAX};

use index::FeedIndex;
use pages::{FeedKind, Next, Order, Rendered, render};

/// Which page of a feed is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// How many posts, 1 to 300; 150 when not said. A page that continues another has that one's number.
    pub limit: Option<i64>,
    /// The `next` of the page before; the first page when not said.
    pub next: Option<&'a str>,
    /// Whether a `next` whose order is kept no longer goes on in the present order, from its place: for a process
    /// that ends between two pages, as a command does.
    pub resumes: bool,
}

/// A page of a feed: the complete answer `{"result": "success", "newsfeed": […], "next": …}`.
pub struct FeedAnswer {
    /// The answer; what many get is encoded, and compressed, once.
    pub body: Arc<Encoded>,
}

/// Loads the feed index and starts the thread that keeps it up to date with the posts.
///
/// # Errors
/// When the store fails, or the system refuses a thread.
pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.feeds().index()?;
    Ok(())
}

/// Popular posts: views and likes, each weighing less as it ages; posts without any follow, newest first.
///
/// # Errors
/// `bad request` for a limit out of its bounds, and a `next` that is none or has expired.
pub fn popular(tidings: &Tidings, page: &Page<'_>) -> Result<FeedAnswer> {
    let reader = Reader::new(tidings)?;
    let feed = &reader.index.popular_feed;
    reader.answer(page, &[FeedKind::Popular], Some(&feed.order), Some(&feed.first))
}

/// Posts whose topics or tags hold `name`, newest first; none for a name that no post has.
///
/// The first page that shows posts is recorded in the list of newsfeeds of the member who opens it.
///
/// # Errors
/// As [`popular`].
pub fn topic(tidings: &Tidings, caller: &Caller, name: &str, page: &Page<'_>) -> Result<FeedAnswer> {
    let reader = Reader::new(tidings)?;
    let name: String = name.nfc().collect();
    let order = reader.index.topic(&name);
    let first = reader.index.topic_page(&name, reader.now);
    let answer = reader.answer(page, &[FeedKind::topic(&name)], order, first)?;
    if let (Some(order), None, false) = (order, page.next, matches!(caller, Caller::Nobody)) {
        let Rendered { keys, .. } = render(&reader.index, order, 0, limit(page)?, reader.now);
        if !keys.is_empty() {
            record(tidings, caller, name, reader.index.commonest_tags(&keys), reader.now)?;
        }
    }
    Ok(answer)
}

/// The name of a topic's feed as it is recorded, and the tags that are recorded with it, had the feed been opened
/// at some time.
///
/// # Errors
/// When the store fails.
pub(crate) fn opened_at(tidings: &Tidings, name: &str, at: Timestamp) -> Result<(String, Vec<String>)> {
    let name: String = name.nfc().collect();
    let tags = tidings.feeds().index()?.topic_tags(&name, at);
    Ok((name, tags))
}

fn record(tidings: &Tidings, caller: &Caller, name: String, tags: Vec<String>, now: Timestamp) -> Result<()> {
    let identity = caller.identify(tidings);
    tidings.store().write(move |tx| {
        if let Some(member) = identity.visitor(tx)? {
            history::open(tx, &member, &name, &tags, now)?;
        }
        Ok(())
    })
}

/// Posts recommended to the caller: to a member by their interest, without what they have seen; to guests,
/// and to members who have done little yet, fresh and popular posts across topics.
///
/// # Errors
/// As [`popular`].
pub fn recommended(tidings: &Tidings, caller: &Caller, page: &Page<'_>) -> Result<FeedAnswer> {
    let reader = Reader::new(tidings)?;
    if let Some(answer) = reader.personal(caller, page)? {
        return Ok(answer);
    }
    let feed = &reader.index.recommended_feed;
    reader.answer(page, &[FeedKind::Recommended], Some(&feed.order), Some(&feed.first))
}

/// One look at the feeds: the index and the time that an answer is made of.
struct Reader<'t> {
    tidings: &'t Tidings,
    index: Arc<FeedIndex>,
    now: Timestamp,
}

impl<'t> Reader<'t> {
    fn new(tidings: &'t Tidings) -> Result<Self> {
        Ok(Self { tidings, index: tidings.feeds().index()?, now: tidings.now() })
    }

    /// A page of the order that `next` continues, or else of the `current` one; `first` is its first page
    /// of the usual length.
    fn answer(
        &self,
        page: &Page<'_>,
        kinds: &[FeedKind],
        current: Option<&Arc<Order>>,
        first: Option<&Arc<Encoded>>,
    ) -> Result<FeedAnswer> {
        let limit = limit(page)?;
        let Some(next) = page.next else {
            let made = first.filter(|_| limit == LIMIT && !self.index.has_ended(self.now));
            return Ok(match (made, current) {
                (Some(first), _) => FeedAnswer { body: Arc::clone(first) },
                (None, Some(order)) => self.render(order, 0, limit),
                (None, None) => self.render(&Order::fixed(kinds[0], Arc::from([])), 0, limit),
            });
        };
        let shared = &self.tidings.feeds().shared;
        let next = Next::read(next).ok_or(Error::BadRequest("next is not one that a page gave"))?;
        let order = shared.orders.find(next, kinds, current, self.tidings.clock().monotonic());
        let order = order.or_else(|| current.filter(|_| page.resumes).map(Arc::clone));
        let order = order.ok_or(Error::BadRequest("next has expired: begin again with the first page"))?;
        Ok(self.render(&order, next.place, next.limit))
    }

    /// A page of the caller's own feed, if they have one.
    fn personal(&self, caller: &Caller, page: &Page<'_>) -> Result<Option<FeedAnswer>> {
        if matches!(caller, Caller::Nobody | Caller::Operator) {
            return Ok(None);
        }
        let shared = &self.tidings.feeds().shared;
        let identity = caller.identify(self.tidings);
        let found = self.tidings.store().read(|tx| {
            let Some(member) = identity.visitor(tx)? else { return Ok(None) };
            let personal = shared.personals.get(tx, &member, &self.index, &shared.config, self.now)?;
            Ok::<_, Error>(Some((member.key, personal)))
        })?;
        let Some((key, personal)) = found else { return Ok(None) };
        // A member may go on with what they began as one who had done too little.
        let kinds = [FeedKind::Personal(key), FeedKind::Recommended];
        let Some(personal) = personal else {
            let guests = &self.index.recommended_feed;
            return self.answer(page, &kinds, Some(&guests.order), Some(&guests.first)).map(Some);
        };
        shared.orders.keep(&personal.order, self.tidings.clock().monotonic());
        self.answer(page, &kinds, Some(&personal.order), Some(&personal.first)).map(Some)
    }

    fn render(&self, order: &Order, place: usize, limit: usize) -> FeedAnswer {
        let Rendered { answer, .. } = render(&self.index, order, place, limit, self.now);
        FeedAnswer { body: Arc::new(Encoded::new(answer)) }
    }
}

fn limit(page: &Page<'_>) -> Result<usize> {
    let limit = page.limit.map_or(Some(LIMIT), |limit| usize::try_from(limit).ok());
    limit
        .filter(|limit| (1..=LIMIT_MAX).contains(limit))
        .ok_or(Error::BadRequest("limit is a number from 1 to 300"))
}
