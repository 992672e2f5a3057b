//! Making the search index and the tokens of posts again from their texts: for a repair, for a copy, after an update of the
//! schema, and when a new version of the program splits texts into other tokens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::change;
use super::index;
use super::texts::{self, Text};
use super::token_fields::TokenFields;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Isolation, Row, Store, StoreError, Topic, Tx, run_each};

/// The number of pages of posts after which the index is merged while it is filled.
const MERGE_EVERY: u64 = 64;

/// The bounds of a transaction that renews tokens: the number of posts, and the bytes of their texts.
const RENEWED: i64 = 64;
const RENEWED_BYTES: usize = 256 << 10;
/// The time for which opening a database renews tokens. Most databases are done by then.
const RENEWED_AT_OPEN: Duration = Duration::from_secs(1);

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

/// A post whose tokens were made by the rules of an earlier program.
struct Outdated {
    post: Text,
    /// The tokens that it has.
    token: String,
}

/// Renews tokens while the database is opened, for a moment. The thread of a service, or the next program, does the rest.
pub(crate) fn begin_to_renew_tokens(store: &Store) -> Result<()> {
    let begun = Instant::now();
    renew_tokens(store, &|| begun.elapsed() >= RENEWED_AT_OPEN)
}

/// Makes the tokens of posts again that were made by the rules of an earlier program, and their entries in the search index,
/// newest first. Returns when none is left or `is_stopped` returns true.
///
/// Searches work meanwhile, and miss posts that have a word only in its new form. Other processes may do the same. What a
/// killed process has left undone is continued.
///
/// # Errors
/// When the store fails.
pub(crate) fn renew_tokens(store: &Store, is_stopped: &dyn Fn() -> bool) -> Result<()> {
    let mut renewed = 0_u64;
    for pages in 1_u64.. {
        let page = if is_stopped() { Vec::new() } else { store.read(outdated)? };
        let is_complete = page.is_empty();
        if !is_complete {
            let fields = page.into_iter().map(|Outdated { post, token }| {
                (post.key, token, Arc::new(TokenFields::of(&post.title, &post.post)))
            });
            let mut fields: Vec<_> = fields.collect();
            // Transactions lock rows in the order of their keys.
            fields.sort_unstable_by_key(|(key, ..)| *key);
            renewed += store.write_long(Isolation::Alone, move |tx| renew(tx, &fields))?;
        }
        if renewed > 0 && (is_complete || pages.is_multiple_of(MERGE_EVERY)) {
            index::merge(store, &|| false)?;
        }
        if is_complete {
            break;
        }
    }
    if renewed > 0 {
        tracing::info!(posts = renewed, "posts were split into words again by the rules of this version");
    }
    Ok(())
}

/// Returns the newest posts with outdated tokens, as many as a transaction renews.
fn outdated(tx: &mut dyn Tx) -> Result<Vec<Outdated>, StoreError> {
    let sql = "SELECT key, title, post, token FROM post WHERE tokenizer = 0 ORDER BY key DESC LIMIT $1";
    let outdated = |mut row: Row| {
        let post = Text { key: row.take(0)?, title: row.take(1)?, post: row.take(2)? };
        Ok::<_, StoreError>(Outdated { post, token: row.take(3)? })
    };
    let mut page: Vec<Outdated> =
        tx.rows(sql, &[RENEWED.into()])?.into_iter().map(outdated).collect::<Result<_, _>>()?;
    let mut bytes = 0;
    let within = page.iter().take_while(|Outdated { post, .. }| {
        let is_within = bytes < RENEWED_BYTES;
        bytes += post.post.len();
        is_within
    });
    page.truncate(within.count());
    Ok(page)
}

/// Writes new tokens of posts that have had other ones, and returns their number. A post that was changed meanwhile is left
/// as it is: it has new tokens, or is found again.
fn renew(tx: &mut dyn Tx, posts: &[(PostKey, String, Arc<TokenFields>)]) -> Result<u64, StoreError> {
    let sql = "UPDATE post SET token = $3, keyword = $4, tokenizer = 1 WHERE key = $1 AND tokenizer = 0 AND token = $2";
    let rows: Vec<_> = posts
        .iter()
        .map(|(key, before, fields)| {
            [(*key).into(), before.into(), (&fields.token).into(), (&fields.keyword).into()]
        })
        .collect();
    let written = run_each(tx, sql, &rows)?;
    let written: Vec<_> =
        posts.iter().zip(written).filter(|(_, rows)| *rows > 0).map(|(post, _)| post).collect();
    change::add_each(tx, &written.iter().map(|(key, ..)| *key).collect::<Vec<_>>())?;
    let changes = written.iter().map(|(key, _, fields)| index::Change::Update(*key, Arc::clone(fields)));
    let changes: Vec<_> = changes.collect();
    index::write(tx, &changes)?;
    tx.touch(Topic::Posts);
    tx.touch(Topic::PostTexts);
    Ok(changes.len() as u64)
}

/// Returns whether a post has outdated tokens.
pub(crate) fn has_outdated_tokens(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    Ok(tx.row("SELECT 1 FROM post WHERE tokenizer = 0 LIMIT 1", &[])?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::post::{self, Draft};

    use crate::testing::{self, Service};

    fn insert(service: &Service, title: &str, n: i64) -> String {
        let draft = Draft {
            title: Some(title.into()),
            url: Some(format!("https://a.example/{n}")),
            ..Draft::default()
        };
        service.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
    }

    /// Gives all posts tokens and entries as an earlier program would.
    fn outdate(service: &Service) {
        let written = service.store().write(Isolation::Alone, |tx| {
            tx.run("UPDATE post SET token = 'old', keyword = 'old', tokenizer = 0", &[])?;
            index::clear(tx)
        });
        written.unwrap();
    }

    fn outdated_posts(service: &Service) -> i64 {
        let sql = "SELECT count(*) FROM post WHERE tokenizer = 0 OR token = 'old'";
        service.store().read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
    }

    #[test]
    fn outdated_tokens_are_renewed_in_parts_and_work_that_was_stopped_goes_on() {
        let service = testing::service();
        for n in 0..RENEWED + 5 {
            insert(&service, "Café", n);
        }
        assert_eq!(outdated_posts(&service), 0);
        outdate(&service);
        let stop_after_one = std::cell::Cell::new(0);
        let is_stopped = || stop_after_one.replace(stop_after_one.get() + 1) == 1;
        renew_tokens(service.store(), &is_stopped).unwrap();
        assert_eq!(outdated_posts(&service), 5);
        let found = crate::testing::search(&service, "cafe", 300).unwrap().search_result.len();
        assert_eq!(i64::try_from(found).unwrap(), RENEWED, "the newest ones");
        renew_tokens(service.store(), &|| false).unwrap();
        assert_eq!(outdated_posts(&service), 0);
        assert_eq!(crate::testing::search(&service, "cafe", 300).unwrap().search_result.len(), 69);
        assert_eq!(service.store().read(index::mismatches).unwrap(), []);
    }

    #[test]
    fn a_post_that_changed_meanwhile_keeps_its_new_tokens() {
        let service = testing::service();
        let id = insert(&service, "Café", 1);
        outdate(&service);
        let page = service.store().read(outdated).unwrap();
        let draft = Draft { title: Some("Tea".into()), ..Draft::default() };
        service.call(&Caller::Operator, post::Update { post_obi: id.clone(), draft }).unwrap();
        let old = Arc::new(TokenFields::of("Café", ""));
        let fields = vec![(page[0].post.key, page[0].token.clone(), old)];
        let renewed = service.store().write(Isolation::Alone, move |tx| renew(tx, &fields)).unwrap();
        assert_eq!(renewed, 0);
        assert_eq!(crate::testing::search(&service, "tea", 9).unwrap().search_result.len(), 1);
    }

    #[test]
    fn what_an_earlier_program_writes_beside_this_one_is_renewed() {
        let service = testing::service();
        if !service.store().is_on_server() {
            return; // An earlier program cannot open a newer file.
        }
        insert(&service, "Café", 1);
        let write =
            |sql: &'static str| service.store().write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
        let draft = Draft { title: Some("Tea".into()), ..Draft::default() };
        let id = crate::testing::search(&service, "cafe", 1).unwrap().search_result.remove(0).post.id;
        service.call(&Caller::Operator, post::Update { post_obi: id.clone(), draft: draft.clone() }).unwrap();
        assert_eq!(outdated_posts(&service), 0, "this program marks its own updates");
        write("UPDATE post SET title = 'Crème', token = 'crème', keyword = 'crème'");
        assert_eq!(outdated_posts(&service), 1);
        renew_tokens(service.store(), &|| false).unwrap();
        assert_eq!(crate::testing::search(&service, "creme", 9).unwrap().search_result.len(), 1);
        assert_eq!(outdated_posts(&service), 0);
    }
}
