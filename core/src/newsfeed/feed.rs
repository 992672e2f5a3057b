//! The feeds that callers get: the functions, and what makes a page.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;

use super::index::{FeedIndex, GuestFeed, item};
use super::index_cache::CurrentIndex;
use crate::Tidings;
use crate::account::{Caller, Member};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnSet;
use crate::post::origin;
use crate::profile::history;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::PostKey;
use crate::store::{Isolation, Tx};

mod answer;
mod more;
mod operations;
pub(crate) mod order;
pub(crate) mod order_cache;
pub(crate) mod own_likes;
pub(crate) mod page;
pub(crate) mod personal;
pub(crate) mod shared_orders;
#[cfg(test)]
pub(crate) mod tests;
mod why;

pub use answer::{FeedPost, FeedPosts, Newsfeed, SignalShares, SimilarPost, Why};
pub use more::{FeedEntry, entries, likes, similar, sources};
pub use operations::{ListPopular, ListRecommended, ListSource, ListTopic, ListTopicV1, Paging};
pub use order::{LIMIT, LIMIT_MAX};
pub use own_likes::{has_own_likes, with_own_likes};
pub use page::{FeedPage, More, Reasons};
pub use why::why;

use order::{FeedKind, Next, Order};
use personal::{Ingredients, MemberFeed};
use shared_orders::Found;

/// Selects a page of a feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// The number of posts, 1 to 300; `None` for 150. A page that continues another one has the number of posts of that page.
    pub limit: Option<i64>,
    /// The [`FeedPage::next`] of the previous page; `None` for the first page.
    pub next: Option<&'a str>,
    /// Whether a `next` whose order is no longer cached continues the current order from the same place instead of
    /// failing. This is for processes that end between two pages, such as a command.
    pub resumes: bool,
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.feeds().start()
}

/// Returns popular posts, ordered by views and likes, whose weight decreases with age. Posts without views and likes
/// follow, newest first.
///
/// # Errors
/// `bad request` for a limit that is out of its bounds, and for a `next` that is invalid or has expired.
pub fn popular(tidings: &Tidings, page: &Page<'_>) -> Result<FeedPage> {
    let reader = Reader::new(tidings)?;
    reader.of_guests(page, &[FeedKind::Popular], &reader.index.popular_feed)
}

/// Returns the posts with the topic or tag `name`, newest first; an empty page if no post has it.
///
/// If the caller is a member and the first page has posts, the page is recorded in the member's list of newsfeeds.
///
/// # Errors
/// The errors of [`popular`].
pub fn topic(tidings: &Tidings, caller: &Caller, name: &str, page: &Page<'_>) -> Result<FeedPage> {
    let (reader, name) = (Reader::new(tidings)?, name.nfc().collect::<String>());
    let answer = reader.of_topic(page, &name)?;
    if page.next.is_none() && !matches!(caller, Caller::Guest) && !answer.items().is_empty() {
        // Computed here, so that the thread of the writer does not.
        answer.commonest_tags();
        let (identity, page, now) = (caller.identify(tidings), answer.clone(), reader.now);
        // This adds an entry to a list. Pruning the list leaves out what another transaction prunes.
        tidings.store().write(Isolation::Concurrent, move |tx| match identity.visitor(tx)? {
            Some(member) => Ok(history::open(tx, &member, &name, page.commonest_tags(), now)?),
            None => Ok::<_, Error>(()),
        })?;
    }
    Ok(answer)
}

/// And the tags that [`topic`] would have recorded with it at the time `at`.
pub(crate) fn opened_at(tidings: &Tidings, name: &str, at: Timestamp) -> Result<(String, Vec<String>)> {
    let name: String = name.nfc().collect();
    let tags = tidings.feeds().index()?.topic_tags(&name, at);
    Ok((name, tags))
}

/// Returns the posts of the source with this id, newest first.
///
/// # Errors
/// `Not found` without such a source, and the errors of [`popular`].
pub fn of_source(tidings: &Tidings, id: &str, page: &Page<'_>) -> Result<FeedPage> {
    let source = tidings.store().read(|tx| origin::source_key(tx, id))?.ok_or(Error::NotFound)?;
    Reader::new(tidings)?.of_topic(page, &item::origin(source))
}

/// Returns posts recommended to the caller: for a member with enough acts, by the member's interest and without the
/// posts that the member has seen; for others, popular and fresh posts of all topics.
///
/// # Errors
/// The errors of [`popular`].
pub fn recommended(tidings: &Tidings, caller: &Caller, page: &Page<'_>) -> Result<FeedPage> {
    let reader = Reader::new(tidings)?;
    let (guests, orders) = (&reader.index.recommended_feed, &tidings.feeds().shared.orders);
    let feed = if is_guest(caller) { None } else { reader.of_caller(caller, &reader.ingredients()?)? };
    let Some((member, personal)) = feed else {
        return reader.of_guests(page, &[FeedKind::Recommended], guests);
    };
    // A member may continue a page from before they had enough acts.
    let kinds = [FeedKind::Personal(member), FeedKind::Recommended];
    let Some(personal) = personal else { return reader.of_guests(page, &kinds, guests) };
    // Members with few acts got the guests' order, which no cache keeps as long as it is the current one.
    let is_of_guests = page.next.and_then(Next::read).is_some_and(|next| next.order == guests.order.id);
    let order = if is_of_guests { &guests.order } else { &personal.order };
    let answer = reader.page(page, &kinds, Some(order), Some(&personal.first), &personal.hidden)?;
    // A page that continues an earlier order leaves that one in its place.
    if answer.next().and_then(Next::read).is_some_and(|next| next.order == personal.order.id) {
        orders.insert(&personal.order, tidings.clock().monotonic());
    }
    Ok(answer)
}

fn is_guest(caller: &Caller) -> bool {
    matches!(caller, Caller::Guest | Caller::Operator)
}

/// Reads what is the caller's own; `None` if the caller is not a member.
fn of_member<T>(
    tidings: &Tidings,
    caller: &Caller,
    read: impl FnOnce(&mut dyn Tx, &Member<'_>) -> Result<T>,
) -> Result<Option<T>> {
    if is_guest(caller) {
        return Ok(None);
    }
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| identity.visitor(tx)?.map(|member| read(tx, &member)).transpose())
}

struct Reader<'t> {
    tidings: &'t Tidings,
    index: CurrentIndex,
    now: Timestamp,
}

impl<'t> Reader<'t> {
    fn new(tidings: &'t Tidings) -> Result<Self> {
        Ok(Self { tidings, index: tidings.feeds().index()?, now: tidings.now() })
    }

    fn of_guests(&self, page: &Page<'_>, kinds: &[FeedKind], feed: &GuestFeed) -> Result<FeedPage> {
        self.page(page, kinds, Some(&feed.order), Some(&feed.first), &OwnSet::default())
    }

    fn of_topic(&self, page: &Page<'_>, name: &str) -> Result<FeedPage> {
        let (order, first) = (self.index.topic(name), self.index.topic_page(name, self.now));
        self.page(page, &[FeedKind::topic(name)], order, first, &OwnSet::default())
    }

    /// Continues the order of `page.next`, or begins the `current` order without a `next`. `first` is the precomputed first page
    /// of the current order with [`LIMIT`] posts. The current order lacks the `hidden` posts, but others may have them.
    fn page(
        &self,
        page: &Page<'_>,
        kinds: &[FeedKind],
        current: Option<&Arc<Order>>,
        first: Option<&FeedPage>,
        hidden: &OwnSet<PostKey>,
    ) -> Result<FeedPage> {
        let limit = limit(page)?;
        let Some(next) = page.next else {
            let first = first.filter(|_| limit == LIMIT && !self.index.has_ended(self.now));
            let answer = match (first, current) {
                (Some(first), _) => first.clone(),
                (None, Some(order)) => self.index.page(order, 0, limit, self.now),
                (None, None) => FeedPage::empty(kinds[0]),
            };
            self.publish(current, &answer);
            return Ok(answer);
        };
        let orders = &self.tidings.feeds().shared.orders;
        let next = Next::read(next).ok_or(Error::BadRequest(NEXT_RULE))?;
        if let Some(order) = orders.find(next, kinds, current, self.tidings.clock().monotonic()) {
            return Ok(self.index.page_without(hidden, &order, next.place, next.limit, self.now));
        }
        if let Some((order, index)) = self.published(next, kinds)? {
            return Ok(index.page_without(hidden, &order, next.place, next.limit, self.now));
        }
        let order = current.filter(|_| page.resumes);
        let order = order.ok_or(Error::BadRequest(NEXT_EXPIRED))?;
        let answer = self.index.page(order, next.place, next.limit, self.now);
        self.publish(current, &answer);
        Ok(answer)
    }

    /// Lets other servers continue the order, unless the page ends the feed.
    fn publish(&self, order: Option<&Arc<Order>>, page: &FeedPage) {
        if let (Some(published), Some(order)) = (&self.tidings.feeds().shared.published, order)
            && page.next().is_some()
        {
            published.publish(order);
        }
    }

    /// Returns the order that another server has published, with an index that has all its posts.
    fn published(&self, next: Next, kinds: &[FeedKind]) -> Result<Option<(Arc<Order>, Arc<FeedIndex>)>> {
        let shared = &self.tidings.feeds().shared;
        let Some(published) = &shared.published else { return Ok(None) };
        let Some(Found { order, age, revision }) = published.find(next, kinds)? else { return Ok(None) };
        shared.orders.insert(&order, self.tidings.clock().monotonic() - age);
        let has_all = order.from(next.place).all(|(_, key)| self.index.position(key).is_some());
        let index = if has_all { Arc::clone(&self.index) } else { shared.index_since(revision)? };
        Ok(Some((order, index)))
    }

    fn ingredients(&self) -> Result<Ingredients<'_>> {
        let shared = &self.tidings.feeds().shared;
        // Before the acts are read, which would keep the connection while the first similarity is computed.
        self.index.similarity();
        let (others, scoring) = (shared.others()?, shared.scoring());
        Ok(Ingredients { index: &self.index, at: self.now, others, scoring, config: &shared.config })
    }

    /// `None` if the caller is not a member.
    fn of_caller(&self, caller: &Caller, of: &Ingredients<'_>) -> Result<Option<MemberFeed>> {
        let shared = &self.tidings.feeds().shared;
        shared.personals.get(self.tidings.store(), &caller.identify(self.tidings), of)
    }
}

const NEXT_RULE: Problem = Problem::invalid("next", "next is not from a previous page");
const NEXT_EXPIRED: Problem =
    Problem::new(Code::NextExpired, "next has expired: begin again with the first page");

fn limit(page: &Page<'_>) -> Result<usize> {
    let limit = page.limit.map_or(Some(LIMIT), |limit| usize::try_from(limit).ok());
    limit
        .filter(|limit| (1..=LIMIT_MAX).contains(limit))
        .ok_or(Error::BadRequest(Problem::invalid("limit", "limit is a number from 1 to 300")))
}
