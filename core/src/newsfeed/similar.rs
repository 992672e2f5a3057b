//! The nearly identical posts of the posts of a page.

use super::Reader;
use super::answer::SimilarPost;
use super::item::Item;
use super::order::FeedKind;
use super::page::FeedPage;
use crate::Tidings;
use crate::account::Caller;
use crate::base::keyed::OwnSet;
use crate::post::{Post, origin};
use crate::profile::history;
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;

/// The maximum number of posts that are named with a post.
pub(super) const NAMED_MAX: usize = 10;

/// Returns for each post of a page the others that tell the same story, at most ten, newest first. With the posts of the
/// recommended feed, a member sees none that they have hidden.
///
/// # Errors
/// An error of the store.
pub fn similar(tidings: &Tidings, caller: &Caller, page: &FeedPage) -> Result<Vec<Vec<SimilarPost>>> {
    let Reader { index, now, .. } = Reader::new(tidings)?;
    let hidden = match page.kind() {
        FeedKind::Recommended | FeedKind::Personal(_) => hidden(tidings, caller)?,
        FeedKind::Popular | FeedKind::Topic(_) => OwnSet::default(),
    };
    let is_shown = |item: &&Item| !item.has_ended(now) && !hidden.contains(&item.key);
    let of_item = |item: &Item| -> Vec<&Item> {
        let others = index.position(item.key).into_iter().flat_map(|at| index.same_story(at));
        others.map(|at| index.item(at)).filter(is_shown).take(NAMED_MAX).collect()
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

fn hidden(tidings: &Tidings, caller: &Caller) -> Result<OwnSet<PostKey>> {
    if matches!(caller, Caller::Guest | Caller::Operator) {
        return Ok(OwnSet::default());
    }
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let Some(member) = identity.visitor(tx)? else { return Ok::<_, Error>(OwnSet::default()) };
        Ok(history::hidden(tx, &member)?.into_iter().collect())
    })
}
