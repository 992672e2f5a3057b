//! Making the search index again from the posts: for a repair, for a copy, and after an update of the schema.

use std::sync::Arc;

use super::index;
use super::texts::{self, Text};
use super::token_fields::TokenFields;
use crate::error::Result;
use crate::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Isolation, Store, StoreError, Tx};

/// The number of pages of posts after which the index is merged while it is filled.
const MERGE_EVERY: u64 = 64;

/// Describes the posts that the search index lacks, its entries without a post, and its damage.
pub(crate) fn wrong_index(database: &dyn Inspected) -> Result<Vec<String>> {
    let (keys, damage) =
        database.read(|tx| Ok::<_, StoreError>((index::mismatches(tx)?, index::damage(tx)?)))?;
    Ok(keys.iter().map(|key| format!("post number {}", key.as_i64())).chain(damage).collect())
}

/// Rebuilds the search index. Searches find fewer posts until it is complete.
pub(crate) fn index(database: &dyn Inspected) -> Result<()> {
    // Another process may have updated a post in the meantime, which inserts its entry.
    rebuild_index(database, index::Change::Update, &mut |_| Ok(()))
}

/// Does the same as [`index`] while no other process writes, and calls `progress` with the number of posts so far.
///
/// # Errors
/// The first error of `progress`, or when the store fails.
pub(crate) fn fill_index(
    database: &dyn Inspected,
    progress: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<()> {
    rebuild_index(database, index::Change::Insert, progress)
}

fn rebuild_index(
    database: &dyn Inspected,
    change_of: fn(PostKey, Arc<TokenFields>) -> index::Change,
    progress: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<()> {
    database.write(|tx| index::clear(tx))?;
    let (mut done, mut pages) = (0, 0_u64);
    let mut before = PostKey::MAX;
    loop {
        pages += 1;
        if pages.is_multiple_of(MERGE_EVERY) {
            index::merge(database, &|| false)?;
        }
        // Newest first, because most searches are for new posts.
        let next = database.write(|tx| {
            let page = index_page(tx, before, change_of)?;
            Ok::<_, StoreError>(page.last().map(|post| (post.key, page.len() as u64)))
        })?;
        let Some((last, posts)) = next else { return Ok(index::merge(database, &|| false)?) };
        before = last;
        done += posts;
        progress(done)?;
    }
}

/// Writes the next page of posts into the search index, and returns it.
fn index_page(
    tx: &mut dyn Tx,
    before: PostKey,
    change_of: fn(PostKey, Arc<TokenFields>) -> index::Change,
) -> Result<Vec<Text>, StoreError> {
    let page = texts::page(tx, before)?;
    let tokens = |post: &Text| Arc::new(TokenFields::of(&post.title, &post.post));
    let changes: Vec<_> = page.iter().map(|post| change_of(post.key, tokens(post))).collect();
    index::write(tx, &changes)?;
    Ok(page)
}

/// Fills the search index after an update of the schema has emptied it. Other processes may do the same, and may write
/// posts. What a killed process has left undone is continued.
pub(crate) fn complete_index(store: &Store) -> Result<()> {
    if !store.is_on_server() || store.read(index::unindexed)?.is_none() {
        return Ok(());
    }
    tracing::info!("the search index is made again for the new version of the schema");
    for pages in 1_u64.. {
        let is_complete = store.write_long(Isolation::Alone, |tx| {
            let Some(before) = index::unindexed(tx)? else { return Ok(true) };
            let page = index_page(tx, before, index::Change::Update)?;
            index::set_unindexed(tx, page.last().map(|post| post.key))?;
            Ok::<_, StoreError>(false)
        })?;
        if is_complete || pages.is_multiple_of(MERGE_EVERY) {
            index::merge(store, &|| false)?;
        }
        if is_complete {
            break;
        }
    }
    tracing::info!("the search index is complete");
    Ok(())
}
