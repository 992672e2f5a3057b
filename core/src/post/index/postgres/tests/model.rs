//! A naive model of the index, which finds the same posts with the same relevance.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// What a test does with the index.
#[derive(Clone, Debug)]
enum Step {
    /// Inserts so many posts.
    Insert(usize),
    /// Changes, or removes, every post whose key has this remainder.
    Update(i64),
    Remove(i64),
    Merge,
}

/// Every how many posts a step changes one.
const EVERY: i64 = 7;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_usize..40).prop_map(Step::Insert),
        6 => (SEGMENT_MIN..120).prop_map(Step::Insert),
        2 => (0..EVERY).prop_map(Step::Update),
        1 => (0..EVERY).prop_map(Step::Remove),
        3 => Just(Step::Merge),
    ];
    prop::collection::vec(step, 1..24)
}

/// The words of posts, in the same order in each run.
fn random_text(random: &mut u64) -> String {
    let mut next = |bound: u64| {
        // A linear congruential generator: Knuth, *The Art of Computer Programming*, volume 2, section 3.3.4.
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) % bound
    };
    let length = 1 + next(30);
    let words: Vec<String> = (0..length).map(|_| format!("w{}", next(6) * next(60))).collect();
    words.join(" ")
}

/// The posts and the dead entries that an index should have.
#[derive(Default)]
struct Model {
    posts: BTreeMap<i64, String>,
    /// The segment and the text of each dead entry.
    dead: Vec<(i64, String)>,
    random: u64,
    last: i64,
}

impl Model {
    /// Records that posts lose their entries.
    fn bury(&mut self, server: &Server, keys: &[i64]) {
        let segments = server.segments();
        for key in keys {
            let sql = format!("SELECT entry FROM post_index WHERE post = {key}");
            let entry: u64 = server.database.query(&sql, &[])[0][0].as_ref().unwrap().parse().unwrap();
            if let Some(segment) =
                segments.iter().find(|segment| (segment.first..=segment.last).contains(&entry))
            {
                self.dead.push((segment.id, self.posts[key].clone()));
            }
        }
    }

    fn run(&mut self, server: &Server, step: &Step) {
        let chosen = |remainder: i64| -> Vec<i64> {
            self.posts.keys().copied().filter(|key| key % EVERY == remainder).collect()
        };
        match step {
            Step::Insert(number) => {
                let new: Vec<(i64, String)> = (0..*number)
                    .map(|_| {
                        self.last += 1;
                        (self.last, random_text(&mut self.random))
                    })
                    .collect();
                server.insert(new.clone());
                self.posts.extend(new);
            }
            Step::Update(remainder) => {
                let keys = chosen(*remainder);
                self.bury(server, &keys);
                let mut changes = Vec::new();
                for key in keys {
                    let text = random_text(&mut self.random);
                    let tokens = Arc::new(TokenFields::of("", &text));
                    changes.push(Change::Update(PostKey::new(key), tokens));
                    self.posts.insert(key, text);
                }
                server.write(changes);
            }
            Step::Remove(remainder) => {
                let keys = chosen(*remainder);
                self.bury(server, &keys);
                self.posts.retain(|key, _| !keys.contains(key));
                server.write(keys.into_iter().map(|key| Change::Remove(PostKey::new(key))).collect());
            }
            Step::Merge => server.merge(),
        }
        let ready: BTreeSet<i64> = server.segments().iter().map(|segment| segment.id).collect();
        self.dead.retain(|(segment, _)| ready.contains(segment));
    }

    /// Returns the relevance of each post that has one of these words, by the formula of [`super::super::find`].
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts and words")]
    fn found(&self, words: &[(&String, f64)]) -> BTreeMap<i64, f64> {
        let count = |text: &str, word: &str| text.split(' ').filter(|token| *token == word).count() as f64;
        let all = self.posts.len() as f64;
        let length = |text: &str| text.split(' ').count() as f64;
        let average = self.posts.values().map(|text| length(text)).sum::<f64>() / all;
        let mut found = BTreeMap::new();
        for (word, weight) in words {
            let texts = self.posts.values().chain(self.dead.iter().map(|(_, text)| text));
            let n = texts.filter(|text| count(text, word) > 0.0).count() as f64;
            let rarity = (((all - n).max(0.0) + 0.5) / (n + 0.5)).ln().max(1e-6);
            for (key, text) in &self.posts {
                let f = count(text, word);
                if f > 0.0 {
                    let of_length = 1.2 * (0.25 + 0.75 * length(text) / average);
                    *found.entry(*key).or_default() += weight * rarity * f * 2.2 / (f + of_length);
                }
            }
        }
        found
    }
}

#[test]
fn searches_find_what_a_model_finds_after_any_changes_and_merges() {
    let Some(server) = Server::start("a model of the search index") else { return };
    proptest!(ProptestConfig { failure_persistence: None, cases: 10, ..ProptestConfig::default() }, |(steps in steps(), random: u64)| {
        server.tidings.store().write(Isolation::Alone, |tx| clear(tx)).unwrap();
        let mut model = Model { random, ..Model::default() };
        for (number, step) in steps.iter().enumerate() {
            model.run(&server, step);
            let word = |n: usize| format!("w{}", (number * 31 + n * n) % 60);
            let (words, similar) = ([word(1), word(2)], [word(3), "w0".into()]);
            let weighted = words.iter().map(|word| (word, 1.0)).chain(similar.iter().map(|word| (word, 0.2)));
            // A query has distinct words.
            let weighted: HashMap<&String, f64> = weighted.collect();
            let (words, similar): (Vec<_>, Vec<_>) = weighted.iter().partition(|(_, weight)| **weight > 0.5);
            let names = |words: &[(&&String, &f64)]| words.iter().map(|(word, _)| (**word).clone()).collect::<Vec<_>>();
            if words.is_empty() {
                continue;
            }
            let expected = model.found(&weighted.iter().map(|(word, weight)| (*word, *weight)).collect::<Vec<_>>());
            let found = server.found(&names(&words), &names(&similar)).unwrap();
            prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{:?}", step);
            for (key, relevance) in found {
                prop_assert!((relevance - expected[&key]).abs() < 1e-9, "{key} {relevance} {expected:?}");
            }
        }
        prop_assert_eq!(server.damage(), Vec::<String>::new());
    });
}
