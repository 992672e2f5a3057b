//! Newsfeeds: popular posts, posts of a topic, and posts recommended to a member, from an index of the newest posts in memory.
//! The `next` of a page continues the order of the first page, so pages neither repeat nor skip a post while ranks change.

mod feed;
mod index;
mod index_cache;
mod learn;
mod signal;
mod stored;

#[cfg(feature = "fuzzing")]
pub(crate) use feed::order::rewritten;
pub(crate) use feed::{opened_at, start};
pub(crate) use index_cache::Feeds;
pub(crate) use learn::learner::learn_from_import;

pub use feed::{
    FeedEntry, FeedPage, FeedPost, FeedPosts, LIMIT, LIMIT_MAX, ListPopular, ListRecommended, ListSource,
    ListTopic, ListTopicV1, More, Newsfeed, Page, Paging, Reasons, SignalShares, SimilarPost, Why, entries,
    has_own_likes, likes, of_source, popular, recommended, similar, sources, topic, why, with_own_likes,
};
pub use learn::Learned;
#[cfg(feature = "evaluation")]
pub use learn::evaluation;
pub use learn::learner::learn;
pub use learn::weights::{FeedWeights, GetWeights, LearnWeights};
pub use signal::popularity::{LearnedPopularity, PopularityInUse, TriedHalfLife};
pub use signal::{SignalWeights, Weights};
