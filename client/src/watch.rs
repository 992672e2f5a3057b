//! Watching a service for changes. On a server, a thread follows its events, connects again when the connection is lost, and
//! asks every ten seconds instead if the caller may not follow them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tidings_core::Tidings;
use tidings_core::account::key;
use tidings_core::changes::Changes;
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::error::Code;
use tidings_core::{profile, status};

use crate::error::{Error, Result};
use crate::http::Server;
use crate::{Place, Service};

/// The data is read again at this interval without events.
const POLL_EVERY: Duration = Duration::from_secs(10);
/// Minimum time between two changes of the counters of a server.
const COUNTS_EVERY: Duration = Duration::from_secs(10);
/// The interval of changes while nobody uses the program, and when that begins.
const SELDOM: Duration = Duration::from_secs(60);
const UNUSED_AFTER: Duration = Duration::from_secs(120);
/// The interval of changes of the counters by the requests of this program, also by those that read the counters.
const OWN_EVERY: Duration = Duration::from_secs(600);
/// The first and the longest pause before a lost server is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

pub struct Watch(Source);

enum Source {
    Database(Tidings),
    Server {
        heard: Arc<Mutex<Heard>>,
        /// The versions that the last look returned, and in which round.
        seen: (Changes, u64),
        counted: Counted,
    },
}

struct Counted {
    at: Instant,
    news: u64,
    /// If only requests of this program change the counters; at first short, because others may have sent some, too.
    own_after: Duration,
}

impl Counted {
    fn now(news: u64) -> Self {
        Self { at: Instant::now(), news, own_after: COUNTS_EVERY }
    }
}

#[derive(Clone, Debug)]
pub struct Look {
    /// By the clock of the service.
    pub now: Timestamp,
    /// For each part of the data a number that grows when the part may have changed; of this [`Watch`] only.
    pub changes: Changes,
    /// In which days are counted.
    pub zone: Option<Arc<str>>,
    /// The id of a member, or `API key`; `None` while it is unknown.
    pub caller: Option<Arc<str>>,
    pub link: Link,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    Connecting,
    Live,
    /// The caller may not follow the events, so that changes are seen after ten seconds.
    Polling,
    /// The server does not accept the token or the key, or there is none.
    SignedOut,
    Lost {
        /// By the clock of the service.
        since: Timestamp,
        cause: String,
    },
}

struct Heard {
    look: Look,
    /// How often the counters changed by requests of others.
    news: u64,
    used: Instant,
    /// How often all versions were raised at once.
    rounds: u64,
    /// The clock of the server is ahead of this machine's by this many milliseconds.
    ahead_ms: i64,
}

impl Service {
    /// On a server this starts a thread, which ends after the returned value is dropped. Fails if it cannot be started.
    pub fn watch(&self) -> std::io::Result<Watch> {
        let server = match &self.0 {
            Place::Database(database) => return Ok(Watch(Source::Database(database.tidings.clone()))),
            Place::Server(server) => server.clone(),
        };
        let (now, changes) = (Clock::system().now(), Changes::default());
        let look = Look { now, changes, zone: None, caller: None, link: Link::Connecting };
        let heard = Heard { look, news: 0, used: Instant::now(), rounds: 0, ahead_ms: 0 };
        let heard = Arc::new(Mutex::new(heard));
        let follower =
            Follower { server, heard: Arc::downgrade(&heard), last: None, is_introduced: false, tries: 0 };
        thread::Builder::new().name("tidings-follow".into()).spawn(move || follower.run())?;
        let (seen, counted) = ((Changes::default(), 0), Counted::now(0));
        Ok(Watch(Source::Server { heard, seen, counted }))
    }
}

impl Watch {
    /// A server is asked less often while nobody uses the program, because it logs every request.
    pub fn is_used(&self) {
        if let Source::Server { heard, .. } = &self.0 {
            lock(heard).used = Instant::now();
        }
    }

    /// Does not wait for the service.
    pub fn look(&mut self) -> Look {
        match &mut self.0 {
            Source::Database(tidings) => Look {
                now: tidings.clock().now(),
                changes: Changes::of(tidings),
                zone: Some(tidings_core::analysis::zone(tidings).into()),
                caller: None,
                link: Link::Live,
            },
            Source::Server { heard, seen, counted } => {
                let heard = lock(heard);
                let (before, round) = std::mem::replace(seen, (heard.look.changes, heard.rounds));
                let is_changed = seen.0.counts != before.counts;
                let has_news = heard.news != counted.news;
                let after = if has_news { heard.every(COUNTS_EVERY) } else { counted.own_after };
                if round != heard.rounds {
                    *counted = Counted::now(heard.news);
                } else if is_changed && counted.at.elapsed() >= after {
                    let own_after = if has_news { COUNTS_EVERY } else { OWN_EVERY };
                    *counted = Counted { own_after, ..Counted::now(heard.news) };
                } else {
                    seen.0.counts = before.counts;
                }
                // A view of a notice is a request, which is counted.
                seen.0.notice_views = seen.0.counts;
                Look { now: heard.now(), changes: seen.0, ..heard.look.clone() }
            }
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    fn now(&self) -> Timestamp {
        Clock::system().now() + self.ahead_ms
    }

    /// Longer while nobody uses the program.
    fn every(&self, interval: Duration) -> Duration {
        if self.used.elapsed() < UNUSED_AFTER { interval } else { SELDOM }
    }
}

struct Follower {
    server: Server,
    /// Gone when the watch is dropped, which ends the thread.
    heard: Weak<Mutex<Heard>>,
    last: Option<Changes>,
    /// The zone and the clock of the server are known since the last connection.
    is_introduced: bool,
    /// Tries since the last stream that lasted.
    tries: u32,
}

impl Follower {
    fn run(mut self) {
        while self.heard.strong_count() > 0 {
            let began = Instant::now();
            let ended = self.follow();
            if began.elapsed() > PAUSES.1 {
                self.tries = 0;
            }
            let pause = match ended {
                Ok(()) => self.pause(),
                Err(error @ (Error::Core(_) | Error::Refused(_))) => {
                    let is_known = error.code() != Some(Code::BadToken);
                    if let Err(error) = self.poll(if is_known { Link::Polling } else { Link::SignedOut }) {
                        self.lose(&error);
                    }
                    self.wait_to_poll();
                    continue;
                }
                Err(error) => {
                    self.lose(&error);
                    self.pause()
                }
            };
            thread::sleep(pause);
        }
    }

    fn follow(&mut self) -> Result<()> {
        let events = self.server.events(&["changes"])?;
        self.introduce()?;
        // Changes during the interruption are unknown, and another process may send other numbers.
        self.last = None;
        for event in events {
            let event = event?;
            if event.name != "changes" {
                continue;
            }
            let changes = self.server.decode(event.data.as_bytes())?;
            let last = self.last.replace(changes);
            let is_own = self.server.requests.may_have_changed();
            let heard = self.with(|heard| {
                heard.look.link = Link::Live;
                heard.raise(last.as_ref(), &changes);
                let are_counted = last.is_some_and(|last| last.counts != changes.counts);
                heard.news += u64::from(are_counted && !is_own);
            });
            if heard.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn wait_to_poll(&self) {
        const STEP: Duration = Duration::from_secs(1);
        let since = Instant::now();
        while self.with(|heard| heard.every(POLL_EVERY)).is_some_and(|wait| since.elapsed() < wait) {
            thread::sleep(STEP);
        }
    }

    /// All data is read again, if the server can be reached.
    fn poll(&mut self, link: Link) -> Result<()> {
        self.introduce()?;
        self.with(|heard| {
            heard.look.link = link;
            heard.raise(None, &Changes::default());
        });
        Ok(())
    }

    /// Asks for the zone, the clock and the caller, unless they are known.
    fn introduce(&mut self) -> Result<()> {
        if self.is_introduced {
            return Ok(());
        }
        let asked = Clock::system().now();
        let status = unless_refused(self.server.call(&status::Get {}))?;
        let answered = Clock::system().now();
        let caller = unless_refused(self.server.caller())?.flatten();
        self.is_introduced = true;
        self.with(|heard| {
            if let Some(status) = status {
                heard.look.zone = Some(status.zone.into());
                heard.ahead_ms = status.now - (asked + (answered - asked) / 2);
            }
            heard.look.caller = caller;
        });
        Ok(())
    }

    fn lose(&mut self, error: &Error) {
        self.is_introduced = false;
        let cause = match error {
            Error::Unreachable { cause, .. } => cause.clone(),
            error => error.to_string(),
        };
        self.with(|heard| {
            let since = match heard.look.link {
                Link::Lost { since, .. } => since,
                _ => heard.now(),
            };
            heard.look.link = Link::Lost { since, cause };
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut Heard) -> T) -> Option<T> {
        self.heard.upgrade().map(|heard| change(&mut lock(&heard)))
    }

    /// Twice the previous pause, up to half a minute, shortened at random so that not all programs come back at once.
    fn pause(&mut self) -> Duration {
        let pause = PAUSES.0.saturating_mul(1 << self.tries.min(5)).min(PAUSES.1);
        self.tries = self.tries.saturating_add(1);
        // Without random numbers the pause is only less spread.
        let random = getrandom::u32().unwrap_or_default();
        pause.mul_f64(1.0 - f64::from(random) / f64::from(u32::MAX) / 2.0)
    }
}

impl Heard {
    /// Raises the versions of the parts whose numbers differ from `last`; without `last`, all versions.
    fn raise(&mut self, last: Option<&Changes>, new: &Changes) {
        let (mut last_parts, mut new) = (last.copied(), *new);
        for (i, version) in parts(&mut self.look.changes).into_iter().enumerate() {
            let is_same = last_parts.as_mut().is_some_and(|last| parts(last)[i] == parts(&mut new)[i]);
            *version += i64::from(!is_same);
        }
        self.rounds += u64::from(last.is_none());
    }
}

fn parts(changes: &mut Changes) -> [&mut i64; 8] {
    let Changes { posts, notices, feedback, members, counts, terms, audit, sources, .. } = changes;
    [posts, notices, feedback, members, counts, terms, audit, sources]
}

fn unless_refused<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Core(_) | Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Server {
    /// The id of a member, or `API key`; `None` for a guest.
    fn caller(&self) -> Result<Option<Arc<str>>> {
        match self.token() {
            None => Ok(None),
            Some(token) if token.starts_with(key::PREFIX) => Ok(Some("API key".into())),
            Some(_) => Ok(Some(self.call(&profile::Get {})?.fields().user_id.into())),
        }
    }
}

#[cfg(test)]
mod tests;
