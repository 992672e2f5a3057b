//! The settings of newsfeeds and of learned words. Those that are skipped are for tests and benchmarks: they are no settings
//! of an operator.

use clap::{ArgAction, Args};

use super::value::{self, Invalid, within};

/// The ranking of the feeds. `newsfeed::signal` makes the scores.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Feeds")]
pub struct Feed {
    /// Number of the newest posts in the feeds. This bounds the memory of the feeds.
    #[arg(skip = 50_000_usize)]
    pub posts: usize,
    /// Days in which an act loses half its weight for the popular feed; without it 3, or what predicts the acts of the store
    /// better.
    #[arg(long = "popular-half-life", value_name = "DAYS")]
    pub popular_half_life_days: Option<f64>,
    /// The measurement of interest.
    #[command(flatten)]
    pub interest: Interest,
    /// Share of measured interest in the score of a post recommended to a member …
    #[arg(skip = 1.0_f64)]
    pub interest_weight: f64,
    /// … of how new it is to them …
    #[arg(skip = 0.2_f64)]
    pub novel_weight: f64,
    /// … of how recent it is among the posts of its topics …
    #[arg(skip = 0.45_f64)]
    pub recent_weight: f64,
    /// … of its similarity to the three nearest of the member's own posts …
    #[arg(skip = 0.1_f64)]
    pub near_weight: f64,
    /// … of what people did who liked or viewed the same posts …
    #[arg(skip = 0.5_f64)]
    pub together_weight: f64,
    /// … and of its popularity.
    #[arg(skip = 0.06_f64)]
    pub popular_weight: f64,
    /// Acts of a member since the publication of a post after which it is half as new to them.
    #[arg(skip = 3.0_f64)]
    pub novel_half_life_acts: f64,
    /// Later posts of its topic after which a post is half as recent, for a member who has acted since every other one …
    #[arg(skip = 2.0_f64)]
    pub recent_half_life_posts: f64,
    /// … and how many more posts it takes for each post of the topic since the member's last act; less after fewer than 50.
    #[arg(skip = 2.0_f64)]
    pub recent_half_life_growth: f64,
    /// Maximum number of ten consecutive recommended posts that share a topic, a source, or a site without a source, 1 to 10, as
    /// long as there are other posts. For a member with a larger share of acts on it, the limit is higher, up to 10. It also
    /// bounds the posts of a source in ten consecutive ones among the first 30 of the popular feed.
    #[arg(skip = 5_usize)]
    pub diverse_max: usize,
    /// Random noise in the score of a recommended post, 0 to 1, which changes every day.
    #[arg(long, value_name = "X", default_value = "0")]
    pub exploration: f64,
    /// Learn the weights of the recommended feed from the acts of the members. A weight that is 0 stays 0.
    #[arg(long, action = ArgAction::Set, value_parser = value::switch(), default_value = "on")]
    pub learn: bool,
}

/// The measurement of a member's interest from their acts.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct Interest {
    /// Acts that a member needs to get recommendations of their own; with fewer, they see those for guests.
    #[arg(long = "interest-min-acts", value_name = "N", default_value = "1")]
    pub min_acts: usize,
    /// Days after which the weight of an act has halved.
    #[arg(skip = 60.0_f64)]
    pub half_life_days: f64,
    /// Weight of a like …
    #[arg(skip = 3.0_f64)]
    pub like_weight: f64,
    /// … of a view …
    #[arg(skip = 1.0_f64)]
    pub view_weight: f64,
    /// … of a search …
    #[arg(skip = 2.0_f64)]
    pub search_weight: f64,
    /// … and of an opened topic feed.
    #[arg(skip = 1.0_f64)]
    pub open_weight: f64,
    /// Share of the topics in the similarity of two posts …
    #[arg(skip = 0.4_f64)]
    pub topic_share: f64,
    /// … of the tags …
    #[arg(skip = 0.2_f64)]
    pub tag_share: f64,
    /// … of the words …
    #[arg(skip = 0.2_f64)]
    pub word_share: f64,
    /// … and of the meaning of the words, by the word model.
    #[arg(skip = 0.2_f64)]
    pub meaning_share: f64,
}

pub use tidings_vectors::NEIGHBOURS_MAX as SIMILAR_MAX;

/// The settings of the word model. The module `words` documents the model.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Words")]
pub struct WordModel {
    /// Similar words of a token at most, up to 30.
    #[arg(long = "similar-words", value_name = "N", default_value = "10")]
    pub similar: usize,
    /// Similarity of a word at least, 0 to 1.
    #[arg(long = "similar-words-min", value_name = "X", default_value = "0.5")]
    pub similarity: f64,
    /// Share of posts that must have changed before words are learned again; 0 for never.
    #[arg(long = "words-retrain-after", value_name = "X", default_value = "0.1")]
    pub retrain_after: f64,
    /// Dimensions of the vectors; fewer if there are few words.
    #[arg(skip = 200_usize)]
    pub dimensions: usize,
    /// The number of words on each side of a word that are its context.
    #[arg(skip = 20_usize)]
    pub window: usize,
    /// Minimum number of posts that contain a word of the model; fewer if there are few posts.
    #[arg(skip = 5_u32)]
    pub min_posts: u32,
    /// Maximum number of words in the model, which are the most frequent ones.
    #[arg(skip = 100_000_usize)]
    pub vocabulary: usize,
    /// Maximum number of words of text for training, taken from the newest posts. This and `vocabulary` bound the memory of
    /// training.
    #[arg(skip = 10_000_000_usize)]
    pub corpus: usize,
    /// The seed of the training: the same posts and the same seed give the same vectors.
    #[arg(skip = 1_u64)]
    pub seed: u64,
}

impl Feed {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        within("popular-half-life", self.popular_half_life_days.unwrap_or(3.0), 0.001..=100_000.0)?;
        within("exploration", self.exploration, 0.0..=1.0)
    }
}

impl WordModel {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        within("similar-words", self.similar, 1..=SIMILAR_MAX)?;
        within("similar-words-min", self.similarity, 0.0..=1.0)?;
        within("words-retrain-after", self.retrain_after, 0.0..=1_000.0)
    }
}
