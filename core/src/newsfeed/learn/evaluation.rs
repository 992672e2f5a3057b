//! Compares orders on past acts in pairs, because all have the same hard and easy members. Source: Herlocker, Konstan, Terveen and
//! Riedl, *Evaluating collaborative filtering recommender systems*, ACM TOIS 22(1), 2004; split by time, because a feed is
//! requested before its readers act.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::gain::{Clusters, FIRST, ndcg};
use super::recent::{PastAct, Replay};
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnSet;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::load::{AsOf, Seen};
use crate::newsfeed::index::meaning::Lexicon;
use crate::newsfeed::signal::co_visits::ItemNeighbours;
use crate::newsfeed::signal::popularity::{self, Popularity};
use crate::newsfeed::signal::score::ScoringContext;
use crate::newsfeed::signal::{Scoring, Signal, Weights};
use crate::post::feed_rows;
use crate::profile::history;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::{MemberKey, PostKey};
use crate::store::{StoreError, Tx};

const NO_MEMBERS: Problem =
    Problem::new(Code::NotPossible, "no member liked or viewed an earlier post after that time");

/// In the order of the report.
const RANKINGS: [&str; 4] = ["recommended", "settings", "newest", "popular"];
const SETTINGS: usize = 1;
const TOP: usize = 30;

/// Settings of which other weights are tried, with their signals. Interest is one setting.
const WEIGHTS: [(&str, &[Signal]); 6] = [
    ("interest-weight", &[Signal::Topic, Signal::Tag, Signal::Word, Signal::Meaning]),
    ("near-weight", &[Signal::Near]),
    ("novel-weight", &[Signal::Novel]),
    ("recent-weight", &[Signal::Recent]),
    ("popular-weight", &[Signal::Popular]),
    ("together-weight", &[Signal::CoVisits]),
];
/// The maximum number of members with whom other weights are tried, and the minimum for a statement about them.
const TRIED_MAX: usize = 1_000;
const TRIED_MIN: usize = 20;
/// By chance, the best of twelve weights exceeds this number of standard errors in about one of ten evaluations.
const TRIED_ERRORS: f64 = 2.6;

/// The result of [`evaluate`].
#[derive(Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The time that splits the acts.
    pub at: Timestamp,
    /// The number of members who liked or viewed a new post after that time.
    pub members: usize,
    /// The number of posts that the feeds were computed from.
    pub posts: usize,
    /// The quality of each order, the recommended feed first.
    pub rows: Vec<Quality>,
    /// The weight of the settings that would serve better, halved or doubled; `None` if none is measurably better.
    pub better_weight: Option<BetterWeight>,
}

/// The quality of an order. Figures are from 0 to 1, and differences from −1 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// `recommended`: the recommended feed, with weights learned from the acts before the split, if it learns; `settings`:
    /// the recommended feed with the weights of the settings; `newest`: all posts, newest first; `popular`: the popular feed.
    pub ranking: &'static str,
    /// The normalised discounted cumulative gain of the first ten posts, averaged.
    pub ndcg10: f64,
    /// The standard error of `ndcg10`.
    pub ndcg10_error: f64,
    /// How much greater the `ndcg10` of the recommended feed is.
    pub lead: f64,
    /// The standard error of `lead`, computed from pairs.
    pub lead_error: f64,
    /// The share of the relevant posts among the first thirty, averaged.
    pub recall30: f64,
    /// The share of all posts that are among the first ten of at least one member.
    pub coverage: f64,
}

/// Another weight for a setting.
#[derive(Debug, PartialEq, Serialize)]
pub struct BetterWeight {
    /// The setting.
    pub setting: &'static str,
    /// The factor of its weight.
    pub factor: f32,
    /// How much greater the `ndcg10` of `settings` would be.
    pub gain: f64,
    /// The standard error of `gain`, computed from pairs.
    pub gain_error: f64,
}

/// Parses the time that splits the acts, a date or a time in RFC 3339.
///
/// # Errors
/// `bad request` if it is neither.
pub fn split_time(at: &str) -> Result<Timestamp> {
    Timestamp::parse(at).ok_or(Error::BadRequest(Problem::invalid("at", "at is a date in RFC 3339")))
}

/// Computes the feeds as of the time `at`, and compares them with the later acts of each member. By default, a fifth of all
/// likes and views come after `at`. No order contains posts that the member had seen. `progress` receives values from 0 to 1.
/// The database is not changed.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `bad request` if no member liked or viewed an earlier post after `at`.
pub fn evaluate(
    tidings: &Tidings,
    caller: &Caller,
    at: Option<Timestamp>,
    progress: &mut dyn FnMut(f64),
) -> Result<Evaluation> {
    caller.operator()?;
    let (store, config) = (tidings.store(), &tidings.config().feed);
    let acts = store.read(all_acts)?;
    let fifth = || acts.iter().nth_back((acts.len() / 5).saturating_sub(1)).map(|act| act.at);
    let at = at.or_else(fifth).ok_or(Error::BadRequest(NO_MEMBERS))?;
    let (earlier, later) = acts.split_at(acts.partition_point(|act| act.at < at));
    let posts = store.read(|tx| feed_rows::until(tx, at, config.posts))?;
    let lexicon = tidings.words().current().map(|model| Arc::new(Lexicon::new(model)));
    let as_of =
        AsOf { revision: 0, now: at, popularity: Popularity::of(config, None), seen: Seen::default() };
    let index = FeedIndex::next(None, posts, &[], lexicon.as_ref(), as_of, config);
    // The feed as it would have been at that time.
    let lessons = super::learn_all(store, &index, earlier, config, None, at, &|| false)?;
    let popularity = Popularity::of(config, lessons.popularity.as_ref());
    let of_settings = Scoring::of(config);
    let better = lessons.weights.filter(|learned| learned.is_better);
    let in_use = better.map_or(of_settings.clone(), |learned| Scoring::learned(learned.weights, config));
    let mut past = Replay::new(&index, earlier);
    past.go_to(at);
    let others = ItemNeighbours::new(&past.together);
    let heats = past.heats(popularity.decay());
    let moment = ScoringContext::past(&index, at, popularity::of_posts(&heats), &others);
    let of_guests = index.most_recommendable(moment.first, (&heats, popularity.decay()), at, config);
    let most_popular = index.hottest(moment.first, |position| heats[position as usize], at);
    let ended: OwnSet<PostKey> = index.ended(at).map(|position| index.key(position)).collect();

    let (seen, chosen) = (posts_by_member(earlier), posts_by_member(later));
    let mut scores: [Scores; RANKINGS.len()] = Default::default();
    let mut trials = trials(&of_settings);
    let tried_each = chosen.len().div_ceil(TRIED_MAX).max(1);
    for (done, (member, later)) in chosen.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
        progress(done as f64 / chosen.len() as f64);
        let seen = seen.get(member).map_or(&[][..], |seen| seen);
        let hidden: OwnSet<PostKey> = seen.iter().chain(&ended).copied().collect();
        let can_be_shown = |key: &PostKey| index.position(*key).is_some() && !hidden.contains(key);
        let relevant: OwnSet<PostKey> = later.iter().copied().filter(can_be_shown).collect();
        if relevant.is_empty() {
            continue;
        }
        let own = store.read(|tx| history::acts_before(tx, *member, at))?;
        let first = |keys: &mut dyn Iterator<Item = PostKey>| -> Vec<PostKey> {
            keys.filter(can_be_shown).take(TOP).collect()
        };
        let feed = |scoring: &Scoring| match moment.recommend(&own, seen, *member, scoring, config) {
            Some(keys) => first(&mut keys.into_iter()),
            None => first(&mut of_guests.iter().copied()),
        };
        let rankings = [
            feed(&in_use),
            feed(&of_settings),
            first(&mut index.snapshot.keys.iter().copied()),
            first(&mut most_popular.iter().map(|position| index.key(*position))),
        ];
        let [recommended, settings] = [0, SETTINGS].map(|at| ndcg(&rankings[at], &relevant));
        for (scores, ranking) in scores.iter_mut().zip(&rankings) {
            scores.add(*member, ranking, &relevant, recommended);
        }
        if done % tried_each == 0 {
            for tried in &mut trials {
                tried.gains.add(*member, ndcg(&feed(&tried.scoring), &relevant) - settings);
            }
        }
    }
    let members = scores[0].gains.members();
    if members == 0 {
        return Err(Error::BadRequest(NO_MEMBERS));
    }
    let rows = RANKINGS.iter().zip(&scores).map(|(ranking, scores)| scores.quality(ranking, index.len()));
    let better_weight = best(&trials);
    Ok(Evaluation { at, members, posts: index.len(), rows: rows.collect(), better_weight })
}

/// The earliest first.
fn all_acts(tx: &mut dyn Tx) -> Result<Vec<PastAct>, StoreError> {
    let mut acts = Vec::new();
    for (table, is_like) in [("liked", true), ("viewed", false)] {
        tx.for_each(&format!("SELECT member, post, date FROM {table}"), &[], &mut |row| {
            let (member, post, at) = (row.take(0)?, row.take(1)?, row.take(2)?);
            acts.push(PastAct { at, member, post, is_like });
            Ok(())
        })?;
    }
    acts.sort_unstable_by_key(PastAct::order);
    Ok(acts)
}

fn posts_by_member(acts: &[PastAct]) -> BTreeMap<MemberKey, Vec<PostKey>> {
    let mut posts: BTreeMap<MemberKey, Vec<PostKey>> = BTreeMap::new();
    for act in acts {
        posts.entry(act.member).or_default().push(act.post);
    }
    posts
}

#[derive(Default)]
struct Scores {
    gains: Clusters,
    /// How much greater the gains of the recommended feed are.
    leads: Clusters,
    recalls: Clusters,
    shown: OwnSet<PostKey>,
}

#[expect(clippy::cast_precision_loss, reason = "members and posts are far fewer than 2^53")]
impl Scores {
    fn add(&mut self, member: MemberKey, ranking: &[PostKey], relevant: &OwnSet<PostKey>, recommended: f64) {
        let gain = ndcg(ranking, relevant);
        self.gains.add(member, gain);
        self.leads.add(member, recommended - gain);
        let found = ranking.iter().filter(|post| relevant.contains(post)).count();
        self.recalls.add(member, found as f64 / relevant.len() as f64);
        self.shown.extend(ranking.iter().take(FIRST));
    }

    fn quality(&self, ranking: &'static str, posts: usize) -> Quality {
        Quality {
            ranking,
            ndcg10: rounded(self.gains.mean()),
            ndcg10_error: rounded(self.gains.error()),
            lead: rounded(self.leads.mean()),
            lead_error: rounded(self.leads.error()),
            recall30: rounded(self.recalls.mean()),
            coverage: rounded(self.shown.len() as f64 / posts as f64),
        }
    }
}

struct Tried {
    setting: &'static str,
    factor: f32,
    scoring: Scoring,
    gains: Clusters,
}

/// Halves and doubles each weight. A weight of 0 cannot be scaled, so it is left out.
fn trials(scoring: &Scoring) -> Vec<Tried> {
    let is_on = |signals: &[Signal]| signals.iter().any(|signal| scoring.weights[*signal] > 0.0);
    let tried = |setting, signals: &[Signal], factor| {
        let weight = |signal| scoring.weights[signal] * if signals.contains(&signal) { factor } else { 1.0 };
        let scoring = Scoring { weights: Weights(Signal::ALL.map(weight)), ..scoring.clone() };
        Tried { setting, factor, scoring, gains: Clusters::default() }
    };
    let settings = WEIGHTS.into_iter().filter(|(_, signals)| is_on(signals));
    settings.flat_map(|(setting, signals)| [0.5, 2.0].map(|factor| tried(setting, signals, factor))).collect()
}

/// `None` if the greatest gain may be chance.
fn best(trials: &[Tried]) -> Option<BetterWeight> {
    let tried = trials.iter().max_by(|a, b| a.gains.mean().total_cmp(&b.gains.mean()))?;
    let (gain, error) = (tried.gains.mean(), tried.gains.error());
    let is_better = tried.gains.members() >= TRIED_MIN && gain > 0.0 && gain > TRIED_ERRORS * error;
    is_better.then(|| BetterWeight {
        setting: tried.setting,
        factor: tried.factor,
        gain: rounded(gain),
        gain_error: rounded(error),
    })
}

/// To four digits; the third is already noise.
fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests;
