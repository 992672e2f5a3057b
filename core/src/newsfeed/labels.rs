//! The labels of posts, as numbers: topics and sites.

use super::features::{Feature, Number};
use crate::base::keyed::NumberMap;

/// By position.
#[derive(Debug, Default)]
pub(super) struct Labels {
    numbers: NumberMap<Feature, Number>,
    /// Of all posts, one post after the other.
    of_posts: Vec<Number>,
    /// The end of each post's labels.
    ends: Vec<u32>,
}

impl Labels {
    /// `posts` are in the order of their positions.
    #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
    pub(super) fn new<'a>(posts: impl Iterator<Item = &'a [Feature]>) -> Self {
        let mut labels = Self::default();
        for post in posts {
            for label in post {
                let next = labels.numbers.len() as Number;
                labels.of_posts.push(*labels.numbers.entry(*label).or_insert(next));
            }
            labels.ends.push(labels.of_posts.len() as u32);
        }
        labels
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// `None` if no post has the label.
    pub(super) fn number(&self, label: Feature) -> Option<Number> {
        self.numbers.get(&label).copied()
    }

    /// The site if the post has no topics.
    pub(super) fn topics_of(&self, position: u32) -> &[Number] {
        match self.of(position) {
            // The site is the last label.
            [topics @ .., _] if !topics.is_empty() => topics,
            labels => labels,
        }
    }

    pub(super) fn of(&self, position: u32) -> &[Number] {
        let position = position as usize;
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.of_posts[begin as usize..self.ends[position] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_with_a_common_label_have_a_common_number() {
        let posts: [&[Feature]; 4] = [&[70, 80], &[], &[80, 90], &[70]];
        let labels = Labels::new(posts.into_iter());
        assert_eq!([0, 1, 2, 3].map(|post| labels.of(post)), [&[0, 1][..], &[], &[1, 2], &[0]]);
        assert_eq!((labels.len(), labels.number(90), labels.number(7)), (3, Some(2), None));
    }
}
