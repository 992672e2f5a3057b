//! The traffic of the demo data, day by day: visits with their requests and acts.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::texts::TEXTS;
use super::world::{World, between, chance, one_of, pick, taste};
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

const HOURS: [f32; 24] = [
    2.0, 1.0, 0.5, 0.3, 0.3, 0.5, 1.5, 4.0, 7.0, 8.0, 7.5, 7.0, 9.0, 8.0, 7.0, 7.0, 6.5, 6.0, 6.0, 7.0, 8.0,
    8.0, 6.0, 4.0,
];
/// The relative traffic of each day, from Monday.
const WEEK: [f32; 7] = [1.0, 1.05, 1.0, 0.95, 0.8, 0.5, 0.55];
const CRAWLED: [Spec; 3] = [newsfeed::ListPopular::SPEC, post::ListCategories::SPEC, notice::List::SPEC];
/// The devices that apps report, and how frequent each is.
const DEVICES: [(&str, Counter, f32); 3] =
    [("mobile", Counter::Mobile, 3.0), ("pc", Counter::Pc, 2.0), ("tablet", Counter::Tablet, 1.0)];
/// Per member on a busy day.
const GUESTS: f32 = 0.3;
/// Per day.
const CRAWLERS: usize = 14;
/// If no search falls into the last day, a guest searches this long before the end.
const LATELY_MS: i64 = 10 * 60 * SECOND_MS;
/// After this time a post has half as many readers.
const FRESH_MS: i64 = 5 * DAY_MS;
/// A reader chooses among this many posts of the same age.
const NEAR: usize = 6;

pub(super) struct Traffic<'t> {
    tidings: &'t Tidings,
    world: World,
    /// The places of the posts by subject, and of all posts, oldest first.
    lists: Vec<Vec<usize>>,
    script: Script,
    /// A search is within the 24 hours of real-time terms.
    is_searched_lately: bool,
    /// New users try the keen member, who should have liked a post.
    has_keen_liked: bool,
}

#[derive(Default)]
pub(super) struct Script {
    pub(super) requests: Vec<PastRequest>,
    pub(super) acts: Vec<Line>,
    pub(super) guests: Vec<(Timestamp, Guest)>,
    pub(super) devices: Vec<(Timestamp, Counter)>,
}

pub(super) enum Guest {
    /// Of the post with this address.
    Views(String),
    /// `lately` is whether the search is within the 24 hours of real-time terms.
    Searches { search: Search, visitor: VisitorNumber, lately: bool },
}

struct Visit {
    who: Requester,
    /// The place of the member; `None` for a guest.
    person: Option<usize>,
    taste: [usize; 2],
    at: Timestamp,
    until: Timestamp,
}

impl<'t> Traffic<'t> {
    pub(super) fn new(tidings: &'t Tidings, world: World) -> Self {
        let mut lists = vec![Vec::new(); TEXTS.subjects.len() + 1];
        for (at, post) in world.posts.iter().enumerate() {
            lists[post.subject].push(at);
            lists[TEXTS.subjects.len()].push(at);
        }
        let script = Script::default();
        Self { tidings, world, lists, script, is_searched_lately: false, has_keen_liked: false }
    }

    pub(super) fn days(&self) -> std::ops::RangeInclusive<i64> {
        self.world.first_day..=self.world.today
    }

    pub(super) fn day(&mut self, day: i64) -> Result<Script> {
        let local_time = self.tidings.analysis().calendar.local_time();
        let (begins, ends) = (local_time.day_start(day), local_time.day_start(day + 1));
        let until = ends.min(self.world.now + 1);
        // 1970-01-01 was a Thursday.
        let busy = WEEK[usize::try_from((day + 3).rem_euclid(7)).unwrap_or_default()];
        for n in 0..self.world.people.len() {
            let person = &self.world.people[n];
            let Some(key) = person.key else { continue };
            let (who, taste, joined, keenness) =
                (Requester::Member(key), person.taste, person.joined, person.keenness);
            while self.chance(keenness * busy) {
                let at = self.moment(begins, ends);
                if at >= until || at < joined {
                    break;
                }
                self.visit(Visit { who, person: Some(n), taste, at, until })?;
                // Some members visit again on the same day.
                if self.chance(0.6) {
                    break;
                }
            }
            let at = self.moment(begins, ends);
            if self.chance(GUESTS * busy) && at < until {
                let guest = self.guest(at, until);
                self.visit(guest)?;
            }
        }
        // Even small demo data that ends early in the day has a recent search.
        if day == self.world.today && !self.is_searched_lately {
            let guest = self.guest(begins.max(self.world.now - LATELY_MS), until);
            self.search(&guest)?;
        }
        for _ in 0..CRAWLERS {
            let (at, operation) = (self.moment(begins, ends), one_of(&mut self.world.random, &CRAWLED));
            if at < until {
                self.ask(Requester::Crawler, at, operation, "");
            }
        }
        Ok(std::mem::take(&mut self.script))
    }

    fn chance(&mut self, probability: f32) -> bool {
        chance(&mut self.world.random, probability)
    }

    fn guest(&mut self, at: Timestamp, until: Timestamp) -> Visit {
        let random = &mut self.world.random;
        let who = Requester::Guest(between(random, 1, i64::MAX));
        Visit { who, person: None, taste: taste(random), at, until }
    }

    /// Busy hours are more likely.
    fn moment(&mut self, begins: Timestamp, ends: Timestamp) -> Timestamp {
        let random = &mut self.world.random;
        let hour = i64::try_from(pick(random, HOURS.into_iter())).unwrap_or_default();
        let length = (ends - begins) / 24;
        begins + hour * length + between(random, 0, length)
    }

    /// The taste attracts the reader to the post; `None` if there is none yet at the time `at`.
    fn post(&mut self, taste: [usize; 2], at: Timestamp) -> Option<usize> {
        let World { posts, random, .. } = &mut self.world;
        let of_taste = [taste[0], taste[1], TEXTS.subjects.len()];
        let list = &self.lists[of_taste[pick(random, [0.55, 0.25, 0.2].into_iter())]];
        let mut age = between(random, 0, FRESH_MS);
        while chance(random, 0.5) {
            age += FRESH_MS;
        }
        let until = |time: Timestamp| list.partition_point(|post| posts[*post].date <= time);
        let end = until(at - age).max(until(at).min(1));
        let near = &list[end.saturating_sub(NEAR)..end];
        let chosen = pick(random, near.iter().map(|post| posts[*post].appeal));
        near.get(chosen).copied()
    }

    /// A feed, sometimes a search and a topic, and some posts.
    fn visit(&mut self, mut visit: Visit) -> Result<()> {
        let is_member = visit.person.is_some();
        if is_member && self.chance(0.08) {
            self.ask(visit.who, visit.at, &SignIn::SPEC, "");
            visit.at += 900;
        }
        if self.chance(0.3) {
            let frequencies = DEVICES.iter().map(|(.., frequency)| *frequency);
            let (device, counter, _) = DEVICES[pick(&mut self.world.random, frequencies)];
            self.ask(visit.who, visit.at, &InsertDevice::SPEC, device);
            self.script.devices.push((visit.at, counter));
        }
        let feed = if is_member { newsfeed::ListRecommended::SPEC } else { newsfeed::ListPopular::SPEC };
        self.ask(visit.who, visit.at, &feed, "");
        if self.chance(0.1) {
            self.ask(visit.who, visit.at + 1, &notice::List::SPEC, "");
        }
        if self.chance(0.18) && self.wait(&mut visit) {
            self.search(&visit)?;
        }
        if is_member && self.chance(0.2) && self.wait(&mut visit) {
            let topic = &TEXTS.subjects[*one_of(&mut self.world.random, &visit.taste)].topic;
            self.ask(visit.who, visit.at, &newsfeed::ListTopic::SPEC, topic);
            let (name, tags) = newsfeed::opened_at(self.tidings, topic, visit.at)?;
            self.act(&visit, visit.at, Act::Newsfeed { name, tags });
        }
        while self.wait(&mut visit) {
            self.read(&visit);
            if self.chance(0.35) {
                break;
            }
        }
        Ok(())
    }

    /// Returns false when the visit is over.
    fn wait(&mut self, visit: &mut Visit) -> bool {
        visit.at += between(&mut self.world.random, 4 * SECOND_MS, 150 * SECOND_MS);
        visit.at < visit.until
    }

    fn search(&mut self, visit: &Visit) -> Result<()> {
        // The first nouns of a topical subject are searched more often than others.
        let topical = usize::try_from(self.world.today).unwrap_or_default() % TEXTS.subjects.len();
        let is_topical = self.chance(0.4);
        let nouns = &TEXTS.subjects[if is_topical { topical } else { visit.taste[0] }].nouns;
        let nouns = if is_topical { &nouns[..3] } else { nouns };
        let noun = one_of(&mut self.world.random, nouns);
        let search = Search::new(noun)?;
        let lately = visit.at > self.world.now - WINDOW_MS;
        self.is_searched_lately |= lately;
        self.ask(visit.who, visit.at, &search::Log::SPEC, "");
        self.ask(visit.who, visit.at, &search::Find::SPEC, "20");
        if visit.person.is_some() {
            self.act(visit, visit.at, Act::Search(search.listed(self.tidings)?));
        } else {
            let visitor = visit.who.number();
            self.script.guests.push((visit.at, Guest::Searches { search, visitor, lately }));
        }
        Ok(())
    }

    /// A member likes some posts, mostly those to the member's taste.
    fn read(&mut self, visit: &Visit) {
        let Some(post) = self.post(visit.taste, visit.at) else { return };
        let post = &self.world.posts[post];
        let (shown, url, subject) = (post.id.to_string(), post.url.clone(), post.subject);
        self.ask(visit.who, visit.at, &post::Get::SPEC, &shown);
        self.ask(visit.who, visit.at, &post::View::SPEC, &shown);
        if visit.person.is_none() {
            self.script.guests.push((visit.at, Guest::Views(url)));
            return;
        }
        self.act(visit, visit.at, Act::View(url.clone()));
        let is_first_of_keen = visit.person == Some(0) && !self.has_keen_liked;
        let is_liked = self.chance(if visit.taste.contains(&subject) { 0.3 } else { 0.06 });
        let at = visit.at + 3 * SECOND_MS;
        if (is_liked || is_first_of_keen) && at < visit.until {
            self.has_keen_liked |= is_first_of_keen;
            self.ask(visit.who, at, &post::Like::SPEC, &shown);
            self.act(visit, at, Act::Like(url));
        }
    }

    /// `value` is that of the only field that the path may have.
    fn ask(&mut self, who: Requester, at: Timestamp, operation: &Spec, value: &str) {
        let value = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
        let path = |path: String, name| path.replace(&format!("{{{name}}}"), &value);
        self.script.requests.push(PastRequest {
            at,
            operation: Operation::new(operation.method.name(), operation.path),
            path: operation.parameters().fold(operation.path.to_owned(), path),
            status: 200,
            requester: who,
        });
    }

    fn act(&mut self, visit: &Visit, at: Timestamp, act: Act) {
        let person = visit.person.map(|person| &self.world.people[person]);
        let line = person.map(|person| Line { number: 0, member: person.id.clone(), at, act });
        self.script.acts.extend(line);
    }
}
