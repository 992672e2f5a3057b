//! Views that count for popularity: of each post, one per viewer in each hour of the clock, and 30 per network in an hour from
//! guests. In memory, under a hash with a random key, so a restart resets the limits, and so does midnight, when guests get other
//! numbers. Source of the hash: Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*, INDOCRYPT 2012.

use std::hash::{Hash, Hasher as _};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use siphasher::sip::SipHasher24;

use crate::analysis::Guest;
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::keyed::OwnMap;
use crate::base::random::random;
use crate::record::id::{MemberKey, PostKey};

/// The period of both limits, in seconds. It begins at multiples since 1970, so that imports of past views count the same.
const PERIOD_S: u32 = 60 * 60;
/// The maximum number of views of a post by guests of one network that count in a period: enough for a campus behind
/// one address, and a bound for a client that sends many user agents.
const NETWORK_VIEWS: u32 = 30;
/// The maximum number of entries of a generation. Each of the two generations takes about 4.5 MB.
const ENTRIES: usize = 7 << 15;

/// Only the first view of a viewer in this hour counts.
pub(crate) fn counted_hour(at: Timestamp) -> Range<Timestamp> {
    let period_ms = i64::from(PERIOD_S) * SECOND_MS;
    let start = at - at.as_millis().rem_euclid(period_ms);
    start..start + period_ms
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Viewer {
    Member(MemberKey),
    Guest(Guest),
    /// A caller of the command line, whose views are not limited.
    Operator,
}

pub(crate) struct Viewers {
    secret: [u8; 16],
    counted: Mutex<Generations>,
}

/// The generations of entries. The current one becomes the previous one when a period is over or the generation is
/// full, so no entry is lost early as long as a period has fewer than [`ENTRIES`] new entries.
#[derive(Default)]
struct Generations {
    current: OwnMap<u64, HourlyViews>,
    previous: OwnMap<u64, HourlyViews>,
    rotated_s: u32,
}

/// The views that have counted in the period of the time `since_s`, in seconds since 1970.
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
    pub(crate) fn counts(&self, post: PostKey, viewer: Viewer, now: Timestamp) -> bool {
        let (own, network) = match viewer {
            Viewer::Operator => return true,
            Viewer::Member(key) => (self.hash(b'm', post, key), None),
            // Views of crawlers do not indicate interest.
            Viewer::Guest(guest) if guest.is_crawler() => return false,
            Viewer::Guest(guest) => {
                (self.hash(b'g', post, guest.number()), Some(self.hash(b'n', post, guest.network())))
            }
        };
        let now = u32::try_from(now.as_millis() / SECOND_MS).unwrap_or_default();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.rotate(now);
        if counted.views(own, now) > 0 {
            return false;
        }
        if let Some(network) = network {
            if counted.views(network, now) >= NETWORK_VIEWS {
                return false;
            }
            counted.add(network, now);
        }
        counted.add(own, now);
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
    fn rotate(&mut self, now: u32) {
        let is_over = !HourlyViews { since_s: self.rotated_s, views: 0 }.is_current(now);
        // A view adds at most two entries.
        if is_over || self.current.len() + 2 > ENTRIES {
            self.previous = std::mem::take(&mut self.current);
            self.rotated_s = now;
        }
    }

    fn views(&self, hash: u64, now: u32) -> u32 {
        let views = self.current.get(&hash).or_else(|| self.previous.get(&hash));
        views.filter(|views| views.is_current(now)).map_or(0, |views| views.views)
    }

    fn add(&mut self, hash: u64, now: u32) {
        let known = self.current.get(&hash).or_else(|| self.previous.get(&hash)).copied();
        let views =
            known.filter(|views| views.is_current(now)).unwrap_or(HourlyViews { since_s: now, views: 0 });
        self.current.insert(hash, HourlyViews { views: views.views + 1, ..views });
    }
}

impl HourlyViews {
    fn is_current(self, now: u32) -> bool {
        self.since_s / PERIOD_S == now / PERIOD_S
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::testing::{self, NOW, Service};

    const POST: PostKey = PostKey::new(1);
    const OTHER: PostKey = PostKey::new(2);
    const PERIOD_MS: i64 = PERIOD_S as i64 * SECOND_MS;

    fn member(key: i64) -> Viewer {
        Viewer::Member(MemberKey::new(key))
    }

    fn guest(service: &Service, address: &str, user_agent: &str) -> Viewer {
        let address: IpAddr = address.parse().unwrap();
        Viewer::Guest(Guest::new(service, address, user_agent.as_bytes()))
    }

    #[test]
    fn a_viewer_counts_once_an_hour_for_each_post() {
        let (service, viewers) = (testing::service(), Viewers::default());
        let begin = counted_hour(NOW).start;
        let apple = guest(&service, "203.0.113.1", "apple");
        for viewer in [member(1), member(2), apple] {
            for post in [POST, OTHER] {
                assert!(viewers.counts(post, viewer, begin + 2), "{viewer:?}");
                for later in [0, 1, 2, PERIOD_MS - 1] {
                    assert!(!viewers.counts(post, viewer, begin + later), "{viewer:?} {later}");
                }
            }
        }
        assert_eq!(counted_hour(begin + PERIOD_MS - 1), begin..begin + PERIOD_MS);
        assert!(viewers.counts(POST, apple, begin + PERIOD_MS));
        assert!(!viewers.counts(POST, apple, begin + 2 * PERIOD_MS - 1));
        assert!(viewers.counts(POST, member(1), begin - 1), "the clock was set back");
        assert!((0..9).all(|_| viewers.counts(POST, Viewer::Operator, NOW)));
        assert!(!viewers.counts(POST, guest(&service, "203.0.113.9", "Googlebot/2.1"), NOW));
    }

    #[test]
    fn guests_of_a_network_have_a_common_limit_for_all_their_user_agents() {
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
        assert_eq!(counted(|_| "203.0.113.7".into(), POST, NOW + PERIOD_MS), 30, "the next hour");
        assert!(viewers.counts(POST, member(1), NOW), "members have no limit per network");
    }

    #[test]
    fn memory_is_bounded_and_the_newest_views_are_remembered() {
        let viewers = Viewers::default();
        let entries = i64::try_from(ENTRIES).unwrap();
        for key in 0..3 * entries {
            assert!(viewers.counts(POST, member(key), NOW));
        }
        for key in 2 * entries + 2..3 * entries {
            assert!(!viewers.counts(POST, member(key), NOW));
        }
        let counted = viewers.counted.lock().unwrap();
        let tables = [&counted.current, &counted.previous];
        assert!(tables.iter().all(|table| table.len() <= ENTRIES));
        let bytes: usize =
            tables.iter().map(|table| table.capacity() * 8 / 7 * (size_of::<(u64, HourlyViews)>() + 1)).sum();
        assert!(bytes <= 16 << 20, "{bytes}");
    }
}
