//! What the posts of a page have besides the fields of a post.

use std::sync::Arc;

use super::answer::SimilarPost;
use super::order::FeedKind;
use super::page::FeedPage;
use super::{Reader, of_member};
use crate::Tidings;
use crate::account::Caller;
use crate::base::keyed::OwnSet;
use crate::newsfeed::index::item::Item;
use crate::post::{Post, PostSource, origin, texts};
use crate::profile::history;
use crate::record::error::Result;
use crate::record::id::PostKey;

const SIMILAR_MAX: usize = 10;

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
    let entry = |(item, summary): (&Arc<Item>, String)| {
        let about = &item.about;
        let tags = about.tag.iter().filter(|tag| !about.topic.contains(tag));
        FeedEntry { post: item.post(), labels: about.topic.iter().chain(tags).cloned().collect(), summary }
    };
    Ok(page.items().iter().zip(summaries).map(entry).collect())
}

/// Returns for each post of a page whether the caller likes it. Guests like none.
///
/// # Errors
/// An error of the store.
pub fn likes(tidings: &Tidings, caller: &Caller, page: &FeedPage) -> Result<Vec<bool>> {
    let items = page.items();
    let liked = of_member(tidings, caller, |tx, member| {
        Ok(match tidings.profile().lists.liked(tx, member)? {
            Some(liked) => items.iter().map(|item| liked.contains(&item.key)).collect(),
            None => history::likes(tx, member, items.iter().map(|item| item.key))?,
        })
    })?;
    Ok(liked.unwrap_or_else(|| vec![false; items.len()]))
}

/// Returns the source of each post of a page, if it has one.
///
/// # Errors
/// An error of the store.
pub fn sources(tidings: &Tidings, page: &FeedPage) -> Result<Vec<Option<PostSource>>> {
    Ok(tidings.store().read(|tx| origin::sources(tx, page.items().iter().map(|item| item.key)))?)
}

/// Returns for each post of a page the others that tell the same story, at most ten, newest first. With the posts of the
/// recommended feed, a member sees none that they have hidden.
///
/// # Errors
/// An error of the store.
pub fn similar(tidings: &Tidings, caller: &Caller, page: &FeedPage) -> Result<Vec<Vec<SimilarPost>>> {
    let Reader { index, now, .. } = Reader::new(tidings)?;
    let hidden: OwnSet<PostKey> = match page.kind() {
        FeedKind::Recommended | FeedKind::Personal(_) => {
            let hidden = of_member(tidings, caller, |tx, member| Ok(history::hidden(tx, member)?))?;
            hidden.into_iter().flatten().collect()
        }
        FeedKind::Popular | FeedKind::Topic(_) => OwnSet::default(),
    };
    let is_shown = |item: &&Item| !item.has_ended(now) && !hidden.contains(&item.key);
    let of_item = |item: &Item| -> Vec<&Item> {
        let others = index.position(item.key).into_iter().flat_map(|at| index.same_story(at));
        others.map(|at| index.item(at)).filter(is_shown).take(SIMILAR_MAX).collect()
    };
    let others: Vec<Vec<&Item>> = page.items().iter().map(|item| of_item(item)).collect();
    let of_sources = || others.iter().flatten().filter(|item| item.about.source.is_some());
    let sources = match of_sources().next() {
        None => Vec::new(),
        Some(_) => tidings.store().read(|tx| origin::sources(tx, of_sources().map(|item| item.key)))?,
    };
    let mut sources = sources.into_iter();
    let mut named = |item: &Item| {
        let Post { id, title, url, .. } = item.post();
        let source = item.about.source.as_ref().and_then(|_| sources.next().flatten());
        SimilarPost { id, title, url, source }
    };
    Ok(others.into_iter().map(|others| others.into_iter().map(&mut named).collect()).collect())
}
