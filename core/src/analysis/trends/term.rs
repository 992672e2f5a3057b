//! The searches of one term, and how many of them count.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::{SPELLING_BYTES, SearchKey};
use crate::analysis::visitor::{Network, VisitorNumber};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::keyed::OwnMap;

const HOUR_MS: i64 = 60 * 60 * SECOND_MS;
/// Of a term per visitor.
const VISITOR_SEARCHES: usize = 5;
/// The maximum numbers of visitors and of searches that the guests of one network count as for a term. Searches of a campus
/// behind one address are still ranked by frequency, but the number of visitors decides whether a term appears.
pub(super) const NETWORK_VISITORS: usize = 3;
const NETWORK_SEARCHES: i64 = 100;

pub(super) type SearchTime = (Timestamp, SearchKey);

/// Of the clock, in UTC.
pub(super) fn hour_of(date: Timestamp) -> i64 {
    date.as_millis().div_euclid(HOUR_MS)
}

pub(super) fn hour_end(date: Timestamp) -> Timestamp {
    Timestamp::from_millis((hour_of(date) + 1) * HOUR_MS)
}

/// The searches of a term within 24 hours. A visitor counts once in a clock hour, and [`VISITOR_SEARCHES`] times at most. The
/// guests of one network count as [`NETWORK_VISITORS`] visitors and [`NETWORK_SEARCHES`] searches at most. Searches of callers who
/// are not visitors all count.
#[derive(Default)]
pub(super) struct Term {
    /// At most one of each visitor in a clock hour.
    pub(super) searches: usize,
    pub(super) newest: SearchTime,
    /// The latest search of each visitor in each clock hour. Keys are member keys or hashes under a secret key.
    visitors: OwnMap<VisitorNumber, Vec<SearchTime>>,
    /// The guests of each network. Keys are hashes under a secret key.
    networks: OwnMap<Network, Guests>,
    spellings: HashMap<Arc<str>, usize>,
    /// The number of searches that count: the frequency of the term.
    pub(super) count: i64,
    pub(super) distinct: usize,
}

#[derive(Clone, Copy, Default)]
struct Guests {
    visitors: usize,
    searches: i64,
}

impl Guests {
    fn counted(self) -> (usize, i64) {
        (self.visitors.min(NETWORK_VISITORS), self.searches.min(NETWORK_SEARCHES))
    }
}

/// The numbers of visitors of the hours before and from a certain hour, each visitor counted once in an hour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HourlyVisitors {
    pub(super) before: usize,
    pub(super) since: usize,
}

impl Term {
    pub(super) fn in_hour(&self, visitor: VisitorNumber, date: Timestamp) -> Option<SearchTime> {
        let moments = self.visitors.get(&visitor)?;
        moments.iter().find(|(other, _)| hour_of(*other) == hour_of(date)).copied()
    }

    /// The visitor has no other search in this clock hour. Returns the memory that the spelling takes.
    pub(super) fn add(&mut self, visitor: VisitorNumber, moment: SearchTime, spelling: &Arc<str>) -> usize {
        self.searches += 1;
        self.newest = self.newest.max(moment);
        if visitor == VisitorNumber::NOBODY {
            self.count += 1;
        } else {
            let own = self.visitors.entry(visitor).or_default();
            own.push(moment);
            let (is_new, counts) = (own.len() == 1, own.len() <= VISITOR_SEARCHES);
            self.change(visitor, |visitors| visitors + usize::from(is_new), i64::from(counts));
        }
        if let Some(searches) = self.spellings.get_mut(spelling) {
            *searches += 1;
            return 0;
        }
        self.spellings.insert(Arc::clone(spelling), 1);
        SPELLING_BYTES + spelling.len()
    }

    /// Returns the memory that the spelling no longer takes.
    pub(super) fn remove(&mut self, visitor: VisitorNumber, moment: SearchTime, spelling: &str) -> usize {
        self.searches -= 1;
        if visitor == VisitorNumber::NOBODY {
            self.count -= 1;
        } else if let Some(own) = self.visitors.get_mut(&visitor) {
            own.retain(|other| *other != moment);
            let (is_last, counted) = (own.is_empty(), own.len() < VISITOR_SEARCHES);
            if is_last {
                self.visitors.remove(&visitor);
            }
            self.change(visitor, |visitors| visitors - usize::from(is_last), -i64::from(counted));
        }
        let Some(searches) = self.spellings.get_mut(spelling) else { return 0 };
        *searches -= 1;
        if *searches > 0 {
            return 0;
        }
        self.spellings.remove(spelling);
        SPELLING_BYTES + spelling.len()
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

    /// `None` for a new spelling.
    pub(super) fn spelling(&self, spelling: &str) -> Option<&Arc<str>> {
        self.spellings.get_key_value(spelling).map(|(known, _)| known)
    }

    /// The most frequent spelling; of several, the first in the order of texts, in which `exam` is before `exams` and a blank
    /// before every letter.
    pub(super) fn shown(&self) -> &str {
        let most = self.spellings.iter().max_by_key(|(spelling, searches)| (**searches, Reverse(*spelling)));
        most.map_or("", |(spelling, _)| spelling)
    }

    /// Before and from the hour `first`. The guests of one network count as at most [`NETWORK_VISITORS`] in an hour.
    pub(super) fn hourly_visitors(&self, first: i64) -> HourlyVisitors {
        let mut networks: OwnMap<(Network, i64), usize> = OwnMap::default();
        let mut sums = HourlyVisitors::default();
        for (visitor, moments) in &self.visitors {
            let network = Network::of_searcher(*visitor);
            for (date, _) in moments {
                let hour = hour_of(*date);
                if network.is_some_and(|network| is_beyond_limit(&mut networks, (network, hour))) {
                    continue;
                }
                *if hour < first { &mut sums.before } else { &mut sums.since } += 1;
            }
        }
        sums
    }

    /// Each visitor counts once since the hour `first`, the guests of one network as at most [`NETWORK_VISITORS`].
    pub(super) fn visitors_since(&self, first: i64) -> usize {
        let mut networks = OwnMap::default();
        let since =
            self.visitors.iter().filter(|(_, own)| own.iter().any(|(date, _)| hour_of(*date) >= first));
        let counted = since.filter(|(visitor, _)| {
            let network = Network::of_searcher(**visitor);
            !network.is_some_and(|network| is_beyond_limit(&mut networks, network))
        });
        counted.count()
    }
}

/// Also counts the guest.
fn is_beyond_limit<K: Eq + std::hash::Hash>(networks: &mut OwnMap<K, usize>, network: K) -> bool {
    let guests = networks.entry(network).or_default();
    *guests += 1;
    *guests > NETWORK_VISITORS
}
