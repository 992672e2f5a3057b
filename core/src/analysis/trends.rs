//! Trends: the searches of the last 24 hours in memory. Each query reads those with revisions beyond the horizon of the last
//! query, so that one that becomes visible late is not missed. Spellings that [`fold`] makes equal count together, and one client
//! alone cannot make a term frequent ([`Term`]); around midnight a guest can count twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::visitor::VisitorNumber;
use crate::base::clock::{DAY_MS, SECOND_MS, Timestamp};
use crate::base::config;
use crate::base::lock::lock;
use crate::record::error::Result;
use crate::store::{Store, StoreError, Topic, Tx, version_in};
use tidings_tokens::terms::fold;
use tidings_tokens::tokens;

mod burst;
mod term;

pub use burst::{BURST_HOURS, SearchBurst};
pub(crate) use sql::prune;
use term::{SearchTime, Term, hour_end, hour_of};

pub(crate) const WINDOW_MS: i64 = DAY_MS;
const LATE_MS: i64 = 60 * 60 * SECOND_MS;
pub(super) const RANKING_MAX: usize = 10;
const READ_BATCH: i64 = 4_096;
/// If there are more, the oldest are dropped early.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Apart from the texts.
const SEARCH_BYTES: usize = 192;
const TERM_BYTES: usize = 640;
/// Apart from its text.
const SPELLING_BYTES: usize = 64;
/// The time for which a list of bursts is current. Finding them visits all searches, however few are new.
const BURSTS_MS: i64 = SECOND_MS;

/// Most searched first.
pub(super) type Ranking = Vec<(String, i64)>;

pub(super) struct Trends {
    blocked: HashSet<String>,
    min_visitors: usize,
    recent: Mutex<RecentSearches>,
}

#[derive(Clone)]
pub(super) struct Current<T> {
    pub(super) list: T,
    pub(super) version: i64,
    /// The time at which the list changes even without new searches.
    pub(super) until: Timestamp,
}

#[derive(Default)]
struct RecentSearches {
    /// The horizon of the last query, up to which all searches were read, and the version of the store at that time.
    read: Option<(i64, i64)>,
    searches: BTreeMap<SearchTime, Counted>,
    /// By the folded form of the terms.
    terms: HashMap<Arc<str>, Term>,
    ranks: BTreeSet<Rank>,
    bytes: usize,
    bursts: Option<(Timestamp, Current<Vec<SearchBurst>>)>,
}

/// A search that counts, or would without the limits.
struct Counted {
    term: Arc<str>,
    spelling: Arc<str>,
    visitor: VisitorNumber,
}

/// Sorts by frequency, highest first, then by the last search, newest first.
type Rank = (Reverse<i64>, Reverse<SearchTime>, Arc<str>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SearchKey {
    revision: i64,
    /// The order among the searches of that transaction.
    number: i64,
}

impl SearchKey {
    /// After all searches up to this revision.
    fn after(revision: i64) -> Self {
        Self { revision, number: i64::MAX }
    }
}

struct Search {
    key: SearchKey,
    term: String,
    visitor: VisitorNumber,
    date: Timestamp,
}

impl Trends {
    pub(super) fn new(config: &config::Analysis) -> Self {
        let blocked = config.trend_blocklist.iter().map(|term| fold(&tokens::normalise_term(term)));
        Self {
            blocked: blocked.filter(|term| !term.is_empty()).collect(),
            min_visitors: config.trend_min_visitors,
            recent: Mutex::default(),
        }
    }

    pub(super) fn ranking(&self, store: &Store, now: Timestamp) -> Result<Current<Ranking>> {
        let (recent, Current { version, until, .. }) = self.up_to_date(store, now)?;
        let ranked = recent.ranks.iter().take(RANKING_MAX);
        let shown = |term: &Arc<str>| recent.terms.get(term).map_or("", Term::shown).to_owned();
        let list = ranked.map(|(Reverse(count), _, term)| (shown(term), *count)).collect();
        Ok(Current { list, version, until })
    }

    /// The list may be [`BURSTS_MS`] old.
    pub(super) fn bursts(&self, store: &Store, now: Timestamp) -> Result<Current<Vec<SearchBurst>>> {
        let (mut recent, Current { version, until, .. }) = self.up_to_date(store, now)?;
        if let Some((at, bursts)) = &recent.bursts
            && (*at..*at + BURSTS_MS).contains(&now)
        {
            return Ok(bursts.clone());
        }
        let list = burst::bursts(recent.terms.values(), hour_of(now), self.min_visitors);
        let bursts = Current { list, version, until: until.min(hour_end(now)) };
        recent.bursts = Some((now, bursts.clone()));
        Ok(bursts)
    }

    fn up_to_date(
        &self,
        store: &Store,
        now: Timestamp,
    ) -> Result<(MutexGuard<'_, RecentSearches>, Current<()>)> {
        let mut recent = lock(&self.recent);
        let version = match recent.read {
            Some((_, version)) if store.version(Topic::Terms) <= version => version,
            _ => store.read(|tx| self.read_new(&mut recent, tx, now))?,
        };
        let until = loop {
            match recent.searches.first_key_value() {
                Some((moment, _)) if moment.0 <= now - WINDOW_MS => {
                    let moment = *moment;
                    self.remove(&mut recent, moment);
                }
                oldest => break oldest.map_or(Timestamp::MAX, |((date, _), _)| *date + WINDOW_MS),
            }
        };
        Ok((recent, Current { list: (), version, until }))
    }

    fn read_new(&self, recent: &mut RecentSearches, tx: &mut dyn Tx, now: Timestamp) -> Result<i64> {
        let (version, horizon) = (version_in(tx, Topic::Terms)?, tx.horizon()?);
        let behind = match recent.read {
            Some((horizon, _)) => Some(horizon),
            None => sql::revision_before(tx, now - WINDOW_MS)?,
        };
        let mut behind = behind.map(SearchKey::after);
        while let Some(key) = behind {
            let page = sql::searches(tx, key)?;
            behind = page.last().map(|last| last.key);
            for search in page {
                if search.date > now - WINDOW_MS {
                    self.add(recent, search);
                }
            }
        }
        recent.read = Some((horizon, version));
        Ok(version)
    }

    /// Does nothing if the search was read before or the visitor has a later one in the same clock hour.
    fn add(&self, recent: &mut RecentSearches, Search { key, term, visitor, date }: Search) {
        let moment = (date, key);
        let folded = fold(&term);
        if self.blocked.contains(&folded) || recent.searches.contains_key(&moment) {
            return;
        }
        let known = recent.terms.get_key_value(folded.as_str());
        let folded = known.map_or_else(|| Arc::from(folded.as_str()), |(folded, _)| Arc::clone(folded));
        let known = known.map(|(_, term)| term);
        let spelling = known.and_then(|known| known.spelling(&term)).map(Arc::clone);
        match known.and_then(|known| known.in_hour(visitor, date)) {
            Some(other) if other > moment => return,
            Some(earlier) => self.remove(recent, earlier),
            None => {}
        }
        let spelling =
            spelling.unwrap_or_else(|| if *term == *folded { Arc::clone(&folded) } else { term.into() });
        recent.bytes += SEARCH_BYTES;
        self.change(recent, &folded, |term, bytes| *bytes += term.add(visitor, moment, &spelling));
        recent.searches.insert(moment, Counted { term: folded, spelling, visitor });
        while recent.bytes > BYTES_MAX {
            let Some((oldest, _)) = recent.searches.first_key_value() else { break };
            let oldest = *oldest;
            self.remove(recent, oldest);
        }
    }

    fn remove(&self, recent: &mut RecentSearches, moment: SearchTime) {
        let Some(Counted { term, spelling, visitor }) = recent.searches.remove(&moment) else { return };
        recent.bytes -= SEARCH_BYTES;
        self.change(recent, &term, |term, bytes| *bytes -= term.remove(visitor, moment, &spelling));
    }

    /// Also updates the sum of the memory and the rank of the term.
    fn change(
        &self,
        recent: &mut RecentSearches,
        folded: &Arc<str>,
        change: impl FnOnce(&mut Term, &mut usize),
    ) {
        let RecentSearches { terms, ranks, bytes, .. } = recent;
        let term = terms.entry(Arc::clone(folded)).or_insert_with(|| {
            *bytes += TERM_BYTES + folded.len();
            Term::default()
        });
        ranks.remove(&rank(term, folded));
        change(term, bytes);
        if term.searches == 0 {
            terms.remove(folded);
            *bytes -= TERM_BYTES + folded.len();
        } else if self.min_visitors <= 1 || term.distinct >= self.min_visitors {
            ranks.insert(rank(term, folded));
        }
    }
}

fn rank(term: &Term, folded: &Arc<str>) -> Rank {
    (Reverse(term.count), Reverse(term.newest), Arc::clone(folded))
}

mod sql {
    use super::{LATE_MS, READ_BATCH, Search, SearchKey, StoreError, Timestamp, Tx, WINDOW_MS};

    /// All searches since the time have revisions after the returned one; `None` if there are no such searches.
    pub(super) fn revision_before(tx: &mut dyn Tx, since: Timestamp) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT min(revision) - 1 FROM term WHERE date > $1";
        tx.one(sql, &[since.into()])?.take(0)
    }

    pub(super) fn searches(tx: &mut dyn Tx, behind: SearchKey) -> Result<Vec<Search>, StoreError> {
        let sql = "SELECT revision, number, term, visitor, date FROM term WHERE (revision, number) > ($1, $2)
                   ORDER BY revision, number LIMIT $3";
        let rows = tx.rows(sql, &[behind.revision.into(), behind.number.into(), READ_BATCH.into()])?;
        let search = |mut row: crate::store::Row| {
            Ok(Search {
                key: SearchKey { revision: row.take(0)?, number: row.take(1)? },
                term: row.take(2)?,
                visitor: row.take(3)?,
                date: row.take(4)?,
            })
        };
        rows.into_iter().map(search).collect()
    }

    /// Returns whether there may be more.
    pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM term WHERE (revision, number) IN
                   (SELECT revision, number FROM term WHERE date <= $1 ORDER BY date LIMIT $2)";
        let before = now - WINDOW_MS - LATE_MS;
        Ok(tx.run(sql, &[before.into(), limit.cast_signed().into()])? == limit)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;
    use crate::account::Caller;
    use crate::store::{Arg, Dialect, Isolation, Row};
    use crate::testing::{NOW, service};

    struct Failing<'t> {
        tx: &'t mut dyn Tx,
        answers: usize,
    }

    impl Tx for Failing<'_> {
        fn for_each(
            &mut self,
            sql: &str,
            args: &[Arg<'_>],
            each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
        ) -> Result<(), StoreError> {
            self.answers = self.answers.checked_sub(1).ok_or(StoreError::Overloaded)?;
            self.tx.for_each(sql, args, each)
        }
        fn run(&mut self, _: &str, _: &[Arg<'_>]) -> Result<u64, StoreError> {
            Err(StoreError::Overloaded)
        }
        fn dialect(&self) -> Dialect {
            self.tx.dialect()
        }
        fn revision(&self) -> i64 {
            0
        }
        fn horizon(&mut self) -> Result<i64, StoreError> {
            self.tx.horizon()
        }
    }

    #[test]
    fn terms_are_hashed_with_a_random_key() {
        let hash = |trends: &Trends| lock(&trends.recent).terms.hasher().hash_one("rust");
        let [one, other] = [(); 2].map(|()| Trends::new(&config::Analysis::default()));
        assert_eq!(hash(&one), hash(&one));
        assert_ne!(hash(&one), hash(&other));
    }

    #[test]
    fn searches_read_before_a_failure_are_not_counted_twice() {
        let service = service();
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
                   INSERT INTO term (revision, number, term, visitor, date) SELECT $3, i, 'rust', 0, $2 FROM n";
        let searches = READ_BATCH + 1;
        service
            .store()
            .write(Isolation::Alone, move |tx| {
                tx.touch(Topic::Terms);
                let revision = tx.revision();
                tx.run(sql, &[searches.into(), NOW.into(), revision.into()])
            })
            .unwrap();
        let trends = Trends::new(&config::Analysis::default());
        // The queries: the version, the first revision, and the first of two batches.
        let failed = service.store().read(|tx| {
            let mut recent = lock(&trends.recent);
            let failed = trends.read_new(&mut recent, &mut Failing { tx, answers: 3 }, NOW);
            assert_eq!(recent.searches.len(), 4_096);
            failed
        });
        assert!(failed.is_err());
        let current = trends.ranking(service.store(), NOW).unwrap();
        assert_eq!(current.list, [("rust".to_owned(), searches)]);
        crate::search::log(&service, &Caller::Guest, None, "rust").wait().unwrap();
        assert_eq!(trends.ranking(service.store(), NOW).unwrap().list[0].1, searches + 1);
    }
}
