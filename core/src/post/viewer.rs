//! Which views count for popularity: one an hour of each viewer on a post, and so many an hour of the guests of one
//! network, however many user agents they name.
//!
//! Every view is counted as a view; this decides only about the heat. What it needs is in memory, a few bytes for
//! each viewer of a post, under a hash whose key is random and this process's own. So a restart begins again, and
//! each of several processes on a database allows the same number. Guests have other numbers on another day, so midnight
//! begins again for them, too.
//!
//! Source of the hash: Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*, INDOCRYPT 2012.

use std::hash::{Hash, Hasher as _};
use std::sync::{Mutex, PoisonError};

use siphasher::sip::SipHasher24;

use crate::analysis::Guest;
use crate::clock::{SECOND_MS, Timestamp};
use crate::id::{MemberKey, PostKey, random};
use crate::keyed::OwnMap;

/// How long a viewer's view of a post counts alone, and how long the views of a network are added up.
const WINDOW_S: u32 = 60 * 60;
/// Views of a post that count in a window from the guests of one network: a campus behind one address shows what it
/// reads, and one client with many user agents is worth no more than this.
const NETWORK_VIEWS: u32 = 30;
/// Entries in one generation: a hash table of this size is about 4.5 MB, and there are two.
const ENTRIES: usize = 7 << 15;

/// The viewer of a post.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Viewer {
    /// The member with this key.
    Member(MemberKey),
    /// A client that is not signed in.
    Guest(Guest),
    /// An operator at the command line, whose views are not limited.
    Operator,
}

/// Whose views of which posts have counted lately.
pub(crate) struct Viewers {
    secret: [u8; 16],
    counted: Mutex<Generations>,
}

/// Entries go from one generation to the next when a window is over or the generation is full, so that none is
/// forgotten early while fewer than [`ENTRIES`] are made in a window.
#[derive(Default)]
struct Generations {
    current: OwnMap<u64, HourlyViews>,
    before: OwnMap<u64, HourlyViews>,
    rotated_s: u32,
}

/// The views that have counted since a moment, in seconds since 1970.
#[derive(Clone, Copy)]
struct HourlyViews {
    since_s: u32,
    views: u32,
}

impl Default for Viewers {
    fn default() -> Self {
        Self { secret: random(), counted: Mutex::default() }
    }
}

impl Viewers {
    /// Whether a view of the post with this key counts for its popularity; one that does is remembered.
    pub(crate) fn counts(&self, post: PostKey, viewer: Viewer, now: Timestamp) -> bool {
        let (own, network) = match viewer {
            Viewer::Operator => return true,
            Viewer::Member(key) => (self.hash(b'm', post, key), None),
            // A declared crawler shows nobody's interest.
            Viewer::Guest(guest) if guest.is_crawler() => return false,
            Viewer::Guest(guest) => {
                (self.hash(b'g', post, guest.number()), Some(self.hash(b'n', post, guest.network())))
            }
        };
        let now = u32::try_from(now.as_millis() / SECOND_MS).unwrap_or_default();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.rotate(now);
        if counted.spent(own, now) > 0 {
            return false;
        }
        if let Some(network) = network {
            if counted.spent(network, now) >= NETWORK_VIEWS {
                return false;
            }
            counted.spend(network, now);
        }
        counted.spend(own, now);
        true
    }

    fn hash(&self, kind: u8, post: PostKey, who: impl Hash) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u8(kind);
        post.hash(&mut hasher);
        who.hash(&mut hasher);
        hasher.finish()
    }
}

impl Generations {
    /// Begins a new generation when this one is over or full.
    fn rotate(&mut self, now: u32) {
        let is_over = !HourlyViews { since_s: self.rotated_s, views: 0 }.lasts(now);
        // One view adds two entries at most.
        if is_over || self.current.len() + 2 > ENTRIES {
            self.before = std::mem::take(&mut self.current);
            self.rotated_s = now;
        }
    }

    /// How many views of this hash have counted in its window.
    fn spent(&self, hash: u64, now: u32) -> u32 {
        let spent = self.current.get(&hash).or_else(|| self.before.get(&hash));
        spent.filter(|spent| spent.lasts(now)).map_or(0, |spent| spent.views)
    }

    fn spend(&mut self, hash: u64, now: u32) {
        let known = self.current.get(&hash).or_else(|| self.before.get(&hash)).copied();
        let spent = known.filter(|spent| spent.lasts(now)).unwrap_or(HourlyViews { since_s: now, views: 0 });
        self.current.insert(hash, HourlyViews { views: spent.views + 1, ..spent });
    }
}

impl HourlyViews {
    /// Whether its window goes on; it does not when the clock was set back before it.
    fn lasts(self, now: u32) -> bool {
        now.checked_sub(self.since_s).is_some_and(|age| age < WINDOW_S)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::testing::{self, NOW, Service};

    const POST: PostKey = PostKey::new(1);
    const OTHER: PostKey = PostKey::new(2);
    const WINDOW_MS: i64 = WINDOW_S as i64 * SECOND_MS;

    fn member(key: i64) -> Viewer {
        Viewer::Member(MemberKey::new(key))
    }

    fn guest(service: &Service, address: &str, user_agent: &str) -> Viewer {
        let address: IpAddr = address.parse().unwrap();
        Viewer::Guest(Guest::new(service, address, user_agent.as_bytes()))
    }

    #[test]
    fn a_viewer_counts_once_an_hour_on_each_post() {
        let (service, viewers) = (testing::service(), Viewers::default());
        let apple = guest(&service, "203.0.113.1", "apple");
        for viewer in [member(1), member(2), apple] {
            for post in [POST, OTHER] {
                assert!(viewers.counts(post, viewer, NOW), "{viewer:?}");
                for later in [0, 1, WINDOW_MS - 1] {
                    assert!(!viewers.counts(post, viewer, NOW + later), "{viewer:?} {later}");
                }
            }
        }
        assert!(viewers.counts(POST, apple, NOW + WINDOW_MS));
        assert!(
            !viewers.counts(POST, apple, NOW + 2 * WINDOW_MS - 1),
            "the hour begins with the view that counted"
        );
        assert!(viewers.counts(POST, member(1), NOW - WINDOW_MS), "the clock was set back");
        assert!((0..9).all(|_| viewers.counts(POST, Viewer::Operator, NOW)));
        assert!(!viewers.counts(POST, guest(&service, "203.0.113.9", "Googlebot/2.1"), NOW));
    }

    #[test]
    fn the_guests_of_one_network_count_a_bounded_number_of_times_whatever_they_name() {
        let (service, viewers) = (testing::service(), Viewers::default());
        let counted = |address: fn(u32) -> String, post: PostKey, now: Timestamp| {
            (0..100)
                .filter(|n| {
                    let viewer = guest(&service, &address(*n), &format!("agent {n} {now}"));
                    viewers.counts(post, viewer, now)
                })
                .count()
        };
        assert_eq!(counted(|_| "203.0.113.7".into(), POST, NOW), 30, "user agents");
        assert_eq!(counted(|n| format!("203.0.113.{n}"), POST, NOW), 0, "addresses of the same /24");
        assert_eq!(counted(|n| format!("2001:db8:1:{n:x}::{n:x}"), POST, NOW), 30, "a /48");
        assert_eq!(counted(|n| format!("198.51.{n}.7"), POST, NOW), 100, "other networks");
        assert_eq!(counted(|_| "203.0.113.7".into(), OTHER, NOW), 30, "another post");
        assert_eq!(counted(|_| "203.0.113.7".into(), POST, NOW + WINDOW_MS), 30, "the next hour");
        assert!(viewers.counts(POST, member(1), NOW), "members are no guests");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_remembered() {
        let viewers = Viewers::default();
        let entries = i64::try_from(ENTRIES).unwrap();
        for key in 0..3 * entries {
            assert!(viewers.counts(POST, member(key), NOW));
        }
        for key in 2 * entries + 2..3 * entries {
            assert!(!viewers.counts(POST, member(key), NOW));
        }
        let counted = viewers.counted.lock().unwrap();
        let tables = [&counted.current, &counted.before];
        assert!(tables.iter().all(|table| table.len() <= ENTRIES));
        let bytes: usize =
            tables.iter().map(|table| table.capacity() * 8 / 7 * (size_of::<(u64, HourlyViews)>() + 1)).sum();
        assert!(bytes <= 16 << 20, "{bytes}");
    }
}
