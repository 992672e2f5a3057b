//! A query: its terms with their weights, the posts that may match best, and the relevance of a post.

use std::cmp::Ordering;

use tidings_tokens::{hangul, tokens};

#[cfg(feature = "postgres")]
use super::entry::counted;
use super::entry::{Counts, hash, in_title, label, pair};
use super::frequencies::{Frequencies, LatestTerms};
use super::{FORM_WEIGHT, QUERY_TOKENS, SIMILAR_WEIGHT, Terms};

/// The expected share of the posts with all words that have them in the title. Little depends on it.
const IN_TITLE: f64 = 0.2;

/// The parameters of BM25: how much further occurrences of a word count, and how much the length of a post. Source of the first:
/// Trotman, Puurula and Burgess, *Improvements to BM25 and language models examined*, ADCS 2014.
const K: f64 = 0.9;
const B: f64 = 0.75;

/// Matches a post that has one of its terms.
pub(crate) struct Query {
    /// The words, other forms of them and similar words, rarest first, then the pairs of syllables, rarest first.
    terms: Vec<Term>,
    /// Of the terms.
    words: usize,
    /// By hash.
    weights: Vec<(u32, f64)>,
    /// The words that a post with all words of the search has.
    required: Vec<Required>,
    /// The same with pairs of syllables in place of Korean words; empty without a Korean word.
    required_parts: Vec<Required>,
    length: f64,
    /// Approximately.
    pub(super) posts: f64,
}

struct Term {
    text: String,
    /// The most that the term adds to the relevance of a post.
    weight: f64,
    share: f64,
}

struct Required {
    term: String,
    share: f64,
}

/// Finds posts that have all of `all` and, unless `any` is empty, one of `any`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Condition {
    pub(super) all: Vec<String>,
    pub(super) any: Vec<String>,
    pub(super) share: f64,
}

impl Condition {
    /// Approximate: other terms may have the same hashes, and counts have no topics and tags, and do not tell words of the
    /// title apart.
    #[cfg(feature = "postgres")]
    pub(super) fn matches(&self, counts: &Counts<'_>) -> bool {
        let has = |term: &String| counted(term).is_none_or(|term| counts.has(hash(term)));
        self.all.iter().all(has) && (self.any.is_empty() || self.any.iter().any(has))
    }
}

impl Query {
    /// Weights the terms by their rarity in the latest posts; `None` without words of the search.
    pub(crate) fn new(terms: &Terms, latest: &LatestTerms) -> Option<Self> {
        if terms.words.is_empty() {
            return None;
        }
        let groups = [(&terms.words, 1.0), (&terms.forms, FORM_WEIGHT), (&terms.similar, SIMILAR_WEIGHT)];
        let mut words: Vec<(&str, f64)> = groups
            .into_iter()
            .flat_map(|(words, weight)| words.iter().take(QUERY_TOKENS).map(move |word| (&**word, weight)))
            .collect();
        for (word, weight) in &mut words {
            // Its stem and its compounds are other words with the same pairs, so only the pairs rank posts. A similar word has none.
            if *weight > SIMILAR_WEIGHT && is_korean(word) {
                *weight = 0.0;
            }
        }
        let searched = &terms.words[..terms.words.len().min(QUERY_TOKENS)];
        let mut pairs: Vec<String> = searched.iter().flat_map(|word| hangul::pairs(word)).map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let hashes: Vec<u32> = pairs.iter().map(|pair| hash(pair)).collect();
        let frequencies = latest.of(&words.iter().map(|(word, _)| *word).collect::<Vec<_>>(), &hashes);
        let pairs_weighted = pairs.iter().map(|pair| (&**pair, 1.0));
        let mut all: Vec<Term> = words
            .iter()
            .copied()
            .chain(pairs_weighted)
            .zip(&frequencies.of_terms)
            .map(|((term, weight), posts)| Term::new(term, weight, *posts, &frequencies))
            .collect();
        let count = words.len();
        all[..count].sort_by(Term::by_rarity);
        all[count..].sort_by(Term::by_rarity);
        let share = |term: &str| all.iter().find(|other| other.text == term).map_or(0.0, |term| term.share);
        let with_share = |term: String| Required { share: share(&term), term };
        let [required, required_parts] =
            required(searched).map(|terms| terms.into_iter().map(with_share).collect::<Vec<_>>());
        let (length, posts) = (frequencies.length, frequencies.all);
        let ranked = all.iter().filter(|term| term.weight > 0.0);
        let mut weights: Vec<(u32, f64)> = ranked.map(|term| (hash(&term.text), term.weight)).collect();
        weights.sort_by_key(|(hash, _)| *hash);
        Some(Self { terms: all, words: count, weights, required, required_parts, length, posts })
    }

    /// Finds the posts that may match best: those with all words of the search in the title, those with all words, those with all
    /// pairs of syllables of its Korean words, then those with its rarest words. Rare words share one condition as long as it
    /// matches at most `few` posts.
    pub(super) fn conditions(&self, category: Option<&str>, few: f64) -> Vec<Condition> {
        let category: Vec<String> = category.map(label).into_iter().collect();
        let of_all = |terms: &[Required], term: fn(&Required) -> String, part: f64| Condition {
            all: category.iter().cloned().chain(terms.iter().map(term)).collect(),
            any: Vec::new(),
            share: terms.iter().map(|required| required.share).product::<f64>() * part,
        };
        let itself = |required: &Required| required.term.clone();
        let mut conditions = vec![
            of_all(&self.required, |required| in_title(&required.term), IN_TITLE),
            of_all(&self.required, itself, 1.0),
        ];
        if !self.required_parts.is_empty() {
            conditions.push(of_all(&self.required_parts, itself, 1.0));
        }
        let mut rare = Condition { all: category.clone(), ..Condition::default() };
        let place = conditions.len();
        for term in &self.terms[..self.words] {
            let is_all = self.required.len() == 1 && self.required[0].term == term.text;
            if is_all {
                continue;
            }
            if rare.share + term.share <= few / self.posts.max(1.0) {
                rare.any.push(term.text.clone());
                rare.share += term.share;
            } else {
                let any = vec![term.text.clone()];
                conditions.push(Condition { all: category.clone(), any, share: term.share });
            }
        }
        if !rare.any.is_empty() {
            conditions.insert(place, rare);
        }
        conditions
    }

    /// `None` without pairs of syllables.
    pub(super) fn of_pairs(&self, category: Option<&str>) -> Option<Condition> {
        let pairs = &self.terms[self.words..];
        let any: Vec<String> = pairs.iter().take(QUERY_TOKENS).map(|pair| pair.text.clone()).collect();
        let share = pairs.iter().map(|pair| pair.share).sum::<f64>().min(1.0);
        (!any.is_empty()).then(|| Condition { all: category.map(label).into_iter().collect(), any, share })
    }

    /// See [`find`](super::find).
    pub(super) fn relevance(&self, counts: &Counts<'_>) -> f64 {
        let base = K * (1.0 - B + B * f64::from(counts.words) / self.length);
        let mut relevance = 0.0;
        counts.each(&self.weights, |weight, occurrences| {
            let occurrences = f64::from(occurrences);
            relevance += weight * occurrences / (occurrences + base);
        });
        relevance
    }
}

impl Term {
    fn new(term: &str, weight: f64, posts: f64, frequencies: &Frequencies) -> Self {
        let rarity = ((frequencies.posts - posts + 0.5) / (posts + 0.5)).ln().max(1e-6);
        Self {
            text: term.to_owned(),
            weight: weight * rarity * (K + 1.0),
            share: (posts / frequencies.posts).min(1.0),
        }
    }

    fn by_rarity(&self, other: &Self) -> Ordering {
        self.share.total_cmp(&other.share).then_with(|| self.text.cmp(&other.text))
    }
}

/// Returns the terms of posts with all words of a search, and the same with pairs of syllables in place of Korean words; the
/// latter are empty without such a word. A Korean word may have another particle in the post, so its stem is compared; or it may
/// be part of a compound, which has its pairs.
fn required(words: &[String]) -> [Vec<String>; 2] {
    let has_stem = |word: &str| hangul::stems(word).any(|stem| words.iter().any(|other| other == stem));
    let stems: Vec<String> = words.iter().filter(|word| !has_stem(word)).cloned().collect();
    let mut parts: Vec<String> = Vec::new();
    for word in &stems {
        if is_korean(word) {
            parts.extend(hangul::pairs(word).map(pair));
        } else {
            parts.push(word.clone());
        }
    }
    let parts = tokens::distinct(parts);
    if parts == stems { [stems, Vec::new()] } else { [stems, parts] }
}

/// Returns whether a word consists of at least two Hangul syllables, and so of their pairs.
fn is_korean(word: &str) -> bool {
    let pairs = hangul::pairs(word).count();
    pairs > 0 && pairs + 1 == word.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::index::Entry;
    use crate::post::token_fields::TokenFields;
    use crate::record::id::PostKey;
    use crate::testing::{self, draft, publish};

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_korean_word_ranks_posts_by_its_pairs_in_compounds_and_with_any_particle() {
        let service = testing::service();
        let insert = |title: &str| {
            let url = format!("https://a.example/{}", title.len());
            publish(&service, draft(title, url));
        };
        ["도서관 안내", "중앙도서관 안내", "식당 안내", "체육대회 안내"].into_iter().for_each(insert);
        let terms = Terms { words: strings(&["도서관에서", "도서관"]), ..Terms::default() };
        let query = Query::new(&terms, &service.post().term_frequencies.latest().unwrap()).unwrap();
        let [one, compound, other] = ["도서관 안내", "중앙도서관 안내", "식당 안내"].map(|title| {
            let entry =
                Entry::new(PostKey::new(1), &TokenFields::of(title, ""), [].iter(), testing::NOW, None);
            query.relevance(&Counts::of(&entry.counts).unwrap())
        });
        assert!(one > 0.0 && (one - compound).abs() < 1e-9 && other.abs() < 1e-9, "{one} {compound} {other}");
    }

    #[test]
    fn candidates_have_all_words_then_the_rarest() {
        let service = testing::service();
        for n in 0..20 {
            let title = ["sea", "sea whale", "sea 도서관", "sea"][n % 4];
            publish(&service, draft(title, format!("https://a.example/{n}")));
        }
        let query = |words: &[&str], forms: &[&str]| {
            let terms = Terms { words: strings(words), forms: strings(forms), ..Terms::default() };
            Query::new(&terms, &service.post().term_frequencies.latest().unwrap()).unwrap()
        };
        let condition =
            |all: &[&str], any: &[&str], share| Condition { all: strings(all), any: strings(any), share };
        let sea = label("Sea");
        assert_eq!(
            query(&["sea", "whale", "orca"], &["orcas"]).conditions(Some("Sea"), 10.0),
            [
                condition(&[&sea, "\u{e002}sea", "\u{e002}whale", "\u{e002}orca"], &[], 0.0),
                condition(&[&sea, "sea", "whale", "orca"], &[], 0.0),
                condition(&[&sea], &["orca", "orcas", "whale"], 0.25),
                condition(&[&sea], &["sea"], 1.0),
            ]
        );
        let expected = [condition(&["\u{e002}sea"], &[], 0.2), condition(&["sea"], &[], 1.0)];
        assert_eq!(query(&["sea"], &[]).conditions(None, 10.0), expected);
        let korean = query(&["도서관에서", "도서관"], &[]);
        let pairs = ["\u{e000}도서", "\u{e000}서관"];
        assert_eq!(
            korean.conditions(None, 10.0),
            [
                condition(&["\u{e002}도서관"], &[], 0.05),
                condition(&["도서관"], &[], 0.25),
                condition(&pairs, &[], 0.0625),
                condition(&[], &["도서관에서"], 0.0)
            ]
        );
        let all = ["\u{e000}관에", "\u{e000}에서", "\u{e000}도서", "\u{e000}서관"];
        assert_eq!(korean.of_pairs(None), Some(condition(&[], &all, 0.5)));
        assert!(query(&["sea"], &[]).of_pairs(None).is_none());
    }
}
