//! The choices that members made in the past: after each visit, the posts that they turned to, and posts that the feed could
//! have shown instead.

use std::hash::{Hash as _, Hasher as _};

use super::gain::ndcg;
use super::recent::{PastAct, Replay};
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::signal::co_visits::ItemNeighbours;
use crate::newsfeed::signal::interest::{Interest, measure};
use crate::newsfeed::signal::of_post::MemberSignals;
use crate::newsfeed::signal::popularity::{self, Popularity};

use super::logit::{Choices, Vector};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::base::keyed::{OwnSet, Unkeyed};
use crate::newsfeed::signal::Scoring;
use crate::newsfeed::signal::score::ScoringContext;
use crate::profile::history::{self, Acts};
use crate::record::error::Result;
use crate::record::id::{MemberKey, PostKey};
use crate::store::Store;

/// The latest visits count.
const VISITS_MAX: usize = 600;
/// The maximum of the number of visits times the number of posts, because a visit takes a time that grows with the posts.
const WORK_MAX: usize = 15_000_000;
/// The latest visits of a member count; the maximum prevents one member's taste from dominating.
const OF_MEMBER_MAX: usize = 20;
const CHOSEN_MAX: usize = 10;
/// The time from the beginning of the day of a visit in which posts are chosen: the feed of one day alone would teach that
/// only the news of that day matter.
const HORIZON_MS: i64 = 30 * DAY_MS;
/// With at least this number of acts, the second half of a day is a separate visit: some members come once and act a lot.
const LONG: usize = 10;
/// The member could have chosen this number of newest posts instead.
const NEWEST: usize = 60;
/// The member could have chosen this number of posts, sampled from the others, instead.
const SAMPLED: usize = 100;
const EPOCHS: usize = 8;

/// A visit: a day on which a member acted, or the second half of a day with many acts.
pub(crate) struct Visit {
    pub(crate) member: MemberKey,
    /// The time of the request for the feed: the beginning of the day (UTC), or the middle act.
    at: Timestamp,
    chosen: Vec<PostKey>,
}

/// Returns the latest visits of members with enough acts before, the earliest first. `acts` are in the order of their times;
/// `posts` is the number of posts in the index.
pub(crate) fn visits(acts: &[PastAct], posts: usize, config: &Feed) -> Vec<Visit> {
    let mut acts: Vec<&PastAct> = acts.iter().collect();
    acts.sort_by_key(|act| act.member);
    let day = |act: &PastAct| act.at.as_millis().div_euclid(DAY_MS);
    let mut all = Vec::new();
    for own in acts.chunk_by(|a, b| a.member == b.member) {
        let (mut seen, mut visits) = (OwnSet::default(), Vec::new());
        let mut begin = 0;
        for today in own.chunk_by(|a, b| day(a) == day(b)) {
            let middle = Some(today.len() / 2).filter(|_| today.len() >= LONG);
            let asked = [
                Some((0, Timestamp::from_millis(day(today[0]) * DAY_MS))),
                middle.map(|at| (at, today[at].at)),
            ];
            let mut known = 0;
            for (acts, at) in asked.into_iter().flatten() {
                seen.extend(today[known..acts].iter().map(|act| act.post));
                known = acts;
                if begin + acts >= config.interest.min_acts.max(1) {
                    let later = own[begin + acts..].iter().take_while(|act| act.at < at + HORIZON_MS);
                    let new = later.map(|act| act.post).filter(|post| !seen.contains(post));
                    visits.push(Visit { member: today[0].member, at, chosen: first(new) });
                }
            }
            seen.extend(today[known..].iter().map(|act| act.post));
            begin += today.len();
        }
        all.extend(visits.drain(visits.len().saturating_sub(OF_MEMBER_MAX)..));
    }
    all.sort_by_key(|visit| (visit.at, visit.member));
    let max = VISITS_MAX.min(WORK_MAX / posts.max(1));
    all.drain(..all.len().saturating_sub(max));
    all
}

/// The first distinct posts. Some of them may not have existed at the time of the visit.
fn first(posts: impl Iterator<Item = PostKey>) -> Vec<PostKey> {
    let mut first = Vec::new();
    for post in posts {
        if first.len() < 2 * CHOSEN_MAX && !first.contains(&post) {
            first.push(post);
        }
    }
    first
}

pub(crate) struct Lesson<'a> {
    pub(crate) visit: &'a Visit,
    moment: &'a ScoringContext<'a>,
    acts: Acts,
    interest: Interest,
    /// As positions.
    chosen: Vec<u32>,
    config: &'a Feed,
}

/// Calls `teach` with each visit on which the member chose posts that existed, and its number. Ends early if `is_stopped`.
pub(crate) fn walk(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    (popularity, config): (Popularity, &Feed),
    visits: &[Visit],
    is_stopped: &dyn Fn() -> bool,
    mut teach: impl FnMut(usize, &Lesson<'_>),
) -> Result<()> {
    let (mut replay, mut neighbours) = (Replay::new(index, acts), ItemNeighbours::default());
    let epoch = visits.len().div_ceil(EPOCHS).max(1);
    for (number, visit) in visits.iter().enumerate().take_while(|_| !is_stopped()) {
        replay.go_to(visit.at);
        if number.is_multiple_of(epoch) {
            neighbours = ItemNeighbours::new(&replay.together);
        }
        let acts = store.read(|tx| history::acts_before(tx, visit.member, visit.at))?;
        let popular = popularity::of_posts(&replay.heats(popularity.decay()));
        let moment = ScoringContext::past(index, visit.at, popular, &neighbours);
        let existed = |at: &u32| *at as usize >= moment.first;
        let chosen = visit.chosen.iter().filter_map(|post| index.position(*post)).filter(existed);
        let chosen: Vec<u32> = chosen.take(CHOSEN_MAX).collect();
        if let Some(interest) = measure(&acts, &config.interest, index)
            && !chosen.is_empty()
        {
            teach(number, &Lesson { visit, moment: &moment, acts, interest, chosen, config });
        }
    }
    Ok(())
}

impl Lesson<'_> {
    /// `None` if there was nothing else to choose.
    pub(crate) fn choices(&self) -> Option<Choices> {
        let Self { visit, moment, acts, .. } = self;
        let index = moment.index;
        let seen = acts.liked.iter().chain(&acts.viewed).chain(&acts.hidden).map(|(post, _)| *post);
        let left_out = seen.chain(visit.chosen.iter().copied()).filter_map(|post| index.position(post));
        let others = sample(moment, visit.member, &left_out.chain(index.ended(moment.at)).collect());
        let mut signals = MemberSignals::new(moment, &self.interest, acts, self.config);
        let mut of = |position: u32| -> Vector { signals.of(position).map(f64::from) };
        (!others.is_empty()).then(|| Choices {
            chosen: self.chosen.iter().copied().map(&mut of).collect(),
            others: others.into_iter().map(|(position, offset)| (of(position), offset)).collect(),
        })
    }

    /// See [`ndcg`].
    pub(crate) fn gain(&self, scoring: &Scoring) -> f64 {
        let Self { visit, moment, acts, interest, .. } = self;
        let seen: Vec<PostKey> = acts.liked.iter().chain(&acts.viewed).map(|(post, _)| *post).collect();
        let ranking = moment.rank(interest, acts, &seen, visit.member, scoring, self.config);
        let chosen = self.chosen.iter().map(|at| moment.index.key(*at)).collect();
        ndcg(&ranking, &chosen)
    }
}

/// Returns posts that the member could have chosen, each with the logarithm of the number of posts that it stands for. The same
/// member and time always give the same posts.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "positions fit 32 bits")]
fn sample(moment: &ScoringContext<'_>, member: MemberKey, left_out: &OwnSet<u32>) -> Vec<(u32, f64)> {
    let rest = (moment.first as u32..moment.index.len() as u32).filter(|at| !left_out.contains(at));
    let mut rest: Vec<u32> = rest.collect();
    let older = rest.split_off(NEWEST.min(rest.len()));
    let newest = rest.into_iter().map(|at| (at, 0.0));
    let count = SAMPLED.min(older.len());
    let offset = (older.len() as f64 / count as f64).ln();
    // One post of each of `count` equal parts.
    let sampled = (0..count).map(|part| {
        let (begin, end) = (part * older.len() / count, (part + 1) * older.len() / count);
        let mut hasher = Unkeyed::default();
        (member, moment.at.as_millis(), part).hash(&mut hasher);
        (older[begin + hasher.finish() as usize % (end - begin)], offset)
    });
    newest.chain(sampled).collect()
}
