//! Generated posts in four languages, the same in every run. The benchmark of servers also uses them.
//!
//! The words of each language follow Zipf's law, so some are in almost every post of the language and most are in a few.
//! A post has subjects: words that it repeats and has in its title.

use serde_json::{Value, json};
pub(super) use tidings_vectors::Random;

/// The number of words of each language.
const WORDS: u32 = 60_000;
const SITES: usize = 400;
const TOPICS: usize = 40;

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
    pub(super) const ALL: [Self; 4] = [Self::English, Self::German, Self::Korean, Self::Japanese];

    /// Returns the word of a rank, counted from 0, the most frequent first.
    pub(super) fn word(self, rank: u32) -> String {
        match self {
            Self::English => syllables(rank, 2, "ba den fi go hul ka lor mi nes po ra sil tu ver"),
            Self::German => syllables(rank, 3, "schlo ung kei ge ver stra ßen mü zeit bro wald ör"),
            Self::Korean => syllables(rank, 2, "학 교 도 서 관 사 람 시 장 문 공 원 정 보 기 술"),
            // A pair of characters, which is one token. A few pairs have more than one rank.
            Self::Japanese => {
                let character = |n: u32| char::from_u32(0x4e00 + n * 7).expect("a character of Han");
                [character(rank % 251), character(rank / 251)].iter().collect()
            }
        }
    }

    fn append(self, text: &mut String, word: &str, random: &mut Random) {
        if self != Self::Japanese && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        match self {
            Self::English | Self::German => {}
            Self::Korean => text.push_str(random.pick::<&str>(&["", "", "은", "을", "에서"])),
            Self::Japanese => text.push_str(random.pick::<&str>(&["は", "の", "を", "、"])),
        }
    }
}

fn syllables(mut rank: u32, least: usize, syllables: &str) -> String {
    let syllables: Vec<&str> = syllables.split(' ').collect();
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

/// Returns a number between two, of which every order of magnitude is equally likely. As a rank it follows Zipf's law.
fn log_uniform(random: &mut Random, from: f64, to: f64) -> f64 {
    let share = u32::try_from(random.number() >> 32).expect("32 bits");
    from * (to / from).powf(f64::from(share) / f64::from(u32::MAX))
}

/// Returns the rank of a random word, at least `least`.
fn rank(random: &mut Random, least: u32, bound: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 60,000")]
    let rank = log_uniform(random, f64::from(least + 1), f64::from(bound)) as u32;
    rank - 1
}

/// Returns the post of a number with a text of `least` to `most` words, as the object that an import takes.
pub(super) fn post(number: u64, (least, most): (f64, f64)) -> Value {
    let mut random = Random::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let language = *random.pick(&Language::ALL);
    let subjects: Vec<String> = (0..4).map(|_| language.word(rank(&mut random, 30, WORDS))).collect();
    let word = |random: &mut Random, one_in: usize| match random.below(one_in) {
        0 => random.pick(&subjects).clone(),
        _ => language.word(rank(random, 0, WORDS)),
    };
    let (mut title, mut text) = (String::new(), String::new());
    for _ in 0..3 + random.below(6) {
        let word = word(&mut random, 3);
        language.append(&mut title, &word, &mut random);
    }
    let mut left = log_uniform(&mut random, least, most);
    while left > 0.0 {
        let word = word(&mut random, 8);
        language.append(&mut text, &word, &mut random);
        left -= 1.0;
    }
    let topic = rank(&mut random, 0, u32::try_from(TOPICS).expect("40"));
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
pub(super) fn search(random: &mut Random, words: usize, ranks: (u32, u32)) -> String {
    let language = *random.pick(&Language::ALL);
    let words: Vec<String> = (0..words).map(|_| language.word(rank(random, ranks.0, ranks.1))).collect();
    words.join(" ")
}
