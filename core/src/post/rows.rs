//! The rows of posts: inserts, updates and removes a post together with its labels, the counts of categories and the
//! entry of the search index.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::draft::{Address, Content};
use super::token_fields::TokenFields;
use super::{change, index, texts_in};
use crate::account::Admin;
use crate::analysis::counters::Counter;
use crate::profile::history::json_list;
use crate::record::error::Result;
use crate::record::id::{PostKey, SourceKey};
use crate::store::{Arg, Row, StoreError, Topic, Tx, row_each, run_each};

pub(super) struct Stored {
    pub(super) key: PostKey,
    pub(super) content: Content,
}

/// In the order that [`stored`] reads.
pub(super) const COLUMNS: &str =
    "p.key, p.url, p.host, p.title, p.post, p.img, p.topic, p.tag, p.date, p.end_date";

pub(super) struct New<'p> {
    pub(super) id: &'p str,
    pub(super) content: &'p Content,
    pub(super) tokens: Arc<TokenFields>,
    pub(super) view: i64,
    pub(super) fav: i64,
}

/// Changes to data that is derived from posts. They are collected while the rows of posts are written, and written after all of
/// them, so that the changes to the index are consecutive: a statement on another table can make FTS5 flush the changes that it
/// buffers.
#[derive(Default)]
pub(super) struct DerivedChanges {
    index: Vec<index::Change>,
    texts: i64,
    categories: BTreeMap<String, i64>,
    posts: i64,
}

impl DerivedChanges {
    pub(super) fn write(self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let categories = self.categories.iter().filter(|(_, more)| **more != 0);
        let categories: Vec<_> = categories.map(|(name, more)| [name.into(), (*more).into()]).collect();
        let sql = "INSERT INTO category (name, posts) VALUES ($1, $2)
                   ON CONFLICT (name) DO UPDATE SET posts = category.posts + excluded.posts";
        run_each(tx, sql, &categories)?;
        if self.categories.values().any(|more| *more < 0) {
            tx.run("DELETE FROM category WHERE posts = 0", &[])?;
        }
        if self.texts != 0 {
            tx.count(Counter::Wording as i64, None, self.texts);
        }
        index::write(tx, &self.index)?;
        if self.posts != 0 {
            tx.count(Counter::Posts as i64, None, self.posts);
        }
        tx.touch(Topic::Posts);
        Ok(())
    }

    fn count(&mut self, topics: &[String], more: i64) {
        for topic in topics {
            // Avoids cloning the name of a topic that is counted already.
            match self.categories.get_mut(topic) {
                Some(count) => *count += more,
                None => drop(self.categories.insert(topic.clone(), more)),
            }
        }
    }
}

pub(super) fn by_id(tx: &mut dyn Tx, id: &str) -> Result<Option<Stored>> {
    tx.row(&format!("SELECT {COLUMNS} FROM post p WHERE id = $1"), &[id.into()])?.map(stored).transpose()
}

pub(super) fn by_urls<'u>(
    tx: &mut dyn Tx,
    urls: impl Iterator<Item = &'u str>,
) -> Result<Vec<Option<Stored>>> {
    let urls: Vec<[Arg<'_>; 1]> = urls.map(|url| [url.into()]).collect();
    row_each(tx, &format!("SELECT {COLUMNS} FROM post p WHERE url = $1"), &urls)?
        .into_iter()
        .map(|row| row.map(stored).transpose())
        .collect()
}

/// An entry is a source and a key within the source.
pub(super) fn by_entries(tx: &mut dyn Tx, entries: &[[Arg<'_>; 2]]) -> Result<Vec<Option<Stored>>> {
    let from = "post_source o JOIN post p ON p.key = o.post WHERE o.source = $1 AND o.entry = $2";
    row_each(tx, &format!("SELECT {COLUMNS} FROM {from}"), entries)?
        .into_iter()
        .map(|row| row.map(stored).transpose())
        .collect()
}

pub(super) fn of_source(tx: &mut dyn Tx, source: SourceKey, most: usize) -> Result<Vec<Stored>> {
    let from = "post_source o JOIN post p ON p.key = o.post WHERE o.source = $1 ORDER BY o.post LIMIT $2";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    tx.rows(&format!("SELECT {COLUMNS} FROM {from}"), &[source.into(), most.into()])?
        .into_iter()
        .map(stored)
        .collect()
}

pub(super) fn existing_ids<'i>(
    tx: &mut dyn Tx,
    ids: impl Iterator<Item = &'i str>,
) -> Result<HashSet<&'i str>, StoreError> {
    let ids: Vec<&str> = ids.collect();
    let args: Vec<[Arg<'_>; 1]> = ids.iter().map(|id| [(*id).into()]).collect();
    let found = row_each(tx, "SELECT 1 FROM post WHERE id = $1", &args)?;
    Ok(ids.into_iter().zip(found).filter(|(_, row)| row.is_some()).map(|(id, _)| id).collect())
}

pub(super) fn stored(mut row: Row) -> Result<Stored> {
    let (topic, tag): (String, String) = (row.take(6)?, row.take(7)?);
    Ok(Stored {
        key: row.take(0)?,
        content: Content {
            address: Address { url: row.take(1)?, host: row.take(2)? },
            title: row.take(3)?,
            post: row.take(4)?,
            img: row.take(5)?,
            topic: texts_in(&topic)?,
            tag: texts_in(&tag)?,
            date: row.take(8)?,
            end_date: row.take(9)?,
        },
    })
}

/// Fails with `Duplicate` if another post has the address or the id of one of these.
pub(super) fn insert(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    posts: &[New<'_>],
    derived: &mut DerivedChanges,
) -> Result<Vec<PostKey>, StoreError> {
    let lists: Vec<[String; 2]> =
        posts.iter().map(|new| [&new.content.topic, &new.content.tag].map(|list| json_list(list))).collect();
    let rows: Vec<_> =
        posts.iter().zip(&lists).map(|(new, [topics, tags])| row_of(new, topics, tags)).collect();
    let sql = "INSERT INTO post (id, url, host, title, img, topic, tag, keyword, date, end_date, token, post)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    run_each(tx, sql, &rows)?;
    // Does not use RETURNING, because SQLite would write a statement journal, which made an import 20 % slower.
    let ids: Vec<[Arg<'_>; 1]> = posts.iter().map(|new| [new.id.into()]).collect();
    let inserted = row_each(tx, "SELECT key FROM post WHERE id = $1", &ids)?;
    let missing = || StoreError::other("a post that was inserted is missing");
    let keys = inserted.into_iter().map(|row| row.ok_or_else(missing)?.take(0));
    let keys: Vec<PostKey> = keys.collect::<Result<_, _>>()?;
    let stats = |(new, key): (&New<'_>, &PostKey)| [(*key).into(), new.view.into(), new.fav.into()];
    let sql = "INSERT INTO post_stats (post, view, fav) VALUES ($1, $2, $3)";
    run_each(tx, sql, &posts.iter().zip(&keys).map(stats).collect::<Vec<_>>())?;
    change::add_new(tx, &keys)?;
    label(tx, posts.iter().zip(&keys).map(|(new, key)| (*key, &*new.content.topic, &*new.content.tag)))?;
    for (new, key) in posts.iter().zip(&keys) {
        derived.count(&new.content.topic, 1);
        derived.posts += 1;
        derived.texts += 1;
        derived.index.push(index::Change::Insert(entry(*key, new.content, &new.tokens)));
    }
    Ok(keys)
}

fn entry(key: PostKey, content: &Content, tokens: &TokenFields) -> index::Entry {
    let labels = labels(&content.topic, &content.tag).map(|(name, _)| name);
    index::Entry::new(key, tokens, labels, content.date, content.end_date)
}

fn row_of<'a>(new: &'a New<'_>, topics: &'a str, tags: &'a str) -> [Arg<'a>; 12] {
    let Content { title, post, address, img, topic: _, tag: _, date, end_date } = new.content;
    [
        new.id.into(),
        (&address.url).into(),
        (&address.host).into(),
        title.into(),
        img.into(),
        topics.into(),
        tags.into(),
        (&new.tokens.keyword).into(),
        (*date).into(),
        (*end_date).into(),
        (&new.tokens.token).into(),
        post.into(),
    ]
}

/// `tokens` are those of the title and the text, if they are known. Fails with `Duplicate` if another post has the new address.
pub(super) fn update(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    old: &Stored,
    new: &Content,
    tokens: Option<Arc<TokenFields>>,
    derived: &mut DerivedChanges,
) -> Result<(), StoreError> {
    let key = old.key;
    let (topics, tags) = (json_list(&new.topic), json_list(&new.tag));
    let sql = "UPDATE post SET url = $2, host = $3, img = $4, topic = $5, tag = $6, date = $7, end_date = $8
               WHERE key = $1";
    let args = [
        key.into(),
        (&new.address.url).into(),
        (&new.address.host).into(),
        (&new.img).into(),
        (&topics).into(),
        (&tags).into(),
        new.date.into(),
        new.end_date.into(),
    ];
    tx.run(sql, &args)?;
    let before = &old.content;
    if (&before.title, &before.post, &before.topic, &before.tag, before.date, before.end_date)
        == (&new.title, &new.post, &new.topic, &new.tag, new.date, new.end_date)
    {
        // The entry in the search index stays.
        tx.touch(Topic::PostTexts);
        return change::add(tx, key);
    }
    let tokens = tokens.unwrap_or_else(|| Arc::new(TokenFields::of(&new.title, &new.post)));
    derived.index.push(index::Change::Update(entry(key, new, &tokens)));
    if (&old.content.title, &old.content.post) != (&new.title, &new.post) {
        let TokenFields { token, keyword, .. } = &*tokens;
        let texts = [&new.title, &new.post, token, keyword].map(Into::into);
        let sql = "UPDATE post SET title = $2, post = $3, token = $4, keyword = $5 WHERE key = $1";
        tx.run(sql, &[key.into(), texts[0], texts[1], texts[2], texts[3]])?;
        derived.texts += 1;
    }
    if (&old.content.topic, &old.content.tag) != (&new.topic, &new.tag) {
        relabel(tx, key, &new.topic, &new.tag)?;
        derived.count(&old.content.topic, -1);
        derived.count(&new.topic, 1);
    }
    tx.touch(Topic::PostTexts);
    change::add(tx, key)
}

/// Also removes the post from all lists.
pub(super) fn remove(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    post: &Stored,
    derived: &mut DerivedChanges,
) -> Result<(), StoreError> {
    // The entry stays in the feed of its source, and may not come back.
    let sql = "INSERT INTO source_removed (source, entry) SELECT source, entry FROM post_source
               WHERE post = $1 AND entry IS NOT NULL";
    tx.run(sql, &[post.key.into()])?;
    tx.run("DELETE FROM post WHERE key = $1", &[post.key.into()])?;
    tx.run("DELETE FROM hidden WHERE post = $1", &[post.key.into()])?;
    let sql = "INSERT INTO removed_post (post, revision) VALUES ($1, $2)";
    let revision = tx.revision();
    tx.run(sql, &[post.key.into(), revision.into()])?;
    derived.count(&post.content.topic, -1);
    derived.posts -= 1;
    derived.texts += 1;
    derived.index.push(index::Change::Remove(post.key));
    tx.touch(Topic::PostTexts);
    Ok(())
}

pub(super) fn relabel(
    tx: &mut dyn Tx,
    key: PostKey,
    topic: &[String],
    tag: &[String],
) -> Result<(), StoreError> {
    tx.run("DELETE FROM label WHERE post = $1", &[key.into()])?;
    label(tx, [(key, topic, tag)].into_iter())
}

/// The posts must have no labels yet.
fn label<'p>(
    tx: &mut dyn Tx,
    posts: impl Iterator<Item = (PostKey, &'p [String], &'p [String])>,
) -> Result<(), StoreError> {
    let labels = posts.flat_map(|(key, topic, tag)| {
        labels(topic, tag).map(move |(name, is_topic)| [name.into(), key.into(), i64::from(is_topic).into()])
    });
    let sql = "INSERT INTO label (name, post, topic) VALUES ($1, $2, $3)";
    run_each(tx, sql, &labels.collect::<Vec<_>>()).map(drop)
}

/// Returns the topics, and the tags that are not topics as well, and whether each is a topic.
pub(super) fn labels<'p>(topic: &'p [String], tag: &'p [String]) -> impl Iterator<Item = (&'p String, bool)> {
    let tags = tag.iter().filter(|name| !topic.contains(name));
    topic.iter().map(|name| (name, true)).chain(tags.map(|name| (name, false)))
}
