//! Rebuilds the search index from the texts of posts: for a repair, for a copy, and after a step of the schema.

use super::index::{self, Entry};
use super::rows::labels;
use super::texts_in;
use super::token_fields::TokenFields;
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::inspect::Inspected;
use crate::store::{Isolation, Row, Store, StoreError, Tx};

/// The bounds of a transaction that renews posts: their number, and the bytes of their texts.
const RENEWED: i64 = 64;
const RENEWED_BYTES: usize = 256 << 10;

/// In the order that [`Source::take`] reads.
const COLUMNS: &str = "key, title, post, topic, tag, date, end_date";

struct Source {
    key: PostKey,
    title: String,
    post: String,
    topic: Vec<String>,
    tag: Vec<String>,
    date: Timestamp,
    end_date: Option<Timestamp>,
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
        })
    }

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

/// Also describes entries without a post.
pub(crate) fn wrong_index(database: &dyn Inspected) -> Result<Vec<String>> {
    let keys = database.read(index::mismatches)?;
    Ok(keys.iter().map(|key| format!("post number {}", key.as_i64())).collect())
}

/// Searches find fewer posts until it is complete.
pub(crate) fn index(database: &dyn Inspected) -> Result<()> {
    fill_index(database, &mut |_| Ok(()))
}

/// Like [`index`], but calls `progress` with the number of posts so far. An error of `progress` stops it.
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

/// The newest posts first. Returns their number.
fn index_page(tx: &mut dyn Tx) -> Result<u64, StoreError> {
    let Some(before) = index::unindexed_before(tx)? else { return Ok(0) };
    let sql = format!("SELECT {COLUMNS} FROM post WHERE key < $1 ORDER BY key DESC LIMIT $2");
    let page = Source::page(tx.rows(&sql, &[before.into(), RENEWED.into()])?)?;
    let entry = |post: &Source| post.entry(&TokenFields::of(&post.title, &post.post));
    let changes: Vec<_> = page.iter().map(|post| index::Change::Insert(entry(post))).collect();
    index::write(tx, &changes)?;
    Ok(changes.len() as u64)
}

/// After a step of the schema has emptied the index, or a killed process has left it incomplete; the newest posts first.
pub(crate) fn complete_index(store: &Store) -> Result<()> {
    let mut indexed = 0_u64;
    // Opening a complete database writes nothing.
    while store.read(index::unindexed_before)?.is_some() {
        indexed += store.write_long(Isolation::Alone, index_page)?;
    }
    if indexed > 0 {
        tracing::info!(posts = indexed, "the search index was completed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tidings_cluster::only_on_sqlite;

    use super::*;
    use crate::store::InspectedFile;
    use crate::testing::{self, Service, draft, publish};

    fn insert(service: &Service, title: &str, n: i64) -> String {
        publish(service, draft(title, format!("https://a.example/{n}")))
    }

    #[test]
    fn an_index_that_a_step_has_emptied_is_completed() {
        let service = testing::service();
        for n in 0..RENEWED + 5 {
            insert(&service, "Café", n);
        }
        service.store().write(Isolation::Alone, index::clear).unwrap();
        complete_index(service.store()).unwrap();
        assert_eq!(crate::testing::search(&service, "cafe", 300).unwrap().search_result.len(), 69);
        assert_eq!(service.store().read(index::mismatches).unwrap(), []);
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
