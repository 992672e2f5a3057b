//! Writes a batch of acts by member and by day, so that the visits of each day are computed once.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher as _;
use std::time::Instant;

use siphasher::sip::SipHasher24;

use super::{Act, ActImport, Line};
use crate::account::{self, Admin, Member};
use crate::analysis::counters::Counter;
use crate::analysis::trends::WINDOW_MS;
use crate::analysis::{log, visitor};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::import::{BATCH_TIME, Written};
use crate::post::PostStats;
use crate::profile::history;
use crate::store::{StoreError, Tx};

const NO_MEMBER: &str = "there is no member with this id: import members first";
const NO_POST: &str = "there is no post with this url: import posts first";

/// Writes a batch. It reads each member and each post of the batch once.
pub(super) struct Writer<'a> {
    acts: &'a ActImport,
    admin: &'a Admin<'a>,
    members: HashMap<String, Option<Member<'a>>>,
    posts: HashMap<String, Option<Post>>,
    written: Written<Line>,
}

struct Post {
    stats: PostStats,
    changed: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(acts: &'a ActImport, admin: &'a Admin<'a>) -> Self {
        let (members, posts) = (HashMap::new(), HashMap::new());
        Self { acts, admin, members, posts, written: Written::default() }
    }

    pub(super) fn write(mut self, tx: &mut dyn Tx, batch: Vec<Line>) -> Result<Written<Line>> {
        let began = Instant::now();
        let mut days: BTreeMap<(String, i64), Vec<Line>> = BTreeMap::new();
        for line in batch {
            let day = self.acts.calendar.local_hour(line.at).day;
            days.entry((line.member.clone(), day)).or_default().push(line);
        }
        for ((member, day), lines) in days {
            if began.elapsed() > BATCH_TIME {
                self.written.left.extend(lines);
            } else if let Some(member) = self.member(tx, member)? {
                self.write_day(tx, &member, day, lines)?;
            } else {
                for line in lines {
                    self.written.refuse(line.number, NO_MEMBER);
                }
            }
        }
        let now = self.acts.clock.now();
        for post in self.posts.into_values().flatten().filter(|post| post.changed) {
            post.stats.update(tx, self.acts.like_weight, now)?;
        }
        Ok(self.written)
    }

    fn member(&mut self, tx: &mut dyn Tx, id: String) -> Result<Option<Member<'a>>, StoreError> {
        if let Some(found) = self.members.get(&id) {
            return Ok(found.clone());
        }
        let found = account::find(tx, &id)?.map(|member| self.admin.act_for(member));
        Ok(self.members.entry(id).or_insert(found).clone())
    }

    /// Writes the acts of a member on a day.
    fn write_day(&mut self, tx: &mut dyn Tx, member: &Member<'_>, day: i64, lines: Vec<Line>) -> Result<()> {
        let local_time = self.acts.calendar.local_time();
        let (from, until) = (local_time.day_start(day), local_time.day_start(day + 1));
        let mut known = sql::times(tx, member, from, until)?;
        known.extend(log::times(tx, member, from, until)?);
        let mut new = Vec::new();
        for line in lines {
            let Some(number) = self.act_number(tx, &line.act)? else {
                self.written.refuse(line.number, NO_POST);
                continue;
            };
            let counts = sql::insert(tx, member, line.at, number)?;
            if counts {
                new.push(line.at);
            }
            let done = counts && self.apply(tx, member, line.at, &line.act)?;
            *(if done { &mut self.written.inserted } else { &mut self.written.skipped }) += 1;
        }
        if !new.is_empty() {
            visitor::add_past(tx, &self.acts.calendar, (day, member), known, &new)?;
            history::trim_lists(tx, member)?;
        }
        Ok(())
    }

    /// Returns the number that distinguishes an act from others of its member at the same time; `None` if its post does
    /// not exist.
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

    /// Applies a new act. Returns false if it has no effect because it is a like of a post that was liked earlier.
    fn apply(&mut self, tx: &mut dyn Tx, member: &Member<'_>, at: Timestamp, act: &Act) -> Result<bool> {
        let calendar = &self.acts.calendar;
        // A reset removes earlier acts from the lists.
        let listed = at >= member.measured;
        match act {
            Act::View(url) => {
                calendar.count(tx, Counter::View, at)?;
                let Some(post) = self.post(tx, url)? else { return Ok(false) };
                post.stats.view(Some(at));
                post.changed = true;
                if listed {
                    history::view(tx, member, post.stats.post, at)?;
                }
            }
            Act::Like(url) => return self.like(tx, member, at, url),
            Act::Search(searched) => {
                calendar.count(tx, Counter::Search, at)?;
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

    /// Applies a like. Of two likes of a post, the earlier one counts.
    fn like(&mut self, tx: &mut dyn Tx, member: &Member<'_>, at: Timestamp, url: &str) -> Result<bool> {
        let (weight, calendar) = (self.acts.like_weight, &self.acts.calendar);
        let Some(post) = self.post(tx, url)? else { return Ok(false) };
        let key = post.stats.post;
        match history::liked_at(tx, member, key)? {
            Some(before) if before <= at => return Ok(false),
            Some(before) => {
                post.stats.unlike(weight, before);
                calendar.count_in(tx, Counter::Like, calendar.local_hour(before), -1)?;
                history::date_like(tx, member, key, at)?;
            }
            None => history::like_in_the_past(tx, member, key, at)?,
        }
        post.stats.like(weight, at);
        post.changed = true;
        calendar.count(tx, Counter::Like, at)?;
        Ok(true)
    }
}

/// Returns a hash below 0 of a search or of the name of a newsfeed. The database holds these hashes, so the function
/// must not change.
///
/// The hash needs no secret key, because it only distinguishes acts of one member at one time: a collision skips one of
/// two acts that their own member chose.
#[expect(clippy::disallowed_methods, reason = "the hash is stored and must be the same in every process")]
fn hash(kind: &[u8], text: &str) -> i64 {
    let mut hasher = SipHasher24::new();
    hasher.write(kind);
    hasher.write_u8(0);
    hasher.write(text.as_bytes());
    hasher.finish().cast_signed() | i64::MIN
}

mod sql {
    use super::{Member, StoreError, Timestamp, Tx};

    /// Returns the times of the imported acts of a member from `from` to before `until`.
    pub(super) fn times(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        let sql = "SELECT DISTINCT date FROM moved_act WHERE member = $1 AND date >= $2 AND date < $3";
        let rows = tx.rows(sql, &[member.key.into(), from.into(), until.into()])?;
        rows.into_iter().map(|mut row| row.take(0)).collect()
    }

    /// Inserts an act. Returns false if it exists already.
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
