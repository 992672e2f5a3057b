//! The posts of a page with what feed readers show: topics, tags and the beginning of the text.

use std::sync::Arc;

use super::page::FeedPage;
use crate::Tidings;
use crate::post::{Post, texts};
use crate::record::error::Result;

/// A post of a feed for feed readers.
#[derive(Clone, Debug)]
pub struct FeedEntry {
    /// The post.
    pub post: Post,
    /// The topics, and then the tags that are not also topics.
    pub labels: Vec<Arc<str>>,
    /// The beginning of the text; empty if the post has none or was removed.
    pub summary: String,
}

/// Returns the posts of a page with what feed readers show. Reads their texts from the database.
///
/// # Errors
/// An error of the store.
pub fn entries(tidings: &Tidings, page: &FeedPage) -> Result<Vec<FeedEntry>> {
    let keys: Vec<_> = page.items().iter().map(|item| item.key).collect();
    let summaries = tidings.store().read(|tx| texts::summaries(tx, &keys))?;
    let entry = |(item, summary): (&Arc<super::item::Item>, String)| {
        let about = &item.about;
        let tags = about.tag.iter().filter(|tag| !about.topic.contains(tag));
        FeedEntry { post: item.post(), labels: about.topic.iter().chain(tags).cloned().collect(), summary }
    };
    Ok(page.items().iter().zip(summaries).map(entry).collect())
}
