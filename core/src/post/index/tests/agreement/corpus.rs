//! Generated posts in four languages, the same in every run. The benchmark of servers also uses them.
//!
//! The words of each language follow Zipf's law, so some are in almost every post of the language and most are in a few.
//! A post has subjects: words that it repeats and has in its title.

use serde_json::{Value, json};

/// The number of words of each language.
const WORDS: u32 = 60_000;
/// The number of sites.
const SITES: u64 = 400;
/// The number of topics.
const TOPICS: u64 = 40;

/// A language of the posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// Words of syllables, as in English.
    English,
    /// Longer words of other syllables, as in German.
    German,
    /// Words of Hangul, with particles.
    Korean,
    /// Words of Han, with particles and without blanks.
    Japanese,
}

impl Language {
    /// All languages.
    pub(super) const ALL: [Self; 4] = [Self::English, Self::German, Self::Korean, Self::Japanese];

    /// Returns the word of a rank, counted from 0, the most frequent first.
    pub(super) fn word(self, rank: u32) -> String {
        match self {
            Self::English => syllables(
                rank,
                2,
                &["ba", "den", "fi", "go", "hul", "ka", "lor", "mi", "nes", "po", "ra", "sil", "tu", "ver"],
            ),
            Self::German => syllables(
                rank,
                3,
                &["schlo", "ung", "kei", "ge", "ver", "stra", "ßen", "mü", "zeit", "bro", "wald", "ör"],
            ),
            Self::Korean => syllables(
                rank,
                2,
                &[
                    "학", "교", "도", "서", "관", "사", "람", "시", "장", "문", "공", "원", "정", "보", "기",
                    "술",
                ],
            ),
            // A pair of characters, which is one token. A few pairs have more than one rank.
            Self::Japanese => {
                let character = |n: u32| char::from_u32(0x4e00 + n * 7).expect("a character of Han");
                [character(rank % 251), character(rank / 251)].iter().collect()
            }
        }
    }

    fn append(self, text: &mut String, word: &str, random: &mut Random) {
        match self {
            Self::English | Self::German => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(word);
            }
            Self::Korean => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(word);
                text.push_str(random.pick(&["", "", "은", "을", "에서"]));
            }
            Self::Japanese => {
                text.push_str(word);
                text.push_str(random.pick(&["は", "の", "を", "、"]));
            }
        }
    }
}

fn syllables(mut rank: u32, least: usize, syllables: &[&str]) -> String {
    let (mut word, number) = (String::new(), u32::try_from(syllables.len()).expect("a few"));
    let mut length = 0;
    loop {
        word.push_str(syllables[(rank % number) as usize]);
        rank /= number;
        length += 1;
        if rank == 0 && length >= least {
            return word;
        }
    }
}

/// The generator of random numbers `SplitMix64`.
///
/// Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.number() >> 32).expect("32 bits")) / f64::from(u32::MAX)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.below(list.len() as u64)).expect("below its length")]
    }

    /// Returns a number between two, of which every order of magnitude is equally likely. As a rank it follows Zipf's law.
    fn log_uniform(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.fraction())
    }

    /// Returns the rank of a random word, at least `least`.
    pub(super) fn rank(&mut self, least: u32, bound: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 60,000")]
        let rank = self.log_uniform(f64::from(least + 1), f64::from(bound)) as u32;
        rank - 1
    }
}

/// Returns the post of a number with a text of `least` to `most` words, as the object that an import takes.
pub(super) fn post(number: u64, (least, most): (f64, f64)) -> Value {
    let mut random = Random::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let language = Language::ALL[usize::try_from(random.below(4)).expect("below 4")];
    let subjects: Vec<String> = (0..4).map(|_| language.word(random.rank(30, WORDS))).collect();
    let subject = |random: &mut Random| subjects[usize::try_from(random.below(4)).expect("below 4")].clone();
    let (mut title, mut text) = (String::new(), String::new());
    for _ in 0..3 + random.below(6) {
        let word = match random.below(3) {
            0 => subject(&mut random),
            _ => language.word(random.rank(0, WORDS)),
        };
        language.append(&mut title, &word, &mut random);
    }
    let mut left = random.log_uniform(least, most);
    while left > 0.0 {
        let word = match random.below(8) {
            0 => subject(&mut random),
            _ => language.word(random.rank(0, WORDS)),
        };
        language.append(&mut text, &word, &mut random);
        left -= 1.0;
    }
    let topic = random.rank(0, u32::try_from(TOPICS).expect("40"));
    let (month, day, minute) = (1 + random.below(12), 1 + random.below(28), random.below(60));
    json!({
        "title": title,
        "post": text,
        "url": format!("https://site{}.example/articles/{number}", random.below(SITES)),
        "topic": [format!("topic {topic}")],
        "tag": [format!("tag {}", random.below(TOPICS * 5)), "all"],
        "date": format!("2024-{month:02}-{day:02}T12:{minute:02}:00.000Z"),
    })
}

/// Returns a search for some words of one language, whose ranks are in a range.
pub(super) fn search(random: &mut Random, words: u64, ranks: (u32, u32)) -> String {
    let language = Language::ALL[usize::try_from(random.below(4)).expect("below 4")];
    let words: Vec<String> = (0..words).map(|_| language.word(random.rank(ranks.0, ranks.1))).collect();
    words.join(" ")
}
