//! The settings of the feeds: the few that an operator can judge, and those of the ranking, which `tidings` learns by itself.

use super::ANY;
use crate::base::config::Config;
use crate::base::config::setting::field;
use crate::base::config::setting::{Form, Setting};

const HALF_LIFE: Form = Form::Number(0.001, 100_000.0);
const HALF_LIFE_COUNT: Form = Form::Number(0.001, 1_000_000_000.0);
const WEIGHT: Form = Form::Number(0.0, 1_000.0);

pub(super) const SETTINGS: &[Setting<Config>] = &[
    Setting::new(
        "feed-posts",
        Form::Whole(1, 10_000_000),
        field!(Config, feed.posts),
        "The newest posts that feeds are made of",
    ),
    Setting::new(
        "popular-half-life",
        HALF_LIFE,
        field!(Config, feed.popular_half_life_days),
        "Days in which an act loses half its weight for the popular feed",
    )
    .takes("DAYS")
    .unset("auto: 3, or what predicts better"),
    Setting::new(
        "popular-like-weight",
        WEIGHT,
        field!(Config, feed.like_weight),
        "Views that a like weighs for the popular feed",
    ),
    Setting::new(
        "diverse-max",
        Form::Whole(1, 10),
        field!(Config, feed.diverse_max),
        "Of ten recommended posts in a row, how many may share a topic, a source or a site; of ten in a row among the first 30 \
         popular ones, a source",
    ),
    Setting::new(
        "exploration",
        Form::Number(0.0, 1.0),
        field!(Config, feed.exploration),
        "Random noise in the score of a recommended post, {min} to {max}",
    ),
    Setting::new(
        "learn",
        Form::Switch,
        field!(Config, feed.learn),
        "Learn the weights of the recommended feed from the acts of the members",
    ),
    Setting::new(
        "interest-min-acts",
        Form::Whole(0, ANY),
        field!(Config, feed.interest.min_acts),
        "Acts that a member needs to get recommendations of their own",
    ),
];

/// Their names and meanings may change with the ranking.
pub(super) const EXPERIMENTAL: &[Setting<Config>] = &[
    Setting::new(
        "interest-weight",
        WEIGHT,
        field!(Config, feed.interest_weight),
        "Share of interest in the score of a post recommended to a member",
    ),
    Setting::new(
        "novel-weight",
        WEIGHT,
        field!(Config, feed.novel_weight),
        "Share of how new it is to the member in the score of a recommended post",
    ),
    Setting::new(
        "novel-half-life",
        HALF_LIFE_COUNT,
        field!(Config, feed.novel_half_life_acts),
        "Acts of the member since a post was published after which it is half as new to them",
    )
    .takes("ACTS"),
    Setting::new(
        "recent-weight",
        WEIGHT,
        field!(Config, feed.recent_weight),
        "Share of how recent it is in its topics in the score of a recommended post",
    ),
    Setting::new(
        "recent-half-life",
        HALF_LIFE_COUNT,
        field!(Config, feed.recent_half_life_posts),
        "Later posts of its topic after which a post is half as recent for a member who follows every post",
    )
    .takes("POSTS"),
    Setting::new(
        "recent-half-life-growth",
        WEIGHT,
        field!(Config, feed.recent_half_life_growth),
        "Posts by which that grows with each post of the topic since the member's last act; less after fewer than 50 posts",
    )
    .takes("POSTS"),
    Setting::new(
        "near-weight",
        WEIGHT,
        field!(Config, feed.near_weight),
        "Share of similarity to the nearest of the member's own posts in the score of a recommended post",
    ),
    Setting::new(
        "together-weight",
        WEIGHT,
        field!(Config, feed.together_weight),
        "Share of what people did who liked or viewed the same posts in the score of a recommended post",
    ),
    Setting::new(
        "popular-weight",
        WEIGHT,
        field!(Config, feed.popular_weight),
        "Share of popularity in the score of a recommended post",
    ),
    Setting::new(
        "interest-half-life",
        HALF_LIFE,
        field!(Config, feed.interest.half_life_days),
        "Days in which an act loses half its weight for interest",
    )
    .takes("DAYS"),
    Setting::new(
        "interest-like-weight",
        WEIGHT,
        field!(Config, feed.interest.like_weight),
        "Weight of a like for interest",
    ),
    Setting::new(
        "interest-view-weight",
        WEIGHT,
        field!(Config, feed.interest.view_weight),
        "Weight of a view for interest",
    ),
    Setting::new(
        "interest-search-weight",
        WEIGHT,
        field!(Config, feed.interest.search_weight),
        "Weight of a search for interest",
    ),
    Setting::new(
        "interest-open-weight",
        WEIGHT,
        field!(Config, feed.interest.open_weight),
        "Weight of an opened topic feed for interest",
    ),
    Setting::new(
        "interest-topic-share",
        WEIGHT,
        field!(Config, feed.interest.topic_share),
        "Share of topics in the similarity of posts",
    ),
    Setting::new(
        "interest-tag-share",
        WEIGHT,
        field!(Config, feed.interest.tag_share),
        "Share of tags in the similarity of posts",
    ),
    Setting::new(
        "interest-word-share",
        WEIGHT,
        field!(Config, feed.interest.word_share),
        "Share of words in the similarity of posts",
    ),
    Setting::new(
        "interest-meaning-share",
        WEIGHT,
        field!(Config, feed.interest.meaning_share),
        "Share of the words' meaning, by the word model, in the similarity of posts",
    ),
];
