//! The baseline for the recommended feed: the newest posts, ordered by the similarity of their words to the posts that
//! the member had liked or viewed.

use super::super::features::{Feature, Kind, feature};
use super::super::index::FeedIndex;
use super::super::order::LIMIT;
use crate::base::keyed::{NumberMap, OwnMap, OwnSet};
use crate::post::texts;
use crate::profile::history::Acts;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::Store;

/// The number of posts per page.
const PAGE: usize = 500;

/// Posts as vectors over words and tags, each weighted by its inverse document frequency.
///
/// Source: Salton and Buckley, *Term-weighting approaches in automatic text retrieval*, Information Processing &
/// Management 24(5), 1988; with binary term frequencies.
pub(super) struct TfIdf {
    posts: usize,
    /// The number of posts with each feature.
    frequencies: NumberMap<Feature, u32>,
    /// The vectors of posts that were among the newest, or that members had liked or viewed.
    known: OwnMap<PostKey, Vec<(Feature, f32)>>,
}

impl TfIdf {
    /// Reads the words of the posts of an index.
    pub(super) fn read(store: &Store, index: &FeedIndex) -> Result<Self> {
        let mut frequencies: NumberMap<Feature, u32> = NumberMap::default();
        let all: Vec<PostKey> = index.newest().collect();
        for page in all.chunks(PAGE) {
            for (_, features) in terms(store, page)? {
                for feature in features {
                    *frequencies.entry(feature).or_default() += 1;
                }
            }
        }
        Ok(Self { posts: index.len(), frequencies, known: OwnMap::default() })
    }

    /// Orders the first of the `newest` posts, as many as a page of a feed has, by their similarity to the mean of the liked
    /// and viewed posts.
    pub(super) fn ranking(
        &mut self,
        store: &Store,
        newest: impl Iterator<Item = PostKey>,
        acts: &Acts,
    ) -> Result<Vec<PostKey>> {
        let newest: Vec<PostKey> = newest.take(LIMIT).collect();
        let posts: OwnSet<PostKey> = acts.liked.iter().chain(&acts.viewed).map(|(post, _)| *post).collect();
        // Sorted, so that the rounding of the sums is reproducible.
        let mut posts: Vec<PostKey> = posts.into_iter().collect();
        posts.sort_unstable();
        let mut unknown: Vec<PostKey> =
            newest.iter().chain(&posts).copied().filter(|key| !self.known.contains_key(key)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        for page in unknown.chunks(PAGE) {
            for (key, features) in terms(store, page)? {
                let vector = self.vector(&features);
                self.known.insert(key, vector);
            }
        }
        let mut mean: NumberMap<Feature, f32> = NumberMap::default();
        for (feature, weight) in posts.iter().filter_map(|key| self.known.get(key)).flatten() {
            *mean.entry(*feature).or_default() += weight;
        }
        let mut ranking: Vec<(f32, PostKey)> = Vec::with_capacity(newest.len());
        for key in newest {
            let Some(vector) = self.known.get(&key) else { continue };
            let products = vector.iter().map(|(feature, weight)| weight * mean.get(feature).unwrap_or(&0.0));
            ranking.push((products.sum(), key));
        }
        // The sort is stable, so ties stay newest first.
        ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(ranking.into_iter().map(|(_, key)| key).collect())
    }

    /// Returns a unit vector; features that no post of the index has are ignored.
    #[expect(clippy::cast_precision_loss, reason = "weights need no more digits")]
    fn vector(&self, features: &[Feature]) -> Vec<(Feature, f32)> {
        let weighed = features.iter().filter_map(|feature| {
            let posts = *self.frequencies.get(feature)?;
            Some((*feature, (1.0 + self.posts as f32 / posts as f32).ln()))
        });
        let mut vector: Vec<(Feature, f32)> = weighed.collect();
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        for (_, weight) in &mut vector {
            *weight /= length;
        }
        vector
    }
}

/// Returns the distinct words and tags of posts by key.
fn terms(store: &Store, posts: &[PostKey]) -> Result<Vec<(PostKey, Vec<Feature>)>> {
    let terms = store.read(|tx| texts::tokens(tx, posts))?;
    let features = terms.into_iter().map(|texts::DistinctTokens { key, token, tag }| {
        let words = token.split_ascii_whitespace().map(|word| feature(Kind::Word, word));
        (key, words.chain(tag.iter().map(|tag| feature(Kind::Tag, tag))).collect())
    });
    Ok(features.collect())
}
