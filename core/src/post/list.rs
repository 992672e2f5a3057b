//! The list of all posts, newest first, in pages, for administration. Unlike a newsfeed, it includes posts past their
//! end date, and each page continues where the previous page ended, even if posts were inserted or removed in between.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Post;

use crate::account::{Identity, Transaction};
use crate::base::clock::Timestamp;
use crate::record::answer;
use crate::record::error::{Error, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Spec, Work};
use crate::store::{Arg, StoreError, Tx};

/// The maximum number of posts of a page.
pub const LIST_MAX: i64 = 1_000;
const LIST: i64 = 100;

/// A page of posts.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PostList {
    /// The posts, newest first.
    pub posts: Vec<Post>,
    /// The text that continues the list; `null` at its end.
    #[schema(max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<String>,
}

/// List posts
///
/// Returns all posts, newest first, also those past their end date.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// The topic or tag of the posts; all posts by default.
    #[schema(examples("science"))]
    pub topic: Option<String>,
    /// The maximum number of posts, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(max_length = 100, examples("1795163760000.6b0039acd7c34f1e5b2e91a7"))]
    pub next: Option<String>,
}

impl Transaction for List {
    type By = ();
    type Answer = PostList;
    const SPEC: Spec = Spec::get("post", "/get_posts", Access::Open).public().works(Work::Query);

    fn run(&self, tx: &mut dyn Tx, (): &(), _: &Identity) -> Result<PostList> {
        let limit = self.limit.unwrap_or(LIST);
        if !(1..=LIST_MAX).contains(&limit) {
            return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
        }
        let before = self.next.as_deref().map_or(Some(Cursor::NEWEST), Cursor::parse);
        let before = before
            .ok_or(Error::BadRequest(Problem::invalid("next", "next is what the page before answered")))?;
        // One more than the page shows, to know whether another page follows.
        let mut posts = select(tx, self.topic.as_deref(), &before, limit + 1)?;
        let next = answer::cut(&mut posts, limit)
            .map(|post| Cursor { date: post.date, id: post.id.clone() }.write());
        Ok(PostList { posts, next })
    }
}

struct Cursor {
    date: Timestamp,
    id: String,
}

impl Cursor {
    const NEWEST: Self = Self { date: Timestamp::MAX, id: String::new() };

    fn write(&self) -> String {
        format!("{}.{}", self.date.as_millis(), self.id)
    }

    fn parse(text: &str) -> Option<Self> {
        let (date, id) = text.split_once('.')?;
        let date = Timestamp::from_millis(date.parse().ok()?);
        Some(Self { date, id: ObjectId::parse(id)?.to_string() })
    }
}

/// A page of a topic is first searched among this number of newest posts, which suffice for a common topic.
const NEAR: i64 = 5_000;

fn select(
    tx: &mut dyn Tx,
    topic: Option<&str>,
    before: &Cursor,
    limit: i64,
) -> Result<Vec<Post>, StoreError> {
    if let Some(topic) = topic {
        return select_topic(tx, topic, before, limit, NEAR);
    }
    let sql = format!(
        "SELECT {} FROM post p JOIN post_stats s ON s.post = p.key
         WHERE (p.date, p.id) < ($1, $2) ORDER BY p.date DESC, p.id DESC LIMIT $3",
        Post::COLUMNS
    );
    let args = [before.date.into(), (&before.id).into(), limit.into()];
    tx.rows(&sql, &args)?.iter_mut().map(Post::take).collect()
}

/// Reads the `near` newest posts if they suffice, else all posts of the topic, whose number can be large.
fn select_topic(
    tx: &mut dyn Tx,
    topic: &str,
    before: &Cursor,
    limit: i64,
    near: i64,
) -> Result<Vec<Post>, StoreError> {
    // The inner query selects the page by short columns; the outer one reads only its posts completely.
    let sql = |posts: &str| {
        format!(
            "WITH page AS MATERIALIZED (
                 SELECT p.key FROM {posts} WHERE l.post = p.key AND l.name = $4 AND (p.date, p.id) < ($1, $2)
                 ORDER BY p.date DESC, p.id DESC LIMIT $3)
             SELECT {} FROM page JOIN post p ON p.key = page.key JOIN post_stats s ON s.post = p.key
             ORDER BY p.date DESC, p.id DESC",
            Post::COLUMNS
        )
    };
    let args = [before.date.into(), (&before.id).into(), limit.into(), topic.into(), Arg::from(near)];
    // SQLite reads the tables of a CROSS JOIN in the order in which they are written.
    let newest = "(SELECT key, date, id FROM post WHERE (date, id) < ($1, $2)
                   ORDER BY date DESC, id DESC LIMIT $5) p CROSS JOIN label l";
    let mut rows = tx.rows(&sql(newest), &args)?;
    if i64::try_from(rows.len()) != Ok(limit) {
        rows = tx.rows(&sql("label l CROSS JOIN post p"), &args[..4])?;
    }
    rows.iter_mut().map(Post::take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use crate::post::{Draft, Remove};
    use crate::testing::{self, Service, draft, service};

    fn publish(service: &Service, title: &str, date: &str, topic: &str) -> String {
        let (date, end_date) = (Some(date.into()), Some("2026-01-01".into()));
        let named = draft(title, format!("https://example.org/{title}")).with_topic(topic);
        testing::publish(service, Draft { date, end_date, ..named })
    }

    fn titles(service: &Service, query: &List) -> (Vec<String>, Option<String>) {
        let PostList { posts, next } = service.call(&Caller::Guest, query.clone()).unwrap();
        (posts.into_iter().map(|post| post.title).collect(), next)
    }

    #[test]
    fn posts_are_listed_newest_first_in_consecutive_pages() {
        let service = service();
        let days = ["2025-01-01", "2025-01-03", "2025-01-02", "2025-01-02"];
        let ids: Vec<_> = (0..4).map(|n| publish(&service, &format!("p{n}"), days[n], "news")).collect();
        let mut query = List { limit: Some(2), ..List::default() };
        let (first, next) = titles(&service, &query);
        assert_eq!(first, ["p1", "p3"], "with posts past their end date; of one date, the greater id first");
        // A removed and an inserted post do not move the others.
        service.call(&Caller::Operator, Remove { post_obi: ids[3].clone() }).unwrap();
        publish(&service, "p4", "2025-02-01", "news");
        query.next = next;
        assert_eq!(titles(&service, &query), (vec!["p2".into(), "p0".into()], None));
    }

    #[test]
    fn a_page_of_a_topic_does_not_depend_on_how_it_is_searched() {
        let service = service();
        for n in 0..12 {
            let topic = if n % 3 == 0 { "news" } else { "sport" };
            publish(&service, &format!("p{n}"), &format!("2025-01-{:02}", 1 + n * 7 % 12), topic);
        }
        let ids = |before: &Cursor, limit, near| {
            let posts = service.store().read(|tx| select_topic(tx, "news", before, limit, near)).unwrap();
            posts.into_iter().map(|post| (post.date, post.id)).collect::<Vec<_>>()
        };
        let all = ids(&Cursor::NEWEST, 9, 0);
        assert_eq!(all.len(), 4);
        assert!(all.is_sorted_by(|a, b| a > b));
        for (from, limit, near) in (0..4).flat_map(|from| (1..5).map(move |n| (from, n, n * 3 - 2))) {
            let (date, id) = all[from].clone();
            let most = usize::try_from(limit).unwrap();
            let expected: Vec<_> = all[from + 1..].iter().take(most).cloned().collect();
            assert_eq!(ids(&Cursor { date, id }, limit, near), expected, "{from} {limit} {near}");
        }
    }

    #[test]
    fn an_invalid_next_is_refused() {
        let service = service();
        for next in ["", "1", "1.x", "x.6560c1a2ffeeddccbbaa0001"] {
            let query = List { next: Some(next.into()), ..List::default() };
            assert!(matches!(service.call(&Caller::Guest, query), Err(Error::BadRequest(_))), "{next}");
        }
    }
}
