//! Generated posts, members, acts and notices: the same in every run, shaped like those of a university's websites.

use std::collections::HashSet;

use serde_json::{Value, json};
use tidings_vectors::Random;

const IMAGES_OF_FOUR: u64 = 3;
const TAGS: u64 = 200;
const WORDS: u64 = 4_000;
/// The number of days over which the posts are spread: two years of twelve months of 28 days.
const DAYS: u64 = 2 * 12 * 28;

pub(crate) const TOPICS: [&str; 20] = [
    "notices", "library", "sports", "music", "travel", "science", "history", "housing", "jobs", "health",
    "film", "games", "cooking", "language", "design", "physics", "biology", "economy", "law", "clubs",
];

/// Returns a random word of the vocabulary; low ranks are frequent, as in natural language.
fn random_word(random: &mut Random) -> String {
    let mut rank = || random.number() % WORDS;
    let common = rank() * rank() / WORDS;
    word(common * rank() / WORDS)
}

/// Returns words until the text has `length` characters.
fn text(random: &mut Random, characters: usize) -> String {
    let mut text = random_word(random);
    while text.len() < characters {
        text.push(' ');
        text.push_str(&random_word(random));
    }
    text
}

/// Returns the word of a rank: two or more syllables, different for each rank.
pub(crate) fn word(mut rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "den", "fi", "go", "hul", "ka", "lor", "mi", "nes", "po", "ra", "sil", "tu", "ver", "wo", "zan",
    ];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[usize::try_from(rank % 16).expect("below 16")]);
        rank /= 16;
        if rank == 0 && word.len() > 3 {
            return word;
        }
    }
}

pub(crate) fn search(random: &mut Random) -> Value {
    json!({ "search": format!("{} {}", word(random.number() % 400), word(random.number() % 4_000)) })
}

/// Returns the posts as JSON lines, the input of `import_posts` and `post import`.
pub(crate) fn posts(count: usize) -> String {
    Posts::new().lines(count)
}

pub(crate) struct Posts {
    random: Random,
    next: usize,
}

impl Posts {
    pub(crate) fn new() -> Self {
        Self { random: Random::new(1), next: 0 }
    }

    pub(crate) fn lines(&mut self, count: usize) -> String {
        let mut lines = String::with_capacity(count * 900);
        for number in self.next..self.next + count {
            lines.push_str(&post(number, &mut self.random).to_string());
            lines.push('\n');
        }
        self.next += count;
        lines
    }
}

fn post(number: usize, random: &mut Random) -> Value {
    let topic = random.pick(&TOPICS);
    let length = 300 + random.below(200);
    let img = match random.number() % 4 {
        0..IMAGES_OF_FOUR => format!("https://images.campus.example/{topic}/{number:06}/title-640x360.jpg"),
        _ => String::new(),
    };
    let tags: Vec<String> =
        (0..=random.below(3)).map(|_| format!("tag {}", word(random.number() % TAGS))).collect();
    json!({
        "title": text(random, 50),
        "post": text(random, length),
        "url": format!("https://{topic}.campus.example/board/articles/{number:06}"),
        "img": img,
        "topic": [topic],
        "tag": tags,
        "date": date(random),
    })
}

fn date(random: &mut Random) -> String {
    let day = random.number() % DAYS;
    let (year, month, day) = (2024 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

/// Returns members with password hashes of another system as JSON lines, the input of `member import`.
pub(crate) fn members(count: usize) -> String {
    let mut random = Random::new(3);
    let mut lines = String::with_capacity(count * 350);
    for number in 0..count {
        let (name, hash) = (text(&mut random, 15), format!("{:016x}", random.number()).repeat(8));
        let member = json!({
            "id": member_id(number),
            "nickname": format!("{} {number}", word(random.number() % WORDS)),
            "password_hash": format!("scrypt:32768:8:1${:016x}${hash}", random.number()),
            "name": name,
            "major": word(random.number() % TAGS),
            "date": date(&mut random),
        });
        lines.push_str(&member.to_string());
        lines.push('\n');
    }
    lines
}

fn member_id(number: usize) -> String {
    format!("member-{number:06}")
}

/// Returns acts in chronological order as JSON lines, the input of `act import`. One in ten of the members acts, on the
/// posts of [`posts`].
pub(crate) fn acts(count: usize, posts: usize, members: usize) -> String {
    let mut random = Random::new(1);
    let urls: Vec<Value> = (0..posts).map(|number| post(number, &mut random)["url"].take()).collect();
    let mut dates: Vec<String> = (0..count).map(|_| date(&mut random)).collect();
    dates.sort_unstable();
    let mut lines = String::with_capacity(count * 150);
    let mut liked = HashSet::new();
    for date in dates {
        let member = random.below(members.div_ceil(10));
        // Some posts are far more popular than others.
        let post = random.below(posts) * random.below(posts) / posts;
        let (id, url) = (member_id(member), &urls[post]);
        let act = match random.below(20) {
            // A member likes a post only once.
            12..17 if liked.insert((member, post)) => {
                json!({"id": id, "type": "like", "url": url, "date": date})
            }
            0..17 => json!({"id": id, "type": "view", "url": url, "date": date}),
            17..19 => json!({"id": id, "type": "search", "search": text(&mut random, 12), "date": date}),
            _ => json!({"id": id, "type": "newsfeed", "newsfeed_name": random.pick(&TOPICS), "date": date}),
        };
        lines.push_str(&act.to_string());
        lines.push('\n');
    }
    lines
}

/// Returns the body of the `insert_notice` request for the notice with this number.
pub(crate) fn notice(number: u64) -> Value {
    let mut random = Random::new(1_000 + number);
    json!({ "title": text(&mut random, 60), "post": text(&mut random, 400), "activation": 1 })
}
