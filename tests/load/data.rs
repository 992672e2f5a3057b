//! Made-up posts and notices: the same ones in every run, shaped like those of a university's sites.

use serde_json::{Value, json};

/// Most posts have an image; this share of four.
const IMAGES_OF_FOUR: u64 = 3;
const TAGS: u64 = 200;
const WORDS: u64 = 4_000;
/// The days over which the posts are spread: two years of twelve months of 28 days.
const DAYS: u64 = 2 * 12 * 28;

/// The categories that posts are in.
pub(crate) const TOPICS: [&str; 20] = [
    "notices", "library", "sports", "music", "travel", "science", "history", "housing", "jobs", "health",
    "film", "games", "cooking", "language", "design", "physics", "biology", "economy", "law", "clubs",
];

/// Numbers that look random and are the same in every run.
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014 (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A position in a list that is not empty.
    pub(crate) fn position(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below the length")
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.position(end + 1));
        }
    }

    /// A word; the first ones of the vocabulary are the common ones, as in any language.
    fn word(&mut self) -> String {
        let rank = self.below(WORDS) * self.below(WORDS) / WORDS;
        word(rank * self.below(WORDS) / WORDS)
    }

    fn text(&mut self, characters: usize) -> String {
        let mut text = self.word();
        while text.len() < characters {
            text.push(' ');
            text.push_str(&self.word());
        }
        text
    }
}

/// The word of that rank: two or more syllables, different for each rank.
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

/// The posts as JSON lines: what `import_posts` and `post import` take.
pub(crate) fn posts(count: usize) -> String {
    let mut random = Random::new(1);
    let mut lines = String::with_capacity(count * 900);
    for number in 0..count {
        lines.push_str(&post(number, &mut random).to_string());
        lines.push('\n');
    }
    lines
}

fn post(number: usize, random: &mut Random) -> Value {
    let topic = TOPICS[random.position(TOPICS.len())];
    let length = 300 + random.position(200);
    let img = match random.below(4) {
        0..IMAGES_OF_FOUR => format!("https://images.campus.example/{topic}/{number:06}/title-640x360.jpg"),
        _ => String::new(),
    };
    let tags: Vec<String> =
        (0..=random.below(3)).map(|_| format!("tag {}", word(random.below(TAGS)))).collect();
    json!({
        "title": random.text(50),
        "post": random.text(length),
        "url": format!("https://{topic}.campus.example/board/articles/{number:06}"),
        "img": img,
        "topic": [topic],
        "tag": tags,
        "date": date(random),
    })
}

fn date(random: &mut Random) -> String {
    let day = random.below(DAYS);
    let (year, month, day) = (2024 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

/// The body of `insert_notice` for the notice of that number.
pub(crate) fn notice(number: u64) -> Value {
    let mut random = Random::new(1_000 + number);
    json!({ "title": random.text(60), "post": random.text(400), "activation": 1 })
}
