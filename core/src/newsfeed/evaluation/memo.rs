//! A cache of similar posts, because several rankings of a moment ask for the same ones.

use std::borrow::Cow;
use std::cell::RefCell;

use super::super::co_visits::SimilarPosts;
use crate::base::keyed::OwnMap;
use crate::record::id::PostKey;

/// The similar posts of a moment, each found at its first use.
pub(super) struct Memo<'a> {
    source: &'a dyn SimilarPosts,
    found: RefCell<OwnMap<PostKey, Vec<(PostKey, f32)>>>,
}

impl<'a> Memo<'a> {
    pub(super) fn new(source: &'a dyn SimilarPosts) -> Self {
        Self { source, found: RefCell::default() }
    }
}

impl SimilarPosts for Memo<'_> {
    fn similar(&self, post: PostKey) -> Cow<'_, [(PostKey, f32)]> {
        let mut found = self.found.borrow_mut();
        found.entry(post).or_insert_with(|| self.source.similar(post).into_owned()).clone().into()
    }
}
