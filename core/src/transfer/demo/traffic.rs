//! The traffic of the demo data, day by day: visits with their requests and acts.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::texts::SUBJECTS;
use super::world::{World, between, chance, share};
use crate::Tidings;
use crate::account::SignIn;
use crate::analysis::InsertDevice;
use crate::analysis::backfill::{PastRequest, Requester};
use crate::analysis::counters::Counter;
use crate::analysis::log::Operation;
use crate::analysis::trends::WINDOW_MS;
use crate::analysis::visitor::VisitorNumber;
use crate::base::clock::{DAY_MS, SECOND_MS, Timestamp};
use crate::record::error::Result;
use crate::record::operation::{Operation as _, Spec};
use crate::search::Search;
use crate::transfer::act::{Act, Line};
use crate::{newsfeed, notice, post, search};

/// The relative traffic of each hour of a day.
const HOURS: [f32; 24] = [
    2.0, 1.0, 0.5, 0.3, 0.3, 0.5, 1.5, 4.0, 7.0, 8.0, 7.5, 7.0, 9.0, 8.0, 7.0, 7.0, 6.5, 6.0, 6.0, 7.0, 8.0,
    8.0, 6.0, 4.0,
];
/// The relative traffic of each day of the week, from Monday.
const WEEK: [f32; 7] = [1.0, 1.05, 1.0, 0.95, 0.8, 0.5, 0.55];
/// The paths that crawlers request.
const CRAWLED: [Spec; 3] = [newsfeed::ListPopular::SPEC, post::ListCategories::SPEC, notice::List::SPEC];
/// The devices that apps report; a frequent device is listed several times.
const DEVICES: [(&str, Counter); 6] = [
    ("mobile", Counter::Mobile),
    ("mobile", Counter::Mobile),
    ("mobile", Counter::Mobile),
    ("pc", Counter::Pc),
    ("pc", Counter::Pc),
    ("tablet", Counter::Tablet),
];
/// The number of guests per member on a busy day.
const GUESTS: f32 = 0.3;
/// The number of requests of crawlers per day.
const CRAWLERS: usize = 14;
/// If no search falls into the last day, a guest searches this long before the end.
const LATELY_MS: i64 = 10 * 60 * SECOND_MS;
/// The number of days after which a post has half as many readers.
const FRESH_DAYS: f32 = 5.0;

/// Generates the traffic day by day.
pub(super) struct Traffic<'t> {
    tidings: &'t Tidings,
    world: World,
    /// The posts of the current day by subject, and of all subjects, each with the cumulative sum of their attraction.
    pulls: Vec<Vec<(usize, f32)>>,
    /// Whether any search is within the 24 hours of real-time terms.
    is_searched_lately: bool,
    /// Whether the keen member, whom new users try, has liked a post.
    has_keen_liked: bool,
}

/// The events of a day.
#[derive(Default)]
pub(super) struct Script {
    pub(super) requests: Vec<PastRequest>,
    /// The acts of members.
    pub(super) acts: Vec<Line>,
    /// The acts of guests with their times.
    pub(super) guests: Vec<(Timestamp, Guest)>,
    pub(super) devices: Vec<(Timestamp, Counter)>,
}

/// An act of a guest.
pub(super) enum Guest {
    /// A view of the post with this address.
    Views(String),
    /// A search; `lately` is whether it is within the 24 hours of real-time terms.
    Searches { search: Search, visitor: VisitorNumber, lately: bool },
}

/// A visit in progress.
struct Visit<'a> {
    who: Requester,
    /// The member's id; `None` for a guest.
    id: Option<&'a str>,
    /// Two places in [`SUBJECTS`].
    taste: [usize; 2],
    at: Timestamp,
    /// The visit ends before this time.
    until: Timestamp,
}

impl<'t> Traffic<'t> {
    pub(super) fn new(tidings: &'t Tidings, world: World) -> Self {
        Self { tidings, world, pulls: Vec::new(), is_searched_lately: false, has_keen_liked: false }
    }

    /// Returns the numbers of the days.
    pub(super) fn days(&self) -> std::ops::RangeInclusive<i64> {
        self.world.first_day..=self.world.today
    }

    /// Generates the events of a day.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(super) fn day(&mut self, day: i64) -> Result<Script> {
        let local_time = self.tidings.analysis().calendar.local_time();
        let (begins, ends) = (local_time.day_start(day), local_time.day_start(day + 1));
        let until = ends.min(self.world.now + 1);
        self.measure_pulls(begins, until);
        // 1970-01-01 was a Thursday.
        let week = WEEK[usize::try_from((day + 3).rem_euclid(7)).unwrap_or_default()];
        let busy = week * (0.9 + 0.2 * share(&mut self.world.random));
        let mut script = Script::default();
        for n in 0..self.world.people.len() {
            let person = &self.world.people[n];
            let Some(key) = person.key else { continue };
            let (who, taste, joined) = (Requester::Member(key), person.taste, person.joined);
            let (id, keenness) = (person.id.clone(), person.keenness);
            while chance(&mut self.world.random, keenness * busy) {
                let at = self.moment(begins, ends);
                if at >= until || at < joined {
                    break;
                }
                let visit = Visit { who, id: Some(&id), taste, at, until };
                self.visit(visit, &mut script)?;
                // Some members visit again on the same day.
                if chance(&mut self.world.random, 0.6) {
                    break;
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "at most ten thousand members")]
        let guests = self.world.people.len() as f32 * GUESTS * busy;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number above 0")]
        for _ in 0..guests.ceil() as usize {
            let number = between(&mut self.world.random, 1, i64::MAX);
            let at = self.moment(begins, ends);
            let random = &mut self.world.random;
            let taste = [random.below(SUBJECTS.len()), random.below(SUBJECTS.len())];
            if at < until {
                self.visit(Visit { who: Requester::Guest(number), id: None, taste, at, until }, &mut script)?;
            }
        }
        // Even small demo data that ends early in the day has a recent search.
        if day == self.world.today && !self.is_searched_lately {
            let random = &mut self.world.random;
            let who = Requester::Guest(between(random, 1, i64::MAX));
            let (taste, at) = ([random.below(SUBJECTS.len()); 2], begins.max(self.world.now - LATELY_MS));
            self.search(&Visit { who, id: None, taste, at, until }, &mut script)?;
        }
        for _ in 0..CRAWLERS {
            let (at, operation) = (
                begins + between(&mut self.world.random, 0, ends - begins),
                &CRAWLED[self.world.random.below(CRAWLED.len())],
            );
            if at < until {
                script.ask(Requester::Crawler, at, operation, "");
            }
        }
        Ok(script)
    }

    /// Returns a random time of a day; busy hours are more likely.
    fn moment(&mut self, begins: Timestamp, ends: Timestamp) -> Timestamp {
        let random = &mut self.world.random;
        let mut left = share(random) * HOURS.iter().sum::<f32>();
        let hour = HOURS.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        let hour = i64::try_from(hour.unwrap_or(12)).unwrap_or_default();
        let length = (ends - begins) / 24;
        begins + hour * length + between(random, 0, length)
    }

    /// Computes the attraction to readers on a day of each post that exists by the end of the day.
    fn measure_pulls(&mut self, begins: Timestamp, until: Timestamp) {
        self.pulls = vec![Vec::new(); SUBJECTS.len() + 1];
        for (at, post) in self.world.posts.iter().enumerate().filter(|(_, post)| post.date < until) {
            #[expect(clippy::cast_precision_loss, reason = "ages are small")]
            let age = (begins - post.date).max(0) as f32 / DAY_MS as f32;
            let pull = post.appeal * (-age / FRESH_DAYS).exp2();
            for list in [post.subject, SUBJECTS.len()] {
                let sum = self.pulls[list].last().map_or(0.0, |(_, sum)| *sum);
                self.pulls[list].push((at, sum + pull));
            }
        }
    }

    /// Returns a post that attracts a reader with this taste; `None` if it does not exist yet at the time `at`.
    fn post(&mut self, taste: [usize; 2], at: Timestamp) -> Option<usize> {
        let random = &mut self.world.random;
        let luck = share(random);
        let list = match luck {
            _ if luck < 0.55 => taste[0],
            _ if luck < 0.8 => taste[1],
            _ => SUBJECTS.len(),
        };
        let list = &self.pulls[list];
        let wanted = share(random) * list.last()?.1;
        let found = list.partition_point(|(_, sum)| *sum < wanted).min(list.len() - 1);
        Some(list[found].0).filter(|post| self.world.posts[*post].date <= at)
    }

    /// Generates a visit: a feed, sometimes a search and a topic, and some posts.
    fn visit(&mut self, mut visit: Visit<'_>, script: &mut Script) -> Result<()> {
        let is_member = visit.id.is_some();
        if is_member && chance(&mut self.world.random, 0.08) {
            script.ask(visit.who, visit.at, &SignIn::SPEC, "");
            visit.at += 900;
        }
        if chance(&mut self.world.random, 0.3) {
            let (device, counter) = DEVICES[self.world.random.below(DEVICES.len())];
            script.ask(visit.who, visit.at, &InsertDevice::SPEC, device);
            script.devices.push((visit.at, counter));
        }
        let feed = if is_member { newsfeed::ListRecommended::SPEC } else { newsfeed::ListPopular::SPEC };
        script.ask(visit.who, visit.at, &feed, "");
        if chance(&mut self.world.random, 0.1) {
            script.ask(visit.who, visit.at + 1, &notice::List::SPEC, "");
        }
        if chance(&mut self.world.random, 0.18) && self.wait(&mut visit) {
            self.search(&visit, script)?;
        }
        if is_member && chance(&mut self.world.random, 0.2) && self.wait(&mut visit) {
            self.open_topic(&visit, script)?;
        }
        let likes = if is_member { [0.3, 0.06] } else { [0.0; 2] };
        while self.wait(&mut visit) {
            self.read(&visit, likes, script);
            if chance(&mut self.world.random, 0.35) {
                break;
            }
        }
        Ok(())
    }

    /// Advances the time of the visit. Returns false when the visit is over.
    fn wait(&mut self, visit: &mut Visit<'_>) -> bool {
        visit.at += between(&mut self.world.random, 4 * SECOND_MS, 150 * SECOND_MS);
        visit.at < visit.until
    }

    fn search(&mut self, visit: &Visit<'_>, script: &mut Script) -> Result<()> {
        let random = &mut self.world.random;
        // A topical subject is searched more often than others.
        let is_topical = chance(random, 0.4);
        let topical = usize::try_from(self.world.today).unwrap_or_default() % SUBJECTS.len();
        let nouns = &SUBJECTS[if is_topical { topical } else { visit.taste[0] }].nouns;
        let noun = nouns[if is_topical { random.below(3) } else { random.below(nouns.len()) }];
        let search = Search::new(noun)?;
        let lately = visit.at > self.world.now - WINDOW_MS;
        self.is_searched_lately |= lately;
        script.ask(visit.who, visit.at, &search::Log::SPEC, "");
        script.ask(visit.who, visit.at, &search::Find::SPEC, "20");
        if let Some(id) = visit.id {
            script.act(id, visit.at, Act::Search(search.listed(self.tidings)?));
        } else {
            let visitor = visit.who.number();
            script.guests.push((visit.at, Guest::Searches { search, visitor, lately }));
        }
        Ok(())
    }

    fn open_topic(&mut self, visit: &Visit<'_>, script: &mut Script) -> Result<()> {
        let topic = SUBJECTS[visit.taste[self.world.random.below(2)]].topic;
        script.ask(visit.who, visit.at, &newsfeed::ListTopic::SPEC, topic);
        let (name, tags) = newsfeed::opened_at(self.tidings, topic, visit.at)?;
        if let Some(id) = visit.id {
            script.act(id, visit.at, Act::Newsfeed { name, tags });
        }
        Ok(())
    }

    /// Reads a post, and likes it with the first probability of `likes` if it is to the reader's taste, otherwise with
    /// the second.
    fn read(&mut self, visit: &Visit<'_>, likes: [f32; 2], script: &mut Script) {
        let Some(post) = self.post(visit.taste, visit.at) else { return };
        let is_to_taste = visit.taste.contains(&self.world.posts[post].subject);
        let is_keen = visit.id == Some(&self.world.people[0].id);
        let is_liked = chance(&mut self.world.random, likes[usize::from(!is_to_taste)])
            || (is_keen && !self.has_keen_liked);
        let post = &self.world.posts[post];
        let shown = post.id.to_string();
        script.ask(visit.who, visit.at, &post::Get::SPEC, &shown);
        script.ask(visit.who, visit.at, &post::View::SPEC, &shown);
        let Some(id) = visit.id else {
            script.guests.push((visit.at, Guest::Views(post.url.clone())));
            return;
        };
        script.act(id, visit.at, Act::View(post.url.clone()));
        let at = visit.at + 3 * SECOND_MS;
        if is_liked && at < visit.until {
            self.has_keen_liked |= is_keen;
            script.ask(visit.who, at, &post::Like::SPEC, &shown);
            script.act(id, at, Act::Like(post.url.clone()));
        }
    }
}

impl Script {
    /// Adds a request of an operation, with a value for the only field that its path may have.
    fn ask(&mut self, who: Requester, at: Timestamp, operation: &Spec, value: &str) {
        let value = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
        let path = |path: String, name| path.replace(&format!("{{{name}}}"), &value);
        self.requests.push(PastRequest {
            at,
            operation: Operation::new(operation.method.name(), operation.path),
            path: operation.parameters().fold(operation.path.to_owned(), path),
            status: 200,
            requester: who,
        });
    }

    fn act(&mut self, member: &str, at: Timestamp, act: Act) {
        self.acts.push(Line { number: 0, member: member.to_owned(), at, act });
    }
}
