//! Writes a batch of acts by member and by day, so that the visits of each day are computed once.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use super::{Act, ActImport, Line};
use crate::account::{self, Admin, Member};
use crate::analysis::counters::Counter;
use crate::analysis::local_time::LocalHour;
use crate::analysis::trends::WINDOW_MS;
use crate::analysis::{log, visitor};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnMap;
use crate::import::{BatchTime, Written};
use crate::post::{PostStats, counted_hour};
use crate::profile::history;
use crate::record::error::Result;
use crate::store::{StoreError, Tx};

const NO_MEMBER: &str = "there is no member with this id: import members first";
const NO_POST: &str = "there is no post with this url: import posts first";

/// From this number of new acts of a member on, a batch prunes the member's lists. Fewer acts prune them as often as acts in this
/// service do.
const PRUNED_FROM: usize = 32;

/// Reads each member and each post of the batch once, and writes each post and each count once.
pub(super) struct Writer<'a> {
    acts: &'a ActImport,
    admin: &'a Admin<'a>,
    posts: HashMap<String, Option<Post>>,
    counts: OwnMap<(Counter, LocalHour), i64>,
    written: Written,
}

struct Post {
    stats: PostStats,
    changed: bool,
}

type DayLine<'l> = (i64, &'l Line);

/// The imported acts of a member, by their times and numbers.
type Known = BTreeSet<(Timestamp, i64)>;

impl<'a> Writer<'a> {
    pub(super) fn new(acts: &'a ActImport, admin: &'a Admin<'a>) -> Self {
        Self { acts, admin, posts: HashMap::new(), counts: OwnMap::default(), written: Written::default() }
    }

    /// The batch is sorted by member and day.
    pub(super) fn write(mut self, tx: &mut dyn Tx, batch: &[Line], time: &BatchTime) -> Result<Written> {
        self.acts.calendar.check_zone(tx)?;
        let day = |line: &Line| self.acts.calendar.local_hour(line.at).day;
        let lines: Vec<DayLine<'_>> = batch.iter().map(|line| (day(line), line)).collect();
        for of_member in lines.chunk_by(|(_, a), (_, b)| a.member == b.member) {
            let Some(member) = account::find(tx, &of_member[0].1.member)? else {
                for (_, line) in of_member {
                    self.written.refuse(line.number, NO_MEMBER);
                }
                continue;
            };
            if self.write_days(tx, &self.admin.act_for(member), of_member, time)? {
                break;
            }
        }
        self.finish(tx)
    }

    fn finish(self, tx: &mut dyn Tx) -> Result<Written> {
        let now = self.acts.clock.now();
        let changed = self.posts.into_values().flatten().filter(|post| post.changed);
        let mut posts: Vec<_> = changed.map(|post| (post.stats, now)).collect();
        // In the order of the table, because that changes each of its pages only once.
        posts.sort_unstable_by_key(|(stats, _)| stats.post);
        PostStats::update_each(tx, posts)?;
        for ((counter, hour), n) in self.counts {
            self.acts.calendar.count_in(tx, counter, hour, n)?;
        }
        Ok(self.written)
    }

    /// Writes day by day until the time is over. Returns whether it is.
    fn write_days(
        &mut self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        lines: &[DayLine<'_>],
        time: &BatchTime,
    ) -> Result<bool> {
        let (mut new, mut is_over) = (0, false);
        for of_day in lines.chunk_by(|(a, _), (b, _)| a == b) {
            new += self.write_day(tx, member, of_day)?;
            is_over = time.is_over();
            if is_over {
                break;
            }
        }
        if new >= PRUNED_FROM {
            history::trim_lists(tx, member)?;
        }
        Ok(is_over)
    }

    fn write_day(&mut self, tx: &mut dyn Tx, member: &Member<'_>, lines: &[DayLine<'_>]) -> Result<usize> {
        let (day, local_time) = (lines[0].0, self.acts.calendar.local_time());
        let (from, until) = (local_time.day_start(day), local_time.day_start(day + 1));
        // The hours in which a view counts once may begin before the day, and end after it.
        let mut acts = sql::acts(tx, member, counted_hour(from).start, counted_hour(until).end)?;
        let mut known: Vec<Timestamp> =
            acts.range((from, i64::MIN)..(until, i64::MIN)).map(|(at, _)| *at).collect();
        known.dedup();
        known.extend(log::times(tx, member, from, until)?);
        let mut new = Vec::new();
        for (_, line) in lines {
            let Some(number) = self.act_number(tx, &line.act)? else {
                self.written.refuse(line.number, NO_POST);
                continue;
            };
            let counts = sql::insert(tx, member, line.at, number)?;
            if counts {
                new.push(line.at);
            }
            let done = counts && self.apply(tx, member, (line.at, number), &line.act, &acts)?;
            acts.insert((line.at, number));
            *(if done { &mut self.written.inserted } else { &mut self.written.skipped }) += 1;
        }
        if !new.is_empty() {
            visitor::add_past(tx, &self.acts.calendar, (day, member), known, &new)?;
        }
        Ok(new.len())
    }

    /// The number distinguishes an act from others of its member at the same time; `None` if its post does not exist.
    fn act_number(&mut self, tx: &mut dyn Tx, act: &Act) -> Result<Option<i64>, StoreError> {
        Ok(match act {
            Act::View(url) => self.post(tx, url)?.map(|post| post.stats.post.as_i64() * 2),
            Act::Like(url) => self.post(tx, url)?.map(|post| post.stats.post.as_i64() * 2 + 1),
            Act::Search(listed) => Some(hash(b"search", &listed.search.original)),
            Act::Newsfeed { name, .. } => Some(hash(b"newsfeed", name)),
        })
    }

    fn post(&mut self, tx: &mut dyn Tx, url: &str) -> Result<Option<&mut Post>, StoreError> {
        if !self.posts.contains_key(url) {
            let stats = PostStats::of_url(tx, url)?;
            self.posts.insert(url.to_owned(), stats.map(|stats| Post { stats, changed: false }));
        }
        Ok(self.posts.get_mut(url).and_then(Option::as_mut))
    }

    fn count(&mut self, counter: Counter, at: Timestamp, n: i64) {
        *self.counts.entry((counter, self.acts.calendar.local_hour(at))).or_default() += n;
    }

    /// Returns false if the act has no effect, because it is a like of a post that was liked earlier.
    fn apply(
        &mut self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        (at, number): (Timestamp, i64),
        act: &Act,
        known: &Known,
    ) -> Result<bool> {
        // A reset removes earlier acts from the lists.
        let listed = at >= member.measured;
        match act {
            Act::View(url) => {
                self.count(Counter::View, at, 1);
                let Some(post) = self.post(tx, url)? else { return Ok(false) };
                // Of several views in an hour, the first one counts for the popularity, whichever was imported first.
                let hour = counted_hour(at);
                let views = known.range((hour.start, i64::MIN)..(hour.end, i64::MIN));
                match views.filter(|(_, other)| *other == number).map(|(at, _)| *at).next() {
                    Some(first) if first <= at => post.stats.view(None),
                    Some(first) => {
                        post.stats.view(None);
                        post.stats.date_view(first, at);
                    }
                    None => post.stats.view(Some(at)),
                }
                post.changed = true;
                if listed {
                    history::view(tx, &[(member, post.stats.post, at)])?;
                }
            }
            Act::Like(url) => return self.like(tx, member, at, url),
            Act::Search(searched) => {
                self.count(Counter::Search, at, 1);
                if at > self.acts.clock.now() - WINDOW_MS {
                    searched.search.count_term(tx, member.key.into(), at)?;
                }
                if listed {
                    searched.insert(tx, member, at)?;
                }
            }
            Act::Newsfeed { name, tags } => {
                if listed {
                    history::open(tx, member, name, tags, at)?;
                }
            }
        }
        Ok(true)
    }

    /// Of two likes of a post, the earlier one counts.
    fn like(&mut self, tx: &mut dyn Tx, member: &Member<'_>, at: Timestamp, url: &str) -> Result<bool> {
        let Some(post) = self.post(tx, url)? else { return Ok(false) };
        let key = post.stats.post;
        match history::liked_at(tx, member, key)? {
            Some(before) if before <= at => return Ok(false),
            Some(before) => {
                post.stats.unlike(before);
                post.stats.like(at);
                post.changed = true;
                history::date_like(tx, member, key, at)?;
                self.count(Counter::Like, before, -1);
            }
            None => {
                post.stats.like(at);
                post.changed = true;
                history::like_in_the_past(tx, member, key, at)?;
            }
        }
        self.count(Counter::Like, at, 1);
        Ok(true)
    }
}

/// Returns a hash below 0. The database holds these hashes, so the function must not change. The hash needs no secret key, because
/// it only distinguishes acts of one member at one time: a collision skips one of two acts that their own member chose.
#[expect(clippy::disallowed_methods, reason = "the hash is stored and must be the same in every process")]
fn hash(kind: &[u8], text: &str) -> i64 {
    let mut hasher = SipHasher24::new();
    hasher.write(kind);
    hasher.write_u8(0);
    hasher.write(text.as_bytes());
    hasher.finish().cast_signed() | i64::MIN
}

mod sql {
    use super::{Known, Member, StoreError, Timestamp, Tx};

    /// From `from` to before `until`.
    pub(super) fn acts(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Known, StoreError> {
        let sql = "SELECT date, act FROM moved_act WHERE member = $1 AND date >= $2 AND date < $3";
        let rows = tx.rows(sql, &[member.key.into(), from.into(), until.into()])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }

    /// False if the act exists already.
    pub(super) fn insert(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        at: Timestamp,
        act: i64,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO moved_act (member, date, act) VALUES ($1, $2, $3)
                   ON CONFLICT (member, date, act) DO NOTHING";
        Ok(tx.run(sql, &[member.key.into(), at.into(), act.into()])? > 0)
    }
}
