//! The members and posts of the demo data, generated without a store or a clock.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::json;
use tidings_vectors::Random;

use super::Size;
use super::texts::{COMMON, ENGLISH, FAMILY, FEEDBACK, GIVEN, MAJORS, NOTICES, SUBJECTS};
use crate::analysis::local_time::{LocalTime, date_text};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::notice;
use crate::record::id::{MemberKey, ObjectId};

/// How often another title is tried before one that is taken gets a number.
const TITLE_TRIES: u32 = 100;

/// All members and posts.
pub(super) struct World {
    pub(super) people: Vec<Person>,
    /// The posts, oldest first.
    pub(super) posts: Vec<Post>,
    pub(super) random: Random,
    /// The numbers of the first and the last day of traffic.
    pub(super) first_day: i64,
    pub(super) today: i64,
    pub(super) now: Timestamp,
    begins: Timestamp,
}

/// A member.
pub(super) struct Person {
    /// A student number: the year of entrance, and a number.
    pub(super) id: String,
    /// The key in the store; `None` until the member is inserted.
    pub(super) key: Option<MemberKey>,
    pub(super) joined: Timestamp,
    /// The probability of a visit on a day, 0 to 1.
    pub(super) keenness: f32,
    /// The first and the second favourite subject: places in [`SUBJECTS`].
    pub(super) taste: [usize; 2],
    nickname: String,
    /// Name and major, if the university verified them.
    verified: Option<(String, &'static str)>,
}

/// A post.
pub(super) struct Post {
    pub(super) id: ObjectId,
    pub(super) url: String,
    pub(super) subject: usize,
    pub(super) date: Timestamp,
    /// The attraction to readers relative to other posts.
    pub(super) appeal: f32,
    title: String,
    text: String,
    tags: Vec<&'static str>,
    has_image: bool,
    ends: Option<Timestamp>,
}

impl World {
    /// Generates the members and posts of a seed at the time `now`.
    pub(super) fn new(size: Size, now: Timestamp, local_time: &LocalTime) -> Self {
        let mut random = Random::new(size.seed);
        let days = i64::from(size.days);
        let today = local_time.local_hour(now).day;
        let first_day = today - (days - 1);
        let begins = local_time.day_start(first_day);
        let year = date_text(today).get(..4).and_then(|year| year.parse().ok()).unwrap_or(2026);
        let people = (0..size.members).map(|n| Person::new(&mut random, n, year, begins, now)).collect();
        // The oldest posts precede the traffic by as many days as the traffic lasts.
        let mut dates: Vec<Timestamp> =
            (0..size.posts).map(|_| now - between(&mut random, 0, 2 * days * DAY_MS)).collect();
        dates.sort_unstable();
        let mut titles = HashSet::new();
        let posts = (0..).zip(dates);
        let posts = posts.map(|(n, date)| Post::new(&mut random, n, date, size.seed, &mut titles)).collect();
        Self { people, posts, random, first_day, today, now, begins }
    }

    /// Returns the posts as lines of an import.
    pub(super) fn posts_as_lines(&self) -> String {
        let mut lines = String::new();
        for post in &self.posts {
            let line = json!({
                "_id": post.id,
                "title": post.title,
                "post": post.text,
                "url": post.url,
                "img": if post.has_image { "/img/demo.jpg" } else { "" },
                "topic": [SUBJECTS[post.subject].topic],
                "tag": post.tags,
                "date": post.date,
                "end_date": post.ends,
            });
            // Writing to a text cannot fail.
            let _ = writeln!(lines, "{line}");
        }
        lines
    }

    /// Returns the members as lines of an import, all with the same password hash.
    pub(super) fn members_as_lines(&self, hash: &str) -> String {
        let mut lines = String::new();
        for person in &self.people {
            let (name, major) = person.verified.as_ref().map(|(name, major)| (name, major)).unzip();
            let line = json!({
                "id": person.id,
                "nickname": person.nickname,
                "password_hash": hash,
                "name": name,
                "major": major,
                "date": person.joined,
            });
            let _ = writeln!(lines, "{line}");
        }
        lines
    }

    /// Returns the notices, oldest first.
    pub(super) fn notices(&self) -> Vec<notice::DemoNotice> {
        let span = self.now - self.begins;
        let count = i64::try_from(NOTICES.len()).unwrap_or(i64::MAX);
        let notice = |(n, (title, post, is_shown)): (i64, &(&'static str, &'static str, bool))| {
            let date = self.begins + span * n / count;
            let readers = i64::try_from(self.people.len()).unwrap_or(i64::MAX);
            let view = if *is_shown { readers * (count - n) / count } else { 0 };
            notice::DemoNotice { id: id(date, n, "00000001"), title, post, is_shown: *is_shown, view, date }
        };
        (0..).zip(&NOTICES).map(notice).collect()
    }

    /// Returns the feedback: id, type and text, the key of the member, date.
    pub(super) fn feedback(&self) -> Vec<(ObjectId, (&'static str, &'static str), String, Timestamp)> {
        let span = self.now - self.begins;
        let count = i64::try_from(FEEDBACK.len()).unwrap_or(i64::MAX);
        let feedback = |(n, text): (i64, &(&'static str, &'static str))| {
            let person = &self.people[usize::try_from(n).unwrap_or_default() % self.people.len()];
            let date = self.begins + span * (n + 1) / (count + 1);
            (id(date, n, "00000002"), *text, person.id.clone(), date)
        };
        (0..).zip(&FEEDBACK).map(feedback).collect()
    }
}

impl Person {
    fn new(random: &mut Random, n: u32, year: i64, begins: Timestamp, now: Timestamp) -> Self {
        let (given, family) = (GIVEN[random.below(GIVEN.len())], FAMILY[random.below(FAMILY.len())]);
        let is_korean = chance(random, 0.4);
        let name =
            if is_korean { format!("{}{}", family.1, given.1) } else { format!("{} {}", given.0, family.0) };
        let nickname = if is_korean { given.1.to_owned() } else { given.0.to_owned() };
        let came = year - between(random, 0, 6);
        let major = MAJORS[random.below(MAJORS.len())];
        let is_verified = chance(random, 0.8);
        // Most members sign up before the traffic begins, some during it.
        let joined = if chance(random, 0.85) || n == 0 {
            begins - between(random, 1, 300 * DAY_MS)
        } else {
            begins + between(random, 0, now - begins)
        };
        // Few members visit every day, most of them occasionally.
        let keenness = if n == 0 { 0.95 } else { 0.04 + 0.76 * share(random).powi(3) };
        let taste = [random.below(SUBJECTS.len()), random.below(SUBJECTS.len())];
        let verified = is_verified.then_some((name, major));
        Self { id: format!("{came}{:04}", n + 1), key: None, joined, keenness, taste, nickname, verified }
    }
}

impl Post {
    /// Generates a post. Its title is none of `titles`, to which it is added.
    fn new(random: &mut Random, n: i64, date: Timestamp, seed: u64, titles: &mut HashSet<String>) -> Self {
        let at = random.below(SUBJECTS.len());
        let subject = &SUBJECTS[at];
        let untaken = |attempt: u32| {
            let mut nouns = Nouns::new(random, &subject.nouns);
            let template = subject.titles[random.below(subject.titles.len())];
            let mut title = fill(random, template, &mut nouns);
            if attempt > TITLE_TRIES {
                let _ = write!(title, " ({})", attempt - TITLE_TRIES + 1);
            }
            titles.insert(title.clone()).then_some((nouns, title))
        };
        let (mut nouns, title) = (1..).find_map(untaken).expect("there are more numbers than posts");
        let sentences = 3 + random.below(5);
        let text: Vec<String> = (0..sentences)
            .map(|_| {
                let is_common = at < ENGLISH && chance(random, 0.4);
                let sentences: &[&str] = if is_common { &COMMON } else { &subject.sentences };
                let sentence = sentences[random.below(sentences.len())];
                fill(random, sentence, &mut nouns)
            })
            .collect();
        let mut tags: Vec<&str> = (0..=random.below(3)).map(|_| subject.tags[random.below(5)]).collect();
        tags.sort_unstable();
        tags.dedup();
        Self {
            id: id(date, n, &format!("{:08x}", seed & 0xffff_ffff)),
            url: format!("https://{}/{n}", subject.site),
            subject: at,
            date,
            appeal: 1.0 / (0.03 + share(random)),
            title,
            text: text.join(" "),
            tags,
            has_image: chance(random, 0.25),
            ends: chance(random, 0.06).then(|| date + between(random, 5, 40) * DAY_MS),
        }
    }
}

/// Returns an id of the time `date`; `middle` is eight hexadecimal digits.
fn id(date: Timestamp, n: i64, middle: &str) -> ObjectId {
    let seconds = date.as_millis().div_euclid(1_000).clamp(0, 0xffff_ffff);
    ObjectId::parse(&format!("{seconds:08x}{middle}{:08x}", n & 0xffff_ffff)).expect("it is 24 hex digits")
}

/// The nouns of a post: one, and those near it in the list of the subject, where related nouns are neighbours. Words whose
/// posts differed in nothing would all be equally similar.
struct Nouns<'n> {
    all: &'n [&'n str],
    centre: usize,
    last: Option<usize>,
}

impl<'n> Nouns<'n> {
    /// How far the nouns of a post are from its first noun, at most. With more, all words of a subject would be similar.
    const REACH: usize = 1;

    fn new(random: &mut Random, all: &'n [&'n str]) -> Self {
        Self { all, centre: random.below(all.len()), last: None }
    }

    /// Returns the next noun, which is not the one before.
    fn next(&mut self, random: &mut Random) -> &'n str {
        let at = loop {
            // The sum of two numbers is mostly near the middle.
            let off = random.below(Self::REACH + 1) + random.below(Self::REACH + 1);
            let at = (self.centre + self.all.len() + off - Self::REACH) % self.all.len();
            if self.last != Some(at) {
                break at;
            }
        };
        self.last = Some(at);
        self.all[at]
    }
}

/// Fills each gap of a template with a noun, and capitalises the first letter. Before a vowel, `a` becomes `an`.
fn fill(random: &mut Random, template: &str, nouns: &mut Nouns<'_>) -> String {
    let mut parts = template.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let noun = nouns.next(random);
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

/// Returns a number from 0 to 1.
pub(super) fn share(random: &mut Random) -> f32 {
    f32::midpoint(random.uniform(), 1.0)
}

/// Returns true with this probability.
pub(super) fn chance(random: &mut Random, probability: f32) -> bool {
    share(random) < probability
}

/// Returns a number from `from` to below `until`.
pub(super) fn between(random: &mut Random, from: i64, until: i64) -> i64 {
    let width = usize::try_from(until - from).unwrap_or_default().max(1);
    from + i64::try_from(random.below(width)).unwrap_or_default()
}
