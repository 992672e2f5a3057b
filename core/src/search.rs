//! Searches for posts and sites, and recorded searches. A post ranks higher the more of the words it has and the rarer they are;
//! corrections, compounds and similar words are searched as well. Searching records nothing; [`log`] records a search.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::text;
use crate::post::Post;
use crate::record::error::{Error, Problem, Result};
pub use crate::words::SEARCH;
use crate::words::SEARCH_RULE;

mod operations;
mod paging;
mod record;
mod snippet;
mod terms;

pub use operations::{Find, FindInCategory, FindSites, ListRecent, Log, PostPage, SitePage};
pub use paging::RESULTS_MAX;
pub use record::{LatelySearches, log};
pub(crate) use record::{ListedSearch, Search};
pub use snippet::SnippetPart;

/// The maximum number of results of a search, and of search records in a list.
pub const NUM_MAX: i64 = 300;

const SITES: i64 = 50;

const NUM_RULE: Problem = Problem::invalid("num", "num is 1 to 300");

/// A post that a search found.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PostHit {
    /// The post.
    #[serde(flatten)]
    pub post: Post,
    /// How well the post matches, above 0 and below 1.
    #[schema(exclusive_minimum = 0, exclusive_maximum = 1, examples(0.83))]
    pub similarity: f64,
    /// If snippets were asked for: the part of the text with the words that the search has found; empty if the post has no
    /// text. The title is not part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub snippet: Option<Vec<SnippetPart>>,
}

/// The answer to a search.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchResult {
    /// The posts, best match first.
    pub search_result: Vec<PostHit>,
    /// If a page was asked for: the text that continues the search; `null` on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<Option<String>>,
}

/// A web site with posts that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Domain {
    /// The host of the site.
    #[schema(max_length = 300, examples("news.example.org"))]
    pub title: String,
    /// The address of the site.
    #[schema(format = "uri", max_length = 2_000, examples("https://news.example.org/eclipse"))]
    pub url: String,
    /// The title of the best match, followed by the number of further matches, if there are any.
    #[schema(max_length = 100_000, examples("7 posts, the best: An eclipse over the lake"))]
    pub post: String,
}

/// The answer to a search for sites.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Domains {
    /// The sites, at most 50, the one with the most matches first.
    pub search_result: Vec<Domain>,
    /// If a page was asked for: the text that continues the search; `null` on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<Option<String>>,
}

fn checked(search: &str) -> Result<String> {
    text::block(search, SEARCH).ok_or(Error::BadRequest(SEARCH_RULE))
}

fn checked_num(num: i64) -> Result<i64> {
    (1..=NUM_MAX).contains(&num).then_some(num).ok_or(Error::BadRequest(NUM_RULE))
}

fn similarity(relevance: f64) -> f64 {
    relevance / (1.0 + relevance)
}

#[cfg(test)]
mod tests;
