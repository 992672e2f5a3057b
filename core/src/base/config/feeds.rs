//! The settings of newsfeeds and of learned words.

/// The ranking of the feeds. `newsfeed::ranking` documents the formulas.
#[derive(Clone, Debug)]
pub struct Feed {
    /// Number of the newest posts in the feeds. This bounds the memory of the feeds.
    pub posts: usize,
    /// Days after which the weight of an act in the popular feed has halved; `None` for 3 days until the acts of the store
    /// show that another half-life predicts better.
    pub popular_half_life_days: Option<f64>,
    /// The weight of a like in the popular feed, in views.
    pub like_weight: f64,
    /// The measurement of interest.
    pub interest: Interest,
    /// Share of measured interest in the score of a post recommended to a member …
    pub interest_weight: f64,
    /// … of how new it is to them …
    pub novel_weight: f64,
    /// … of how recent it is among the posts of its topics …
    pub recent_weight: f64,
    /// … of its similarity to the three nearest of the member's own posts …
    pub near_weight: f64,
    /// … of what people did who liked or viewed the same posts …
    pub together_weight: f64,
    /// … and of its popularity.
    pub popular_weight: f64,
    /// Acts of a member since the publication of a post after which it is half as new to them.
    pub novel_half_life_acts: f64,
    /// Later posts of its topic after which a post is half as recent, for a member who has acted since every other one …
    pub recent_half_life_posts: f64,
    /// … and how many more posts it takes for each post of the topic since the member's last act; less after fewer than 50.
    pub recent_half_life_growth: f64,
    /// Maximum number of ten consecutive recommended posts that share a topic, a source, or a site without a source, 1 to 10, as
    /// long as there are other posts. For a member with a larger share of acts on it, the limit is higher, up to 10. It also
    /// bounds the posts of a source in ten consecutive ones among the first 30 of the popular feed.
    pub diverse_max: usize,
    /// Random noise in the score of a recommended post, 0 (none) to 1, which makes the feed explore. It changes every day.
    pub exploration: f64,
    /// Whether a service learns the weights of the recommended feed from the acts of its members. The weights above are then
    /// those that are expected before the acts show others; one that is 0 stays 0.
    pub learn: bool,
}

/// The measurement of a member's interest from their acts.
#[derive(Clone, Debug)]
pub struct Interest {
    /// Minimum number of acts for a member's own recommendations; with fewer, they see the recommendations for guests.
    pub min_acts: usize,
    /// Days after which the weight of an act has halved.
    pub half_life_days: f64,
    /// Weight of a like …
    pub like_weight: f64,
    /// … of a view …
    pub view_weight: f64,
    /// … of a search …
    pub search_weight: f64,
    /// … and of an opened topic feed.
    pub open_weight: f64,
    /// Share of the topics in the similarity of two posts …
    pub topic_share: f64,
    /// … of the tags …
    pub tag_share: f64,
    /// … of the words …
    pub word_share: f64,
    /// … and of the meaning of the words, by the word model.
    pub meaning_share: f64,
}

pub use tidings_vectors::NEIGHBOURS_MAX as SIMILAR_MAX;

/// The settings of the word model. The module `words` documents the model.
#[derive(Clone, Debug)]
pub struct WordModel {
    /// Maximum number of similar words in an answer, up to [`SIMILAR_MAX`].
    pub similar: usize,
    /// Minimum similarity of a word in an answer, 0 to 1.
    pub similarity: f64,
    /// The share of posts that must have changed before the model is trained again; 0 means never automatically.
    pub retrain_after: f64,
    /// Dimensions of the vectors; fewer if there are few words.
    pub dimensions: usize,
    /// The number of words on each side of a word that are its context.
    pub window: usize,
    /// Minimum number of posts that contain a word of the model; fewer if there are few posts.
    pub min_posts: u32,
    /// Maximum number of words in the model, which are the most frequent ones.
    pub vocabulary: usize,
    /// Maximum number of words of text for training, taken from the newest posts. This and `vocabulary` bound the memory of
    /// training.
    pub corpus: usize,
    /// The seed of the training: the same posts and the same seed give the same vectors.
    pub seed: u64,
}

impl Default for WordModel {
    fn default() -> Self {
        Self {
            similar: 10,
            similarity: 0.5,
            retrain_after: 0.1,
            dimensions: 200,
            window: 20,
            min_posts: 5,
            vocabulary: 100_000,
            corpus: 10_000_000,
            seed: 1,
        }
    }
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            posts: 50_000,
            popular_half_life_days: None,
            like_weight: 3.0,
            interest: Interest::default(),
            interest_weight: 1.0,
            novel_weight: 0.2,
            recent_weight: 0.45,
            near_weight: 0.1,
            together_weight: 0.5,
            popular_weight: 0.06,
            novel_half_life_acts: 3.0,
            recent_half_life_posts: 2.0,
            recent_half_life_growth: 2.0,
            diverse_max: 5,
            exploration: 0.0,
            learn: true,
        }
    }
}

impl Default for Interest {
    fn default() -> Self {
        Self {
            min_acts: 1,
            half_life_days: 60.0,
            like_weight: 3.0,
            view_weight: 1.0,
            search_weight: 2.0,
            open_weight: 1.0,
            topic_share: 0.4,
            tag_share: 0.2,
            word_share: 0.2,
            meaning_share: 0.2,
        }
    }
}
