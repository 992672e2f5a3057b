use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use crate::record::id::{ObjectId, PostKey, SourceKey};
use crate::store::{StoreError, Tx, row_each};

/// The source that has brought a post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PostSource {
    /// The id of the source.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The name of the source.
    #[schema(max_length = 300, examples("Campus news"))]
    pub name: String,
    /// The address of its page for people, or that of its feed, without the query, which may be secret.
    #[schema(format = "uri", max_length = 2_000, examples("https://news.example.org/"))]
    pub url: String,
}

pub(crate) fn sources(
    tx: &mut dyn Tx,
    posts: impl Iterator<Item = PostKey>,
) -> Result<Vec<Option<PostSource>>, StoreError> {
    let sql =
        "SELECT s.id, s.name, s.title, s.url, s.home FROM post_source o JOIN source s ON s.key = o.source
               WHERE o.post = $1";
    let posts: Vec<_> = posts.map(|post| [post.into()]).collect();
    let found = row_each(tx, sql, &posts)?.into_iter().map(|row| {
        let Some(mut row) = row else { return Ok(None) };
        let (name, title, url): (String, String, String) = (row.take(1)?, row.take(2)?, row.take(3)?);
        let (name, home) = (shown_name(&name, &title, &url), row.take::<Option<String>>(4)?);
        // A feed may name itself as its page.
        let home = home.filter(|home| secret(&url).is_none_or(|secret| !home.contains(secret)));
        Ok(Some(PostSource { id: row.take(0)?, name, url: home.unwrap_or_else(|| public(&url)) }))
    });
    found.collect()
}

/// Returns the query of the address of a feed, in which sites put the secret of a subscriber.
fn secret(url: &str) -> Option<&str> {
    url.split_once('?').map(|(_, query)| query).filter(|query| !query.is_empty())
}

/// Leaves out the query, which may be secret.
pub(crate) fn public(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}

pub(crate) fn source_key(tx: &mut dyn Tx, id: &str) -> Result<Option<SourceKey>, StoreError> {
    tx.row("SELECT key FROM source WHERE id = $1", &[id.into()])?.map(|mut row| row.take(0)).transpose()
}

pub(crate) fn shown_name(name: &str, title: &str, url: &str) -> String {
    let host = || Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    [name, title].into_iter().find(|text| !text.is_empty()).map_or_else(host, str::to_owned)
}
