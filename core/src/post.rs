//! Posts: what administrators publish or import, and what members and guests view and like.

use serde::Serialize;

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::profile::history::JsonList;
use crate::store::{Row, StoreError, Tx};

pub(crate) mod cards;
pub(crate) mod heat;

/// A post as newsfeeds and searches answer it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Post {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: String,
    /// Its title.
    pub title: String,
    /// When it was published.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub date: Time,
    /// The address of its image, `""` when it has none.
    pub img: String,
    /// How many members like it.
    pub fav_cnt: i64,
    /// How often it was viewed.
    pub view: i64,
    /// Its address.
    pub url: String,
    /// When it stops being shown; `null` for never.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required = true))]
    pub end_date: Option<Time>,
}

impl Post {
    /// What [`Post::take`] reads, of `post p` and `standing s`.
    pub(crate) const COLUMNS: &str = "p.id, p.title, p.date, p.img, s.fav, s.view, p.url, p.end_date";
    /// How many columns that is: where the next one stands.
    pub(crate) const WIDTH: usize = 8;

    /// Takes a post out of a row that begins with [`Post::COLUMNS`].
    pub(crate) fn take(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take(0)?,
            title: row.take(1)?,
            date: Time(row.take(2)?),
            img: row.take(3)?,
            fav_cnt: row.take(4)?,
            view: row.take(5)?,
            url: row.take(6)?,
            end_date: row.take::<Option<i64>>(7)?.map(Time),
        })
    }
}

/// A whole post.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PostDetail {
    /// What newsfeeds show of it.
    #[serde(flatten)]
    pub shown: Post,
    /// Its text.
    pub post: String,
    /// The categories it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub topic: JsonList,
    /// Its tags.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub tag: JsonList,
}

/// What getting a post answers.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GetPost {
    /// The post.
    pub post: PostDetail,
}

/// A list of texts that the store keeps as JSON.
fn list(json: &str) -> Result<Vec<String>> {
    serde_json::from_str(json).map_err(|cause| Error::Internal(cause.into()))
}
