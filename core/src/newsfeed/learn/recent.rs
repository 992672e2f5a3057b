//! The acts on posts of the members who acted last, replayed in the order of their times, and the posts as they were.

use crate::base::clock::Timestamp;
use crate::base::keyed::{OwnMap, OwnSet};
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::signal::co_visits::{ACTS_MAX, CoVisits};
use crate::post::feed_rows;
use crate::post::heat::{Decay, Heats, LIKE_WEIGHT, VIEW_WEIGHT};
use crate::record::error::{Error, Result};
use crate::record::id::{MemberKey, PostKey};
use crate::store::{Store, StoreError, Tx};

/// The members who acted last. With the acts of each, the maximum bounds the memory.
const MEMBERS_MAX: i64 = 20_000;
/// Approximate; an act takes 32 bytes while the acts are read.
const ALL_ACTS_MAX: usize = 500_000;
/// The members per statement, which has as many arguments.
const PAGE: usize = 16;

#[derive(Clone, Copy)]
pub(crate) struct PastAct {
    pub(crate) at: Timestamp,
    pub(crate) member: MemberKey,
    pub(crate) post: PostKey,
    pub(crate) is_like: bool,
}

impl PastAct {
    /// The order in which acts are replayed.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.at, self.member, self.post, self.is_like)
    }
}

/// Only acts on the newest `posts` posts, of the members who acted last, in the order in which they are replayed.
pub(crate) fn acts(store: &Store, posts: usize) -> Result<Vec<PastAct>> {
    let (posts, members) = store.read(|tx| {
        let posts: OwnSet<PostKey> = feed_rows::newest(tx, posts)?.into_iter().collect();
        let sql = "SELECT member FROM member_acts ORDER BY revision DESC LIMIT $1";
        let mut members: Vec<MemberKey> = Vec::new();
        tx.for_each(sql, &[MEMBERS_MAX.into()], &mut |row| {
            members.push(row.take(0)?);
            Ok(())
        })?;
        Ok::<_, Error>((posts, members))
    })?;
    let mut all = Vec::new();
    for page in members.chunks(PAGE).take_while(|_| !posts.is_empty()) {
        let mut acts = store.read(|tx| acts_of(tx, page))?;
        acts.retain(|act| posts.contains(&act.post));
        acts.sort_unstable_by_key(|act| (act.member, act.order()));
        for own in acts.chunk_by(|a, b| a.member == b.member) {
            // A post may have been viewed and liked.
            all.extend(&own[own.len().saturating_sub(2 * ACTS_MAX)..]);
        }
        if all.len() > ALL_ACTS_MAX {
            break;
        }
    }
    all.sort_unstable_by_key(PastAct::order);
    Ok(all)
}

/// The acts from which the interest of up to [`PAGE`] members is measured.
fn acts_of(tx: &mut dyn Tx, members: &[MemberKey]) -> Result<Vec<PastAct>, StoreError> {
    // Statements with a constant number of parameters are prepared once.
    let keys = members.iter().chain(std::iter::repeat_n(&members[0], PAGE - members.len()));
    let args: Vec<_> = keys.map(|key| (*key).into()).collect();
    let list: Vec<String> = (1..=PAGE).map(|n| format!("${n}")).collect();
    let list = list.join(", ");
    let mut measured: OwnMap<MemberKey, Timestamp> = OwnMap::default();
    tx.for_each(
        &format!("SELECT key, measured_since FROM member WHERE key IN ({list})"),
        &args,
        &mut |row| {
            measured.insert(row.take(0)?, row.take(1)?);
            Ok(())
        },
    )?;
    let mut acts = Vec::new();
    for (table, is_like) in [("liked", true), ("viewed", false)] {
        let sql = format!("SELECT member, post, date FROM {table} WHERE member IN ({list})");
        tx.for_each(&sql, &args, &mut |row| {
            let act = PastAct { member: row.take(0)?, post: row.take(1)?, at: row.take(2)?, is_like };
            if measured.get(&act.member).is_some_and(|since| act.at >= *since) {
                acts.push(act);
            }
            Ok(())
        })?;
    }
    Ok(acts)
}

pub(crate) struct Replay<'i> {
    index: &'i FeedIndex,
    acts: std::slice::Iter<'i, PastAct>,
    /// The heats of each post by position.
    pub(crate) heats: Vec<Option<Heats>>,
    pub(crate) together: CoVisits,
}

impl<'i> Replay<'i> {
    /// Begins before the first of these acts, the earliest first.
    pub(crate) fn new(index: &'i FeedIndex, acts: &'i [PastAct]) -> Self {
        Self { index, acts: acts.iter(), heats: vec![None; index.len()], together: CoVisits::default() }
    }

    pub(crate) fn go_to(&mut self, at: Timestamp) {
        while let Some(act) = self.acts.as_slice().first().filter(|act| act.at < at) {
            self.acts.next();
            self.heat(act);
            if self.index.position(act.post).is_some() {
                self.together.add(act.member, act.post, act.is_like);
            }
        }
    }

    pub(crate) fn heat(&mut self, act: &PastAct) {
        let Some(position) = self.index.position(act.post) else { return };
        let heats = &mut self.heats[position as usize];
        *heats = Heats::add(*heats, if act.is_like { LIKE_WEIGHT } else { VIEW_WEIGHT }, act.at);
    }

    /// By position.
    pub(crate) fn heats(&self, decay: Decay) -> Vec<Option<f64>> {
        self.heats.iter().map(|heats| heats.as_ref().map(|heats| decay.heat(heats))).collect()
    }
}
