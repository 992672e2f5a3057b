use crate::analysis::counters::{Counter, Counts};
use crate::base::text;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::{Arg, Row, StoreError, Tx, row_each};

/// A page of the longest texts has about 10 million characters.
const PAGE: i64 = 100;
const TOKENS: i64 = 1_000;

pub(crate) struct Text {
    pub(crate) key: PostKey,
    pub(crate) title: String,
    pub(crate) post: String,
}

/// Newest first; empty after the last page.
pub(crate) fn page(tx: &mut dyn Tx, before: PostKey) -> Result<Vec<Text>, StoreError> {
    let sql = "SELECT key, title, post FROM post WHERE key < $1 ORDER BY key DESC LIMIT $2";
    let text = |mut row: Row| Ok(Text { key: row.take(0)?, title: row.take(1)?, post: row.take(2)? });
    tx.rows(sql, &[before.into(), PAGE.into()])?.into_iter().map(text).collect()
}

/// In ascending order of the keys; empty after the last post.
pub(crate) fn tokens_after(tx: &mut dyn Tx, after: i64) -> Result<Vec<(PostKey, String)>, StoreError> {
    let sql = "SELECT key, token FROM post WHERE key > $1 ORDER BY key LIMIT $2";
    let rows = tx.rows(sql, &[after.into(), TOKENS.into()])?;
    rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
}

/// `length` is in characters. Empty for a removed post.
pub(crate) fn beginnings<'i>(
    tx: &mut dyn Tx,
    ids: impl Iterator<Item = &'i str>,
    length: usize,
) -> Result<Vec<String>, StoreError> {
    let sql = format!("SELECT substr(post, 1, {length}) FROM post WHERE id = $1");
    let ids: Vec<[Arg<'_>; 1]> = ids.map(|id| [id.into()]).collect();
    let texts = row_each(tx, &sql, &ids)?.into_iter();
    texts.map(|row| row.map_or(Ok(String::new()), |mut row| row.take(0))).collect()
}

/// In characters, including the mark of a shortened text.
const SUMMARY: usize = 300;

/// Empty for a removed post.
pub(crate) fn summaries(tx: &mut dyn Tx, posts: &[PostKey]) -> Result<Vec<String>, StoreError> {
    // One character more than a summary, to find out whether it is shortened.
    let sql = format!("SELECT substr(post, 1, {}) FROM post WHERE key = $1", SUMMARY + 1);
    let keys: Vec<_> = posts.iter().map(|key| [(*key).into()]).collect();
    let texts = row_each(tx, &sql, &keys)?.into_iter();
    texts
        .map(|row| row.map_or(Ok(String::new()), |mut row| Ok(text::shortened(row.take(0)?, SUMMARY))))
        .collect()
}

/// Counts the posts that were inserted, rewritten or removed.
pub(crate) fn changes(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    Ok(Counts::in_total(tx)?.of(Counter::Wording))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::post::{self, Draft};
    use crate::testing::{self, Service, draft, publish};

    fn changes_of(service: &Service) -> i64 {
        service.store().read(|tx| changes(tx)).unwrap()
    }

    #[test]
    fn inserted_rewritten_and_removed_posts_count_as_changes() {
        let service = testing::service();
        let id = publish(&service, draft("One", "https://a.example/1"));
        assert_eq!(changes_of(&service), 1);
        let update =
            |draft| service.call(&Caller::Operator, post::Update { post_obi: id.clone(), draft }).unwrap();
        update(Draft { tag: Some(vec!["news".into()]), ..Draft::default() });
        post::view(&service, &Caller::Guest, &id).wait().unwrap();
        assert_eq!(changes_of(&service), 1);
        update(Draft { title: Some("Two".into()), ..Draft::default() });
        assert_eq!(changes_of(&service), 2);
        service.call(&Caller::Operator, post::Remove { post_obi: id.clone() }).unwrap();
        assert_eq!(changes_of(&service), 3);
    }

    #[test]
    fn a_removed_post_has_no_summary() {
        let service = testing::service();
        publish(&service, Draft { post: Some("A text.".into()), ..draft("One", "https://a.example/1") });
        let summaries = service.store().read(|tx| {
            let key = page(tx, PostKey::MAX)?[0].key;
            summaries(tx, &[key, PostKey::MAX])
        });
        assert_eq!(summaries.unwrap(), ["A text.", ""]);
    }

    #[test]
    fn pages_have_every_post_once_newest_first() {
        let service = testing::service();
        for n in 0..=2 * PAGE {
            publish(&service, draft(format!("Post {n}"), format!("https://a.example/{n}")));
        }
        let (mut before, mut titles) = (PostKey::MAX, Vec::new());
        loop {
            let page = service.store().read(|tx| page(tx, before)).unwrap();
            let Some(last) = page.last() else { break };
            before = last.key;
            titles.extend(page.into_iter().map(|text| text.title));
        }
        assert_eq!(titles.len(), 201);
        assert_eq!((titles[0].as_str(), titles[200].as_str()), ("Post 200", "Post 0"));
    }
}
