//! Trends: the searches of the last 24 hours, kept in memory and updated incrementally.
//!
//! The store holds the searches. Each query reads the new ones, including those of other processes, and drops those
//! older than 24 hours. New are those with revisions beyond the horizon of the last query: a search that becomes
//! visible late is not missed, and one that was read before is not counted again.
//!
//! One client alone cannot make a term frequent: at most [`VISITOR_SEARCHES`] searches of a term count per visitor, and
//! the guests of one network count as at most [`NETWORK_VISITORS`] visitors. Guests have different numbers on different
//! days, so around midnight a guest can count twice. The counters of searches are independent of these limits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::visitor::{Network, VisitorNumber};
use crate::clock::{DAY_MS, SECOND_MS, Timestamp};
use crate::config;
use crate::error::Result;
use crate::keyed::OwnMap;
use crate::store::{Store, StoreError, Topic, Tx, version_in};
use tidings_text::tokens;

/// The time for which a search counts in trends.
pub(crate) const WINDOW_MS: i64 = DAY_MS;
/// The time for which the store retains a search after that.
const LATE_MS: i64 = 60 * 60 * SECOND_MS;
/// The maximum number of terms in the ranking.
const RANKING_MAX: usize = 10;
/// The maximum number of searches of a term that count per visitor.
const VISITOR_SEARCHES: i64 = 5;
/// The maximum number of visitors, and of their searches, that the guests of one network count as for a term. Searches
/// of a campus behind one address are still ranked by frequency, but the number of visitors decides whether a term
/// appears.
const NETWORK_VISITORS: usize = 3;
const NETWORK_SEARCHES: i64 = 20 * VISITOR_SEARCHES;
/// The number of searches that one query reads.
const READ_BATCH: i64 = 4_096;
/// The maximum memory for the searches of a day. If there are more, the oldest are dropped early.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// The estimated memory of a search, and of a term apart from its text.
const SEARCH_BYTES: usize = 128;
const TERM_BYTES: usize = 256;

/// The most searched terms with their numbers of searches, most searched first.
pub(super) type Ranking = Vec<(String, i64)>;

/// The searches of the last 24 hours.
pub(super) struct Trends {
    blocked: HashSet<String>,
    min_visitors: usize,
    recent: Mutex<RecentSearches>,
}

/// The current ranking and its validity.
pub(super) struct CurrentTrends {
    pub(super) ranking: Ranking,
    /// The version of the searches that the ranking includes.
    pub(super) version: i64,
    /// When the oldest search no longer counts.
    pub(super) until: Timestamp,
}

#[derive(Default)]
struct RecentSearches {
    /// The horizon of the last query, up to which all searches were read, and the version of the store at that time.
    read: Option<(i64, i64)>,
    searches: BTreeMap<(Timestamp, SearchKey), (Arc<str>, VisitorNumber)>,
    terms: HashMap<Arc<str>, Term>,
    ranks: BTreeSet<Rank>,
    bytes: usize,
}

#[derive(Default)]
struct Term {
    /// The number of all searches of the term.
    searches: i64,
    newest: (Timestamp, SearchKey),
    /// The number of searches of each visitor. Keys are member keys or hashes under a secret key.
    visitors: OwnMap<VisitorNumber, i64>,
    /// The guests of each network. Keys are hashes under a secret key.
    networks: OwnMap<Network, Guests>,
    /// The number of searches that count: the frequency of the term.
    count: i64,
    /// The number of visitors that count.
    distinct: usize,
}

/// The guests of one network that searched a term.
#[derive(Clone, Copy, Default)]
struct Guests {
    visitors: usize,
    /// The number of their searches, limited per guest.
    searches: i64,
}

impl Guests {
    /// Returns the numbers of visitors and searches that count.
    fn counted(self) -> (usize, i64) {
        (self.visitors.min(NETWORK_VISITORS), self.searches.min(NETWORK_SEARCHES))
    }
}

impl Term {
    /// Counts a search of a visitor.
    fn add(&mut self, visitor: VisitorNumber) {
        self.searches += 1;
        if visitor == VisitorNumber::NOBODY {
            self.count += 1;
            return;
        }
        let own = self.visitors.entry(visitor).or_insert(0);
        *own += 1;
        let (is_new, counts) = (*own == 1, *own <= VISITOR_SEARCHES);
        self.change(visitor, |visitors| visitors + usize::from(is_new), i64::from(counts));
    }

    /// Removes a search of a visitor.
    fn remove(&mut self, visitor: VisitorNumber) {
        self.searches -= 1;
        if visitor == VisitorNumber::NOBODY {
            self.count -= 1;
            return;
        }
        let Some(own) = self.visitors.get_mut(&visitor) else { return };
        *own -= 1;
        let (is_last, counted) = (*own == 0, *own < VISITOR_SEARCHES);
        if is_last {
            self.visitors.remove(&visitor);
        }
        self.change(visitor, |visitors| visitors - usize::from(is_last), -i64::from(counted));
    }

    /// Updates the number of visitors by calling `visitors`, and adds `more` to the number of searches that count.
    fn change(&mut self, visitor: VisitorNumber, visitors: impl Fn(usize) -> usize, more: i64) {
        let Some(network) = Network::of_searcher(visitor) else {
            self.distinct = visitors(self.distinct);
            self.count += more;
            return;
        };
        let guests = self.networks.entry(network).or_default();
        let before = guests.counted();
        guests.visitors = visitors(guests.visitors);
        guests.searches += more;
        let after = guests.counted();
        if guests.visitors == 0 {
            self.networks.remove(&network);
        }
        self.distinct = self.distinct + after.0 - before.0;
        self.count += after.1 - before.1;
    }
}

/// Sorts by frequency, highest first, then by the last search, newest first.
type Rank = (Reverse<i64>, Reverse<(Timestamp, SearchKey)>, Arc<str>);

/// The key of a search in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SearchKey {
    /// The revision of its transaction.
    revision: i64,
    /// The order among the searches of that transaction.
    number: i64,
}

impl SearchKey {
    /// Returns a key after all searches up to a revision.
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
        let blocked = config.trend_blocklist.iter().map(|term| tokens::normalise_term(term));
        Self {
            blocked: blocked.filter(|term| !term.is_empty()).collect(),
            min_visitors: config.trend_min_visitors,
            recent: Mutex::default(),
        }
    }

    /// Returns the terms searched most in the 24 hours before `now`.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn current(&self, store: &Store, now: Timestamp) -> Result<CurrentTrends> {
        let mut recent = self.lock();
        let version = match recent.read {
            Some((_, version)) if store.version(Topic::Terms) <= version => version,
            _ => store.read(|tx| self.read_new(&mut recent, tx, now))?,
        };
        while let Some(oldest) = recent.searches.first_entry().filter(|e| e.key().0 <= now - WINDOW_MS) {
            let (term, visitor) = oldest.remove();
            self.remove(&mut recent, &term, visitor);
        }
        let ranked = recent.ranks.iter().take(RANKING_MAX);
        let until =
            recent.searches.first_key_value().map_or(Timestamp::MAX, |((date, _), _)| *date + WINDOW_MS);
        Ok(CurrentTrends {
            ranking: ranked.map(|(Reverse(count), _, term)| (term.as_ref().to_owned(), *count)).collect(),
            version,
            until,
        })
    }

    /// Reads the searches that are new in the store. Returns the version that they include.
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

    /// Counts a search, unless it was read before.
    fn add(&self, recent: &mut RecentSearches, search: Search) {
        let Search { key, term, visitor, date } = search;
        if self.blocked.contains(&term) || recent.searches.contains_key(&(date, key)) {
            return;
        }
        let term: Arc<str> = match recent.terms.get_key_value(term.as_str()) {
            Some((known, _)) => Arc::clone(known),
            None => term.into(),
        };
        recent.searches.insert((date, key), (Arc::clone(&term), visitor));
        recent.bytes += SEARCH_BYTES;
        self.change(recent, &term, |counts| {
            counts.newest = counts.newest.max((date, key));
            counts.add(visitor);
        });
        while recent.bytes > BYTES_MAX {
            let Some((_, (term, visitor))) = recent.searches.pop_first() else { break };
            self.remove(recent, &term, visitor);
        }
    }

    /// Removes a search that has left the window.
    fn remove(&self, recent: &mut RecentSearches, term: &Arc<str>, visitor: VisitorNumber) {
        recent.bytes -= SEARCH_BYTES;
        self.change(recent, term, |counts| counts.remove(visitor));
    }

    /// Changes a term, and updates its rank.
    fn change(&self, recent: &mut RecentSearches, term: &Arc<str>, change: impl FnOnce(&mut Term)) {
        let RecentSearches { terms, ranks, bytes, .. } = recent;
        let counts = terms.entry(Arc::clone(term)).or_insert_with(|| {
            *bytes += TERM_BYTES + term.len();
            Term::default()
        });
        ranks.remove(&rank(counts, term));
        change(counts);
        if counts.searches == 0 {
            terms.remove(term);
            *bytes -= TERM_BYTES + term.len();
        } else if self.min_visitors <= 1 || counts.distinct >= self.min_visitors {
            ranks.insert(rank(counts, term));
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecentSearches> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rank(term: &Term, text: &Arc<str>) -> Rank {
    (Reverse(term.count), Reverse(term.newest), Arc::clone(text))
}

/// Deletes up to `limit` searches that no longer count. Returns whether there may be more.
pub(super) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    Ok(sql::prune(tx, now - WINDOW_MS - LATE_MS, limit)? == limit)
}

mod sql {
    use super::{READ_BATCH, Search, SearchKey, StoreError, Timestamp, Tx};

    /// Returns the revision after which all searches since a time are found; `None` if there are none.
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

    pub(super) fn prune(tx: &mut dyn Tx, before: Timestamp, limit: u64) -> Result<u64, StoreError> {
        let sql = "DELETE FROM term WHERE (revision, number) IN
                   (SELECT revision, number FROM term WHERE date <= $1 ORDER BY date LIMIT $2)";
        tx.run(sql, &[before.into(), limit.cast_signed().into()])
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;
    use crate::account::Caller;
    use crate::store::{Arg, Dialect, Isolation, Row};
    use crate::testing::{NOW, service};

    #[test]
    fn the_help_states_the_limit_of_visitors_per_network() {
        let mut settings = config::SETTINGS.iter().flat_map(|group| group.settings);
        let setting = settings.find(|setting| setting.about.name == "trend-min-visitors").unwrap();
        assert!(setting.about.help.contains(&format!("count as {NETWORK_VISITORS} at most")));
    }

    /// A transaction that fails after a number of queries.
    struct Failing<'t> {
        tx: &'t mut dyn Tx,
        answers: usize,
    }

    impl Tx for Failing<'_> {
        fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
            self.answers = self.answers.checked_sub(1).ok_or(StoreError::Overloaded)?;
            self.tx.rows(sql, args)
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
        fn touch(&mut self, _: Topic) {}
        fn count(&mut self, _: i64, _: Option<i64>, _: i64) {}
        fn count_on(&mut self, _: i64, _: i64, _: i64) {}
        fn run_at_commit(&mut self, _: &'static str, _: i64) {}
    }

    #[test]
    fn terms_are_hashed_with_a_random_key() {
        let hash = |trends: &Trends| trends.lock().terms.hasher().hash_one("rust");
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
            let mut recent = trends.lock();
            let failed = trends.read_new(&mut recent, &mut Failing { tx, answers: 3 }, NOW);
            assert_eq!(recent.searches.len(), 4_096);
            failed
        });
        assert!(failed.is_err());
        let current = trends.current(service.store(), NOW).unwrap();
        assert_eq!(current.ranking, [("rust".to_owned(), searches)]);
        crate::search::log(&service, &Caller::Guest, None, "rust").wait().unwrap();
        assert_eq!(trends.current(service.store(), NOW).unwrap().ranking[0].1, searches + 1);
    }
}
