//! The reasons why posts are in a feed: the share of each signal in the score of a post, and a sentence.
//!
//! The sentence is that of the largest of three sums: of the signals of the member's acts, of new posts, and of popular
//! posts. It tells the member's own acts and public facts, never what other people did:
//!
//! | sentence | of |
//! |---|---|
//! | because you liked “TITLE”, because you viewed “TITLE” | tag, word, meaning, near, together: the own post that is nearest |
//! | because you searched for “WORDS” | topic, tag, word, meaning, without such a post |
//! | more in NAME, which you read | topic: one of own posts or opened feeds; tag: one of opened feeds |
//! | new in TOPIC, new on SITE | novel, recent, age: the first topic, or the site of a post without topics |
//! | more in TOPIC, more on SITE | the same of a post that is more than [`NEW_DAYS`] older than the newest |
//! | popular today, popular | popular; today, if it is among the most popular and its acts are as young as that |

use std::cmp::Ordering;
use std::sync::Arc;

use super::Reader;
use super::answer::{SignalShares, Why};
use super::order::FeedKind;
use super::page::{FeedPage, Reasons};
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::item::Item;
use crate::newsfeed::signal::of_post::MemberSignals;
use crate::newsfeed::signal::{SIGNALS, Signal, Values};

use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::text::shortened;
use crate::post::heat;
use crate::profile::history;
use crate::record::error::Result;
use crate::record::id::{MemberKey, PostKey};

mod own;
#[cfg(test)]
mod tests;

use own::OwnActs;

/// Posts at most this number of days older than the newest are called new.
const NEW_DAYS: i64 = 30;
/// Only this number of first posts of the popular feed may be popular today.
const POPULAR_TODAY: usize = 30;
/// In characters, of a title, a search or a name in a sentence.
const NAMED_MAX: usize = 60;

/// Returns the reason of each post of a page of a feed.
///
/// In the caller's own feed, it is the share of each signal in the score for the member. For others, and in the part of a
/// member's feed that is the same for all readers, posts are popular, or recent if
/// nobody viewed or liked them, as in the popular feed. Posts of a topic's feed are recent.
///
/// # Errors
/// An error of the store.
pub fn why(tidings: &Tidings, caller: &Caller, page: &FeedPage) -> Result<Reasons> {
    Ok(compute(&Reader::new(tidings)?, caller, page)?.0)
}

/// Like [`why`], for a page that was read for this caller. Reuses reasons that still hold.
pub(crate) fn of_page(tidings: &Tidings, caller: &Caller, page: &FeedPage) -> Result<Arc<Reasons>> {
    let reader = Reader::new(tidings)?;
    if let Some(reasons) = page.reasons(reader.index.number, reader.now) {
        return Ok(reasons);
    }
    let (reasons, is_complete) = compute(&reader, caller, page)?;
    let reasons = Arc::new(reasons);
    if is_complete {
        page.set_reasons(&reasons);
    }
    Ok(reasons)
}

/// Also returns whether the reasons are complete: the reasons of a member's feed for another caller lack the signals.
fn compute(reader: &Reader<'_>, caller: &Caller, page: &FeedPage) -> Result<(Reasons, bool)> {
    let facts = PublicFacts::new(&reader.index, reader.now);
    let of_member = match page.kind() {
        FeedKind::Personal(key) => of_member(reader, &facts, caller, key, page)?,
        FeedKind::Popular | FeedKind::Topic(_) | FeedKind::Recommended => Some(Vec::new()),
    };
    let is_complete = of_member.is_some();
    let mut all = of_member.unwrap_or_default();
    all.extend(page.items()[all.len()..].iter().map(|item| facts.why(page.kind(), item)));
    let json = |why| serde_json::to_string(why).expect("texts and numbers serialise without errors");
    let json = all.iter().map(|why| json(why).into()).collect();
    Ok((Reasons { json, index: reader.index.number, at: reader.now }, is_complete))
}

/// Only the posts that were ranked for the member; none if the acts of the member rank no posts. `None` if the caller is not the
/// member.
fn of_member(
    reader: &Reader<'_>,
    facts: &PublicFacts<'_>,
    caller: &Caller,
    key: MemberKey,
    page: &FeedPage,
) -> Result<Option<Vec<Why>>> {
    let (of, config) = (reader.ingredients()?, &reader.tidings.config().feed);
    let feed = if super::is_guest(caller) { None } else { reader.of_caller(caller, &of)? };
    let Some((_, personal)) = feed.filter(|(member, _)| *member == key) else { return Ok(None) };
    let named =
        super::of_member(reader.tidings, caller, |tx, member| Ok(history::searched_and_opened(tx, member)?))?;
    let Some((searched, opened)) = named else { return Ok(None) };
    let Some((personal, by)) = personal.as_deref().and_then(|of| Some((of, of.ranked_by.as_ref()?))) else {
        return Ok(Some(Vec::new()));
    };
    let moment = of.moment();
    let mut signals = MemberSignals::new(&moment, &by.interest, &by.acts, config);
    let own = OwnActs::new(&moment, personal, &by.acts, (&searched, &opened), &config.interest);
    let mut why = |item: &Item| {
        let Some(position) = reader.index.position(item.key) else { return facts.why(page.kind(), item) };
        let mut parts = signals.of(position);
        parts.iter_mut().zip(by.weights.0).for_each(|(part, weight)| *part *= weight);
        reason(&parts, |signal| match signal {
            Signal::Novel | Signal::Recent | Signal::Age | Signal::Popular => {
                Some(facts.sentence(signal, page.kind(), item))
            }
            _ => own.sentence(signal, position),
        })
    };
    Ok(Some(page.items()[..page.ranked()].iter().map(|item| why(item)).collect()))
}

struct PublicFacts<'i> {
    index: &'i FeedIndex,
    now: Timestamp,
    newest: Timestamp,
    popular: Vec<PostKey>,
}

impl<'i> PublicFacts<'i> {
    fn new(index: &'i FeedIndex, now: Timestamp) -> Self {
        let popular = index.popular_feed.order.from(0).take(POPULAR_TODAY).map(|(_, key)| key);
        let newest = if index.len() > 0 { index.date(0) } else { Timestamp::MIN };
        Self { index, now, newest, popular: popular.collect() }
    }

    fn why(&self, kind: FeedKind, item: &Item) -> Why {
        let mut parts = [0.0; SIGNALS];
        let is_popular = item.heat.is_some() && !matches!(kind, FeedKind::Topic(_));
        parts[if is_popular { Signal::Popular } else { Signal::Recent } as usize] = 1.0;
        reason(&parts, |signal| Some(self.sentence(signal, kind, item)))
    }

    fn sentence(&self, signal: Signal, kind: FeedKind, item: &Item) -> String {
        let word = if self.newest - item.about.date > NEW_DAYS * DAY_MS { "more" } else { "new" };
        if signal == Signal::Popular {
            let text = if self.is_popular_today(item) { "popular today" } else { "popular" };
            return text.to_owned();
        }
        if let Some(topic) = name_in(kind, item) {
            return format!("{word} in {}", named(topic));
        }
        site(item).map_or_else(|| word.to_owned(), |site| format!("{word} on {}", named(&site)))
    }

    /// True if the post is among the most popular ones, and its views and likes weigh as much as if each were at most a day old.
    fn is_popular_today(&self, item: &Item) -> bool {
        // Few posts are, and the others need not be decoded.
        if !self.popular.contains(&item.key) {
            return false;
        }
        let post = item.post();
        let weight = heat::weight_of(post.view, post.fav_cnt);
        let decay = self.index.as_of.popularity.decay();
        weight > 0.0 && decay.worth(item.heat, self.now) >= weight * decay.after_a_day()
    }
}

const fn group(signal: Signal) -> (u8, u8) {
    match signal {
        Signal::Topic => (0, 0),
        Signal::Tag | Signal::Word | Signal::Meaning | Signal::Near => (0, 1),
        Signal::CoVisits => (0, 2),
        Signal::Novel | Signal::Recent | Signal::Age => (1, 0),
        Signal::Popular => (2, 0),
    }
}

/// `parts` are what each signal adds to the score of the post. `sentence` returns the sentence of a signal, if it has one. It is
/// called for the signals in the order of what their group, their part of it and they themselves add.
fn reason(parts: &Values, mut sentence: impl FnMut(Signal) -> Option<String>) -> Why {
    let sum = |is_in: &dyn Fn(Signal) -> bool| -> f32 {
        Signal::ALL
            .into_iter()
            .filter(|signal| is_in(*signal))
            .map(|signal| parts[signal as usize].max(0.0))
            .sum()
    };
    let sums = Signal::ALL.map(|signal| {
        let (of, part) = group(signal);
        [sum(&|other| group(other).0 == of), sum(&|other| group(other) == (of, part)), parts[signal as usize]]
    });
    let mut signals = Signal::ALL;
    // The sort is stable, so the first of equal signals stays the first.
    signals.sort_by(|a, b| {
        let [a, b] = [a, b].map(|signal| &sums[*signal as usize]);
        b.partial_cmp(a).unwrap_or(Ordering::Equal)
    });
    let mut adding = signals.into_iter().filter(|signal| parts[*signal as usize] > 0.0);
    let text = adding.find_map(&mut sentence);
    // A post without a score is at the end of a feed, behind all that have one.
    let text = text.or_else(|| sentence(Signal::Recent)).unwrap_or_default();
    Why { text, shares: shares(parts) }
}

/// Rounded to thousandths by the largest remainders, so that the shares sum to 1. Negative parts count as 0.
fn shares(parts: &Values) -> SignalShares {
    // A zero with a sign would be -0.0 in JSON.
    let parts = parts.map(|part| if part > 0.0 { f64::from(part) } else { 0.0 });
    let sum: f64 = parts.iter().sum();
    if sum <= 0.0 {
        return SignalShares::default();
    }
    let exact = parts.map(|part| part / sum * 1_000.0);
    let mut thousandths = exact.map(f64::floor);
    let mut by_remainder: Vec<usize> = (0..SIGNALS).collect();
    by_remainder.sort_by(|a, b| (exact[*b] - thousandths[*b]).total_cmp(&(exact[*a] - thousandths[*a])));
    let missing = 1_000.0 - thousandths.iter().sum::<f64>();
    for (at, _) in by_remainder.into_iter().zip(1_u16..).take_while(|(_, n)| f64::from(*n) <= missing) {
        thousandths[at] += 1.0;
    }
    let [topic, tag, word, meaning, near, novel, recent, age, popular, together] =
        thousandths.map(|share| share / 1_000.0);
    SignalShares { topic, tag, word, meaning, near, novel, recent, age, popular, together }
}

/// Otherwise the first topic of the post.
fn name_in(kind: FeedKind, item: &Item) -> Option<&str> {
    let about = &item.about;
    let mut all = about.topic.iter().chain(&about.tag);
    let of_feed = all.find(|name| FeedKind::topic(name) == kind);
    of_feed.or(about.topic.first()).map(|name| &**name)
}

fn site(item: &Item) -> Option<String> {
    url::Url::parse(&item.post().url).ok()?.host_str().map(str::to_owned)
}

fn named(text: &str) -> String {
    shortened(text.to_owned(), NAMED_MAX)
}
