//! The members and posts of the demo data, generated without a store or a clock.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::json;
use tidings_vectors::Random;

use super::Size;
use super::texts::{Subject, TEXTS};
use crate::analysis::local_time::{LocalTime, date_text};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::record::id::{MemberKey, ObjectId};

/// A title that is taken is replaced this often before it gets a number.
const TITLE_TRIES: u32 = 100;

pub(super) struct World {
    pub(super) people: Vec<Person>,
    /// Oldest first.
    pub(super) posts: Vec<Post>,
    pub(super) random: Random,
    pub(super) first_day: i64,
    pub(super) today: i64,
    pub(super) begins: Timestamp,
    pub(super) now: Timestamp,
}

pub(super) struct Person {
    /// A student number: the year of entrance, and a number.
    pub(super) id: String,
    /// `None` until the member is inserted.
    pub(super) key: Option<MemberKey>,
    pub(super) joined: Timestamp,
    /// The probability of a visit on a day, 0 to 1.
    pub(super) keenness: f32,
    /// The first and the second favourite subject: places in the texts.
    pub(super) taste: [usize; 2],
    pub(super) line: String,
}

pub(super) struct Post {
    pub(super) id: ObjectId,
    pub(super) url: String,
    pub(super) subject: usize,
    pub(super) date: Timestamp,
    /// Relative to other posts.
    pub(super) appeal: f32,
    pub(super) line: String,
}

impl World {
    /// `hash` is that of the one password of all members.
    pub(super) fn new(size: Size, now: Timestamp, local_time: &LocalTime, hash: &str) -> Self {
        let mut random = Random::new(size.seed);
        let days = i64::from(size.days);
        let today = local_time.local_hour(now).day;
        let first_day = today - (days - 1);
        let begins = local_time.day_start(first_day);
        let year = date_text(today).get(..4).and_then(|year| year.parse().ok()).unwrap_or(2026);
        let person = |n| Person::new(&mut random, n, year, [begins, now], hash);
        let people = (0..size.members).map(person).collect();
        // The oldest posts precede the traffic by as many days as the traffic lasts.
        let mut dates: Vec<Timestamp> =
            (0..size.posts).map(|_| now - between(&mut random, 0, 2 * days * DAY_MS)).collect();
        dates.sort_unstable();
        let mut titles = HashSet::new();
        let posts = (0..).zip(dates);
        let posts = posts.map(|(n, date)| Post::new(&mut random, n, date, size.seed, &mut titles)).collect();
        Self { people, posts, random, first_day, today, begins, now }
    }
}

impl Person {
    fn new(random: &mut Random, n: u32, year: i64, [begins, now]: [Timestamp; 2], hash: &str) -> Self {
        let (given, family) = (one_of(random, &TEXTS.given), one_of(random, &TEXTS.family));
        let is_korean = chance(random, 0.4);
        let name =
            if is_korean { format!("{}{}", family.1, given.1) } else { format!("{} {}", given.0, family.0) };
        let nickname = if is_korean { &given.1 } else { &given.0 };
        let id = format!("{}{:04}", year - between(random, 0, 6), n + 1);
        let major = one_of(random, &TEXTS.majors);
        // The university verified the name and the major of most members.
        let (name, major) = chance(random, 0.8).then_some((name, major)).unzip();
        // Most members sign up before the traffic begins, some during it.
        let joined = if chance(random, 0.85) || n == 0 {
            begins - between(random, 1, 300 * DAY_MS)
        } else {
            begins + between(random, 0, now - begins)
        };
        // Few members visit every day, most of them occasionally.
        let keenness = if n == 0 { 0.95 } else { 0.04 + 0.76 * share(random).powi(3) };
        let line = json!({
            "id": id, "nickname": nickname, "password_hash": hash, "name": name, "major": major, "date": joined
        });
        Self { id, key: None, joined, keenness, taste: taste(random), line: format!("{line}\n") }
    }
}

impl Post {
    /// The title is none of `titles`, to which it is added.
    fn new(random: &mut Random, n: i64, date: Timestamp, seed: u64, titles: &mut HashSet<String>) -> Self {
        let at = random.below(TEXTS.subjects.len());
        let subject = &TEXTS.subjects[at];
        let untaken = |attempt: u32| {
            let mut nouns = Nouns::new(random, subject);
            let template = one_of(random, &subject.titles);
            let mut title = nouns.fill(random, template);
            if attempt > TITLE_TRIES {
                let _ = write!(title, " ({})", attempt - TITLE_TRIES + 1);
            }
            titles.insert(title.clone()).then_some((nouns, title))
        };
        let (mut nouns, title) = (1..).find_map(untaken).expect("there are more numbers than posts");
        let sentences = 3 + random.below(5);
        let sentence = |_| {
            let is_common = subject.english && chance(random, 0.4);
            let sentence = one_of(random, if is_common { &TEXTS.common } else { &subject.sentences });
            nouns.fill(random, sentence)
        };
        let text: Vec<String> = (0..sentences).map(sentence).collect();
        let mut tags: Vec<&String> = (0..=random.below(3)).map(|_| one_of(random, &subject.tags)).collect();
        tags.sort_unstable();
        tags.dedup();
        let (id, url) = (id(date, n, seed), format!("https://{}/{n}", subject.site));
        let line = json!({
            "_id": id,
            "title": title,
            "post": text.join(" "),
            "url": url,
            "img": if chance(random, 0.25) { "/img/demo.jpg" } else { "" },
            "topic": [subject.topic],
            "tag": tags,
            "date": date,
            "end_date": chance(random, 0.06).then(|| date + between(random, 5, 40) * DAY_MS),
        });
        Self { id, url, subject: at, date, appeal: 1.0 / (0.03 + share(random)), line: format!("{line}\n") }
    }
}

/// Different for each number of a kind.
pub(super) fn id(date: Timestamp, n: i64, kind: u64) -> ObjectId {
    let seconds = date.as_millis().div_euclid(1_000).clamp(0, 0xffff_ffff);
    let id = format!("{seconds:08x}{:08x}{:08x}", kind & 0xffff_ffff, n & 0xffff_ffff);
    ObjectId::parse(&id).expect("it is 24 hex digits")
}

/// One noun, and its neighbours in the list of the subject: if the posts of words differed in nothing, all words would be equally
/// similar.
struct Nouns {
    all: &'static [String],
    centre: usize,
    last: Option<usize>,
}

impl Nouns {
    fn new(random: &mut Random, subject: &'static Subject) -> Self {
        Self { all: &subject.nouns, centre: random.below(subject.nouns.len()), last: None }
    }

    fn next(&mut self, random: &mut Random) -> &'static str {
        let at = loop {
            // The sum of two numbers is mostly the middle one.
            let at = (self.centre + self.all.len() + random.below(2) + random.below(2) - 1) % self.all.len();
            if self.last != Some(at) {
                break at;
            }
        };
        self.last = Some(at);
        &self.all[at]
    }

    /// Also capitalises the first letter. Before a vowel, `a` becomes `an`.
    fn fill(&mut self, random: &mut Random, template: &str) -> String {
        let mut parts = template.split("{}");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let noun = self.next(random);
            let has_article = text.ends_with(" a ") || text.eq_ignore_ascii_case("a ");
            if has_article && noun.starts_with(['a', 'e', 'i', 'o']) {
                text.insert(text.len() - 1, 'n');
            }
            text += noun;
            text += part;
        }
        let mut letters = text.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }
}

pub(super) fn taste(random: &mut Random) -> [usize; 2] {
    [(); 2].map(|()| random.below(TEXTS.subjects.len()))
}

pub(super) fn one_of<'v, T>(random: &mut Random, values: &'v [T]) -> &'v T {
    &values[random.below(values.len())]
}

/// A greater weight is more likely.
pub(super) fn pick(random: &mut Random, weights: impl Iterator<Item = f32> + Clone) -> usize {
    let mut left = share(random) * weights.clone().sum::<f32>();
    let found = weights.into_iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    found.unwrap_or_default()
}

/// From 0 to 1.
fn share(random: &mut Random) -> f32 {
    f32::midpoint(random.uniform(), 1.0)
}

pub(super) fn chance(random: &mut Random, probability: f32) -> bool {
    share(random) < probability
}

/// From `from` to below `until`.
pub(super) fn between(random: &mut Random, from: i64, until: i64) -> i64 {
    let width = usize::try_from(until - from).unwrap_or_default().max(1);
    from + i64::try_from(random.below(width)).unwrap_or_default()
}
