//! Making the search index and the tokens of posts again from their texts: for a repair, for a copy, after an update of the
//! schema, and when a new version of the program splits texts into other tokens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::change;
use super::index::{self, Entry};
use super::rows::labels;
use super::texts_in;
use super::token_fields::TokenFields;
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Isolation, Row, Store, StoreError, Topic, Tx, run_each};

/// The bounds of a transaction that renews posts: their number, and the bytes of their texts.
const RENEWED: i64 = 64;
const RENEWED_BYTES: usize = 256 << 10;
/// The time for which opening a database renews posts. Most databases are done by then.
const RENEWED_AT_OPEN: Duration = Duration::from_secs(1);

/// The columns of a [`Source`].
const COLUMNS: &str = "key, title, post, topic, tag, date, end_date, token";

/// What the tokens and the entry of a post are made from.
struct Source {
    key: PostKey,
    title: String,
    post: String,
    topic: Vec<String>,
    tag: Vec<String>,
    date: Timestamp,
    end_date: Option<Timestamp>,
    /// The tokens that the post has.
    token: String,
}

impl Source {
    fn take(mut row: Row) -> Result<Self, StoreError> {
        let list = |json: String| texts_in(&json).map_err(StoreError::other);
        Ok(Self {
            key: row.take(0)?,
            title: row.take(1)?,
            post: row.take(2)?,
            topic: list(row.take(3)?)?,
            tag: list(row.take(4)?)?,
            date: row.take(5)?,
            end_date: row.take(6)?,
            token: row.take(7)?,
        })
    }

    /// Returns the first of these posts, as many as a transaction renews.
    fn page(rows: Vec<Row>) -> Result<Vec<Self>, StoreError> {
        let mut page: Vec<Self> = rows.into_iter().map(Self::take).collect::<Result<_, _>>()?;
        let mut bytes = 0;
        let within = page.iter().take_while(|source| {
            let is_within = bytes < RENEWED_BYTES;
            bytes += source.post.len();
            is_within
        });
        page.truncate(within.count());
        Ok(page)
    }

    fn entry(&self, tokens: &TokenFields) -> Entry {
        let labels = labels(&self.topic, &self.tag).map(|(name, _)| name);
        Entry::new(self.key, tokens, labels, self.date, self.end_date)
    }
}

/// Describes the posts that the search index lacks, and its entries without a post.
pub(crate) fn wrong_index(database: &dyn Inspected) -> Result<Vec<String>> {
    let keys = database.read(index::mismatches)?;
    Ok(keys.iter().map(|key| format!("post number {}", key.as_i64())).collect())
}

/// Rebuilds the search index. Searches find fewer posts until it is complete.
pub(crate) fn index(database: &dyn Inspected) -> Result<()> {
    fill_index(database, &mut |_| Ok(()))
}

/// Does the same as [`index`], and calls `progress` with the number of posts so far.
///
/// # Errors
/// The first error of `progress`, or when the store fails.
pub(crate) fn fill_index(
    database: &dyn Inspected,
    progress: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<()> {
    // A post that is inserted after the index was emptied has an entry of its own.
    let mut posts = database.write(|tx| {
        index::clear(tx)?;
        index_page(tx)
    })?;
    let mut done = 0;
    while posts > 0 {
        done += posts;
        progress(done)?;
        posts = database.write(index_page)?;
    }
    Ok(())
}

/// Inserts the newest posts that the search index lacks, as many as a transaction renews, and returns their number.
fn index_page(tx: &mut dyn Tx) -> Result<u64, StoreError> {
    let Some(before) = index::unindexed_before(tx)? else { return Ok(0) };
    let sql = format!("SELECT {COLUMNS} FROM post WHERE key < $1 ORDER BY key DESC LIMIT $2");
    let page = Source::page(tx.rows(&sql, &[before.into(), RENEWED.into()])?)?;
    let entry = |post: &Source| post.entry(&TokenFields::of(&post.title, &post.post));
    let changes: Vec<_> = page.iter().map(|post| index::Change::Insert(entry(post))).collect();
    index::write(tx, &changes)?;
    Ok(changes.len() as u64)
}

/// Renews posts while the database is opened, for a moment. The thread of a service, or the next program, does the rest.
pub(crate) fn begin_to_renew(store: &Store) -> Result<()> {
    let begun = Instant::now();
    renew(store, &|| begun.elapsed() >= RENEWED_AT_OPEN)
}

/// Returns whether a post has outdated tokens, or is not in the search index yet.
pub(crate) fn is_outdated(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM post WHERE tokenizer = 0 LIMIT 1";
    Ok(tx.row(sql, &[])?.is_some() || index::unindexed_before(tx)?.is_some())
}

/// Completes the search index after an update of the schema has emptied it, and makes the tokens of posts again that were made by
/// the rules of an earlier program, newest first. Returns when nothing is left or `is_stopped` returns true.
///
/// Searches work meanwhile, and miss posts that have a word only in its new form or are not in the index yet. Other processes
/// may do the same. What a killed process has left undone is continued.
///
/// # Errors
/// When the store fails.
pub(crate) fn renew(store: &Store, is_stopped: &dyn Fn() -> bool) -> Result<()> {
    let mut indexed = 0_u64;
    // Opening a complete database writes nothing.
    while !is_stopped() && store.read(index::unindexed_before)?.is_some() {
        indexed += store.write_long(Isolation::Alone, index_page)?;
    }
    if indexed > 0 {
        tracing::info!(posts = indexed, "the search index was completed");
    }
    let mut renewed = 0_u64;
    while !is_stopped() {
        let posts = store.read(outdated)?;
        if posts.is_empty() {
            break;
        }
        let fields = posts.into_iter().map(|post| (TokenFields::of(&post.title, &post.post), post));
        let mut fields: Vec<_> = fields.collect();
        // Transactions lock rows in the order of their keys.
        fields.sort_unstable_by_key(|(_, post)| post.key);
        let fields = Arc::new(fields);
        renewed += store.write_long(Isolation::Alone, move |tx| renew_tokens(tx, &fields))?;
    }
    if renewed > 0 {
        tracing::info!(posts = renewed, "posts were split into words again by the rules of this version");
    }
    Ok(())
}

/// Returns the newest posts with outdated tokens, as many as a transaction renews.
fn outdated(tx: &mut dyn Tx) -> Result<Vec<Source>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM post WHERE tokenizer = 0 ORDER BY key DESC LIMIT $1");
    Source::page(tx.rows(&sql, &[RENEWED.into()])?)
}

/// Writes new tokens of posts that have had other ones, and returns their number. A post that was changed meanwhile is left
/// as it is: it has new tokens, or is found again.
fn renew_tokens(tx: &mut dyn Tx, posts: &[(TokenFields, Source)]) -> Result<u64, StoreError> {
    let sql = "UPDATE post SET token = $3, keyword = $4, tokenizer = 1 WHERE key = $1 AND tokenizer = 0 AND token = $2";
    let rows: Vec<_> = posts
        .iter()
        .map(|(fields, post)| {
            [post.key.into(), (&post.token).into(), (&fields.token).into(), (&fields.keyword).into()]
        })
        .collect();
    let written = run_each(tx, sql, &rows)?;
    let written: Vec<_> =
        posts.iter().zip(written).filter(|(_, rows)| *rows > 0).map(|(post, _)| post).collect();
    change::add_each(tx, &written.iter().map(|(_, post)| post.key).collect::<Vec<_>>())?;
    let changes = written.iter().map(|(fields, post)| index::Change::Update(post.entry(fields)));
    let changes: Vec<_> = changes.collect();
    index::write(tx, &changes)?;
    tx.touch(Topic::Posts);
    tx.touch(Topic::PostTexts);
    Ok(changes.len() as u64)
}

#[cfg(test)]
mod tests {
    use tidings_cluster::only_on_sqlite;

    use super::*;
    use crate::account::Caller;
    use crate::post::{self, Draft};
    use crate::store::inspect::{Comparison, InspectedFile};

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
        // Before two pages of the index, before the look for a third one, and before a page of tokens.
        let asked = std::cell::Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) >= 4;
        renew(service.store(), &is_stopped).unwrap();
        assert_eq!(outdated_posts(&service), 5);
        renew(service.store(), &|| false).unwrap();
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
        let fields: Vec<_> = page.into_iter().map(|post| (TokenFields::of("Café", ""), post)).collect();
        let renewed = service.store().write(Isolation::Alone, move |tx| renew_tokens(tx, &fields)).unwrap();
        assert_eq!(renewed, 0);
        renew(service.store(), &|| false).unwrap();
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
        renew(service.store(), &|| false).unwrap();
        assert_eq!(crate::testing::search(&service, "creme", 9).unwrap().search_result.len(), 1);
        assert_eq!(outdated_posts(&service), 0);
    }

    /// A database in which a post is inserted after each transaction of a repair.
    struct Busy<'s> {
        inner: InspectedFile,
        service: &'s Service,
        writes: std::cell::Cell<i64>,
    }

    impl Inspected for Busy<'_> {
        fn read_with(&self, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError> {
            self.inner.read_with(work)
        }

        fn write_with(&self, work: &mut dyn FnMut(&mut dyn Tx) -> bool) -> Result<(), StoreError> {
            self.inner.write_with(work)?;
            self.writes.set(self.writes.get() + 1);
            insert(self.service, "Café", 1_000 + self.writes.get());
            Ok(())
        }

        fn compare_schema(&self) -> Result<Comparison, StoreError> {
            self.inner.compare_schema()
        }

        fn correct_schema(&self, remedy: &[String]) -> Result<(), StoreError> {
            self.inner.correct_schema(remedy)
        }
    }

    #[test]
    fn posts_may_be_inserted_during_a_repair() {
        only_on_sqlite!("it opens the file twice");
        let service = testing::service();
        for n in 0..RENEWED + 5 {
            insert(&service, "Café", n);
        }
        let inner = InspectedFile::open_for_repair(&service.database.path()).unwrap();
        let busy = Busy { inner, service: &service, writes: std::cell::Cell::new(0) };
        index(&busy).unwrap();
        assert_eq!(busy.writes.get(), 3, "two pages, and a look for a third one");
        assert_eq!(service.store().read(index::mismatches).unwrap(), []);
    }
}
