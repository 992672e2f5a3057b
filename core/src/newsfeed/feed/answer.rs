//! Encoded, because all guests share it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::post::{Post, PostSource};
use crate::record::answer::Ready;
use crate::record::id::ObjectId;
use crate::record::schema::Switch;

/// A post of a newsfeed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FeedPost {
    /// The post.
    #[serde(flatten)]
    pub post: Post,
    /// With `?liked=1`: 1 if the caller likes the post, otherwise 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Switch>)]
    pub liked: Option<i64>,
    /// With `?source=1`: the source that has brought the post, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source: Option<PostSource>,
    /// With `?similar=1`: the nearly identical posts, newest first, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, min_items = 1, max_items = 10)]
    pub similar: Option<Vec<SimilarPost>>,
    /// With `?why=1`: the reason why the post is in the newsfeed. It tells the caller's own acts and public facts only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub why: Option<Why>,
}

/// A post that tells the same story as another one: posts less than six days apart with many common words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SimilarPost {
    /// The id of the post.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The title of the post.
    #[schema(max_length = 300, examples("The sun goes dark over the lake"))]
    pub title: String,
    /// The address of the post.
    #[schema(format = "uri", max_length = 2_000, examples("https://paper.example.org/eclipse"))]
    pub url: String,
    /// The source that has brought the post, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source: Option<PostSource>,
}

/// The reason why a post is in a feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The reason in English, such as `new in Rust`. It tells the member's own acts and public facts only.
    #[schema(max_length = 100, examples("because you liked “An eclipse over the lake”"))]
    pub text: String,
    /// The share of each signal in the score of the post.
    pub shares: SignalShares,
}

/// The share of each signal in the score of a post, from 0 to 1 with three digits. The shares sum to 1, or are all 0 if the
/// post has no score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignalShares {
    /// The similarity to the topics of the member's acts.
    pub topic: f64,
    /// The similarity to the tags.
    pub tag: f64,
    /// The similarity to the words.
    pub word: f64,
    /// The similarity to the meaning of the words.
    pub meaning: f64,
    /// The similarity to the nearest posts that the member liked or viewed.
    pub near: f64,
    /// How new the post is to the member.
    pub novel: f64,
    /// How recent it is among the posts of its topic.
    pub recent: f64,
    /// How few posts of its topic have followed it, by their logarithm.
    pub age: f64,
    /// How popular it is.
    pub popular: f64,
    /// How many people who acted on the member's posts acted on it.
    pub together: f64,
}

/// A page of a newsfeed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Newsfeed)]
pub struct FeedPosts {
    /// The posts.
    pub newsfeed: Vec<FeedPost>,
    /// The `next` of the following page; `null` on the last page.
    #[schema(required = true, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<String>,
}

/// The encoded answer with a page of a newsfeed.
pub type Newsfeed = Ready<FeedPosts>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::newsfeed::{ListPopular, Paging};
    use crate::post::Draft;
    use crate::testing::{draft, publish, service};

    #[test]
    fn a_page_has_the_same_encoding_after_it_was_decoded() {
        let service = service();
        for number in 0..3 {
            let post = Some("The library opens a reading room in the \"old\" observatory.".into());
            let named = draft(format!("Post {number}"), format!("https://site-{number}.example/"));
            publish(&service, Draft { post, ..named.with_topic("대학 \"소식\"") });
        }
        let on = Some(1);
        let page = Paging { limit: Some(2), liked: on, why: on, similar: on, ..Paging::default() };
        let answer = service.call(&Caller::Guest, ListPopular { page, format: None }).unwrap();
        let posts = answer.fields();
        assert!(posts.newsfeed.iter().all(|post| post.why.is_some() && post.similar.is_some()));
        let again: Newsfeed = serde_json::from_slice(answer.encoded().json()).unwrap();
        assert_eq!(again.encoded().json(), answer.encoded().json());
    }
}
