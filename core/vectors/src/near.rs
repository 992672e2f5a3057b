//! The nearest words of each word, computed once when a model is made.

use crate::matrix::share;
use crate::vectors::{Vectors, cosine, product};
use crate::{Cancelled, Progress};

/// The maximum number of neighbours of a word.
pub const NEIGHBOURS_MAX: usize = 30;
/// The maximum number of words for which each word is compared with every other.
const ALL_WITH_ALL: usize = 4_000;
/// The number of nearest clusters whose words a word is compared with, if there are more words.
const CLUSTERS_SEARCHED: usize = 16;
/// The number of iterations of the clustering.
const ITERATIONS: usize = 4;
/// The number of words of each cluster that its centre is computed from.
const SAMPLE: usize = 48;

/// The neighbours of each word, nearest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Near {
    /// The start of each word's neighbours in `words` and `cosines`, and the end of the last word's.
    pub(crate) starts: Vec<u32>,
    pub(crate) words: Vec<u32>,
    /// The cosines in units of 1/65535.
    pub(crate) cosines: Vec<u16>,
}

impl Near {
    /// Returns the neighbours of a word with their cosines.
    pub(crate) fn of(&self, word: u32) -> impl Iterator<Item = (u32, f32)> {
        let range = self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize;
        let cosines = self.cosines[range.clone()].iter();
        self.words[range].iter().copied().zip(cosines.map(|units| f32::from(*units) / f32::from(u16::MAX)))
    }

    /// Finds the most similar words of each word among `targets`, without the word itself and without words whose
    /// cosine is not positive.
    ///
    /// With many words, a few neighbours are missed, see [`CLUSTERS_SEARCHED`].
    pub(crate) fn find(
        vectors: &Vectors,
        targets: &[u32],
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let clusters = Clusters::of(vectors, targets);
        let words = u32::try_from(vectors.len()).expect("words are numbered in 32 bits");
        let mut near = Self { starts: vec![0], words: Vec::new(), cosines: Vec::new() };
        let mut search = Search::default();
        for word in 0..words {
            if word % 64 == 0 {
                progress(share(word as usize, vectors.len()))?;
            }
            for (product, other) in search.nearest(&clusters, vectors.get(word), word) {
                near.words.push(other);
                near.cosines.push(units(cosine(product)));
            }
            near.starts.push(u32::try_from(near.words.len()).expect("each word has at most 30 neighbours"));
        }
        Ok(near)
    }
}

/// Converts a cosine from 0 to 1 to units of 1/65535.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cosine is from 0 to 1")]
fn units(cosine: f32) -> u16 {
    (cosine * f32::from(u16::MAX)).round() as u16
}

/// Clusters of similar words.
struct Clusters {
    centres: Vectors,
    /// The start of each cluster in `words` and `vectors`, and the end of the last one.
    starts: Vec<usize>,
    words: Vec<u32>,
    vectors: Vectors,
}

impl Clusters {
    /// Clusters the words by spherical k-means; evenly spaced words are the first centres.
    ///
    /// Source: Dhillon and Modha, *Concept decompositions for large sparse text data using clustering*, Machine
    /// Learning 42, 2001; used as the coarse quantizer of an inverted file, as by Jégou, Douze and Schmid, *Product
    /// quantization for nearest neighbor search*, IEEE TPAMI 33(1), 2011.
    fn of(vectors: &Vectors, targets: &[u32]) -> Self {
        let count = if targets.len() <= ALL_WITH_ALL { 1 } else { targets.len().isqrt() };
        let mut centres = Vectors::none(vectors.dimensions());
        for cluster in 0..count.min(targets.len()) {
            centres.push_normalised(vectors.get(targets[cluster * targets.len() / count]));
        }
        if count > 1 {
            let step = (targets.len() / (count * SAMPLE)).max(1);
            for _ in 0..ITERATIONS {
                centres = middles(vectors, targets.iter().step_by(step).copied(), &centres);
            }
        }
        let mut by_cluster: Vec<(u32, u32)> =
            targets.iter().map(|word| (nearest_centre(&centres, vectors.get(*word)), *word)).collect();
        by_cluster.sort_unstable();
        let starts =
            (0..=centres.len()).map(|cluster| by_cluster.partition_point(|(of, _)| (*of as usize) < cluster));
        let mut packed = Vectors::none(vectors.dimensions());
        for (_, word) in &by_cluster {
            packed.push_normalised(vectors.get(*word));
        }
        Self {
            starts: starts.collect(),
            words: by_cluster.into_iter().map(|(_, word)| word).collect(),
            vectors: packed,
            centres,
        }
    }
}

fn nearest_centre(centres: &Vectors, vector: &[i16]) -> u32 {
    let all = (0..).zip(centres.all()).map(|(cluster, centre)| (product(centre, vector), cluster));
    // Of equally near centres, the first one.
    all.max_by_key(|(product, cluster)| (*product, std::cmp::Reverse(*cluster)))
        .map_or(0, |(_, cluster)| cluster)
}

/// Returns the means of the clusters that `words` form around `centres`; an empty cluster keeps its centre.
fn middles(vectors: &Vectors, words: impl Iterator<Item = u32>, centres: &Vectors) -> Vectors {
    let dimensions = vectors.dimensions();
    let mut sums = vec![0.0; centres.len() * dimensions];
    for word in words {
        let vector = vectors.get(word);
        let cluster = nearest_centre(centres, vector) as usize;
        let sum = &mut sums[cluster * dimensions..][..dimensions];
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += f32::from(*x));
    }
    let mut moved = Vectors::none(dimensions);
    for (sum, centre) in sums.chunks_exact(dimensions).zip(centres.all()) {
        if sum.iter().any(|x| *x != 0.0) {
            moved.push(sum);
        } else {
            moved.push_normalised(centre);
        }
    }
    moved
}

/// The buffers of consecutive searches.
#[derive(Default)]
struct Search {
    clusters: Vec<(i32, usize)>,
    best: Vec<(i32, u32)>,
}

impl Search {
    /// Returns the words nearest to `vector`, nearest first, without `word` itself.
    fn nearest(
        &mut self,
        clusters: &Clusters,
        vector: &[i16],
        word: u32,
    ) -> impl Iterator<Item = (i32, u32)> {
        let Self { clusters: ranked, best } = self;
        ranked.clear();
        ranked.extend(clusters.centres.all().map(|centre| product(centre, vector)).zip(0..));
        if ranked.len() > CLUSTERS_SEARCHED {
            ranked.select_nth_unstable_by(CLUSTERS_SEARCHED, |a, b| b.cmp(a));
            ranked.truncate(CLUSTERS_SEARCHED);
        }
        best.clear();
        let mut least = 0;
        for (_, cluster) in ranked {
            for place in clusters.starts[*cluster]..clusters.starts[*cluster + 1] {
                let product = product(clusters.vectors.at(place), vector);
                if product > least && clusters.words[place] != word {
                    best.push((product, clusters.words[place]));
                    if best.len() == 4 * NEIGHBOURS_MAX {
                        truncate_to_best(best);
                        least = best[NEIGHBOURS_MAX - 1].0;
                    }
                }
            }
        }
        truncate_to_best(best);
        best.drain(..)
    }
}

/// Sorts and truncates to the nearest words; of equally near words, the more frequent one is first.
fn truncate_to_best(best: &mut Vec<(i32, u32)>) {
    best.sort_unstable_by_key(|(product, word)| (std::cmp::Reverse(*product), *word));
    best.truncate(NEIGHBOURS_MAX);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ignore_progress;
    use crate::random::Random;

    fn random(words: usize, dimensions: usize) -> Vectors {
        let mut random = Random::new(3);
        let mut vectors = Vectors::none(dimensions);
        for _ in 0..words {
            let vector: Vec<f32> = (0..dimensions).map(|_| random.uniform()).collect();
            vectors.push(&vector);
        }
        vectors
    }

    #[test]
    fn few_neighbours_among_many_words_are_missed() {
        let words = ALL_WITH_ALL + 500;
        let vectors = random(words, 4);
        let targets: Vec<u32> = (0..).take(words).collect();
        let near = Near::find(&vectors, &targets, &mut ignore_progress).unwrap();
        let (mut found, mut all) = (0, 0);
        for word in targets.iter().copied().step_by(400) {
            let others = targets.iter().filter(|other| **other != word);
            let mut exact: Vec<(i32, u32)> =
                others.map(|other| (product(vectors.get(*other), vectors.get(word)), *other)).collect();
            exact.sort_unstable_by_key(|(product, _)| std::cmp::Reverse(*product));
            let neighbours: Vec<u32> = near.of(word).map(|(other, _)| other).collect();
            found += exact[..10].iter().filter(|(_, other)| neighbours.contains(other)).count();
            all += 10;
        }
        assert!(10 * found >= 9 * all, "{found} of {all}");
    }

    #[test]
    fn words_without_targets_have_no_neighbours() {
        let near = Near::find(&Vectors::none(3), &[], &mut ignore_progress).unwrap();
        assert_eq!(near.starts, [0]);
        let near = Near::find(&random(2, 3), &[], &mut ignore_progress).unwrap();
        assert_eq!(near.starts, [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn neighbours_are_other_targets_nearest_first(
            values in prop::collection::vec(-1.0..1.0_f32, 8..400),
            targets in prop::collection::vec(any::<bool>(), 100),
        ) {
            let mut vectors = Vectors::none(4);
            values.chunks_exact(4).for_each(|vector| vectors.push(vector));
            let words: Vec<u32> = (0..).take(vectors.len()).collect();
            let is_target = |word: u32| targets[word as usize];
            let wanted: Vec<u32> = words.iter().copied().filter(|word| is_target(*word)).collect();
            let near = Near::find(&vectors, &wanted, &mut ignore_progress).unwrap();
            for word in words {
                let neighbours: Vec<(u32, f32)> = near.of(word).collect();
                prop_assert!(neighbours.len() <= NEIGHBOURS_MAX);
                prop_assert!(neighbours.windows(2).all(|pair| pair[0].1 >= pair[1].1));
                for (other, value) in neighbours {
                    prop_assert!(other != word && is_target(other) && (0.0..=1.0).contains(&value));
                    let exact = cosine(product(vectors.get(other), vectors.get(word)));
                    prop_assert!((value - exact).abs() < 1e-4);
                }
                let all = wanted.iter().filter(|other| {
                    **other != word && product(vectors.get(**other), vectors.get(word)) > 0
                });
                prop_assert_eq!(near.of(word).count(), all.count().min(NEIGHBOURS_MAX));
            }
        }
    }
}
