//! The posts that were inserted last, in the order in which they became visible.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Post, texts_in};

use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::record::schema::Word;
use crate::store::{Row, Tx};

/// A post that was inserted.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NewPost {
    /// The post as feeds return it.
    pub post: Post,
    /// The topics of the post.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub topic: Vec<String>,
    /// The tags of the post.
    #[schema(value_type = Vec<Word>, max_items = 50)]
    pub tag: Vec<String>,
}

/// In the order of their keys, which is the order in which they became visible, because posts are inserted while no other work
/// runs. Removed posts are missing.
pub(crate) fn after(tx: &mut dyn Tx, key: PostKey, limit: usize) -> Result<Vec<(PostKey, NewPost)>> {
    let sql = select("p.key > $1 ORDER BY p.key LIMIT $2");
    let rows = tx.rows(&sql, &[key.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()])?;
    rows.into_iter().map(new_post).collect()
}

/// In the order of their keys.
pub(crate) fn last(tx: &mut dyn Tx, limit: usize) -> Result<Vec<(PostKey, NewPost)>> {
    let sql = select("p.key > $1 ORDER BY p.key DESC LIMIT $2");
    let rows = tx.rows(&sql, &[PostKey::MIN.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()])?;
    rows.into_iter().rev().map(new_post).collect()
}

pub(crate) fn last_key(tx: &mut dyn Tx) -> Result<Option<PostKey>> {
    let row = tx.row("SELECT key FROM post ORDER BY key DESC LIMIT 1", &[])?;
    Ok(row.map(|mut row| row.take(0)).transpose()?)
}

fn select(condition: &str) -> String {
    let columns = Post::COLUMNS;
    format!(
        "SELECT {columns}, p.topic, p.tag, p.key FROM post p JOIN post_stats s ON s.post = p.key WHERE {condition}"
    )
}

fn new_post(mut row: Row) -> Result<(PostKey, NewPost)> {
    let post = Post::take(&mut row)?;
    let (topic, tag): (String, String) = (row.take(Post::WIDTH)?, row.take(Post::WIDTH + 1)?);
    Ok((row.take(Post::WIDTH + 2)?, NewPost { post, topic: texts_in(&topic)?, tag: texts_in(&tag)? }))
}
