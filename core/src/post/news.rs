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

/// Returns the posts with a key greater than `key`, at most `limit`, in the order of their keys.
///
/// This is the order in which they became visible, because posts are inserted while no other work runs. Posts that have
/// been removed are missing.
pub(crate) fn after(tx: &mut dyn Tx, key: PostKey, limit: usize) -> Result<Vec<(PostKey, NewPost)>> {
    let sql = select("p.key > $1 ORDER BY p.key LIMIT $2");
    let rows = tx.rows(&sql, &[key.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()])?;
    rows.into_iter().map(new_post).collect()
}

/// Returns the last posts in the order of their keys, at most `limit`.
pub(crate) fn last(tx: &mut dyn Tx, limit: usize) -> Result<Vec<(PostKey, NewPost)>> {
    let sql = select("p.key > $1 ORDER BY p.key DESC LIMIT $2");
    let rows = tx.rows(&sql, &[PostKey::MIN.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()])?;
    rows.into_iter().rev().map(new_post).collect()
}

/// Returns the greatest key of a post; `None` if there are no posts.
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
