//! Search over posts, and what was searched.
//!
//! A post is found when it has a word of the search, and is the better the more of them it has and the rarer
//! they are ([`crate::post`] keeps the index). Words that the posts use like those of the search ([`crate::words`])
//! are looked for as well, and count less. Searching records nothing; [`log`] does.

use serde::Serialize;
use tidings_text::tokens;

use crate::Tidings;
use crate::error::{Error, Result};
use crate::post::Post;
use crate::post::index::{self, Query};
use crate::text;
pub use crate::words::SEARCH;
use crate::words::{self, SEARCH_RULE};

mod record;

pub use record::{LatelySearches, lately, log};
pub(crate) use record::{ListedSearch, Search};

/// The most results of a search, and the most search records, that can be asked for.
pub const NUM_MAX: i64 = 300;

/// The most similar words that are looked for with each token, and in all.
const SIMILAR: usize = 3;
const SIMILAR_ALL: usize = 8;

const NUM_RULE: &str = "num is 1 to 300";

/// A post that was found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PostHit {
    /// The post.
    #[serde(flatten)]
    pub post: Post,
    /// How well it matches, above 0 and below 1.
    pub similarity: f64,
}

/// What a search answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchResult {
    /// The posts that were found, the best first.
    pub search_result: Vec<PostHit>,
}

/// A web site whose posts were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Domain {
    /// Its host.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A line about it: the title of its best match, and how many more there are.
    pub post: String,
}

/// What a search for sites answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Domains {
    /// The sites, at most 50, the one with most matches first.
    pub search_result: Vec<Domain>,
}

/// The posts that match a search best, at most `num` (1 to 300). None that is past its end.
///
/// Of a post of relevance `s`, which is BM25, the similarity is `s / (1 + s)`: it grows with the relevance, and
/// of two results of one search it says which is the better, not of two searches.
///
/// # Errors
/// `bad request` when the search or `num` breaks its rule; `overloaded` when it takes longer than the settings allow.
pub fn run(tidings: &Tidings, search: &str, num: i64) -> Result<SearchResult> {
    find(tidings, search, None, num)
}

/// As [`run`], among the posts that have the topic or tag `category`.
///
/// # Errors
/// As [`run`].
pub fn in_category(tidings: &Tidings, category: &str, search: &str, num: i64) -> Result<SearchResult> {
    find(tidings, search, Some(&tidings_text::compose(category)), num)
}

fn find(tidings: &Tidings, search: &str, category: Option<&str>, num: i64) -> Result<SearchResult> {
    let (search, num) = (checked(search)?, checked_num(num)?);
    let tokens = tokens::distinct(tokens::tokens(&search));
    let query = Query::new(&tokens, &similar_words(tidings, &tokens));
    let Some(query) = query else { return Ok(SearchResult { search_result: Vec::new() }) };
    let limit = tidings.config().query_timeout;
    let found =
        tidings.store().read_within(limit, |tx| index::find(tx, &query, category, tidings.now(), num))?;
    let hit = |(post, relevance)| PostHit { post, similarity: similarity(relevance) };
    Ok(SearchResult { search_result: found.into_iter().map(hit).collect() })
}

/// The web sites whose posts match a search, the one with most matches first.
///
/// # Errors
/// `bad request` when the search breaks its rule; `overloaded` as [`run`].
pub fn domains(tidings: &Tidings, search: &str) -> Result<Domains> {
    let tokens = tokens::distinct(tokens::tokens(&checked(search)?));
    let Some(query) = Query::new(&tokens, &[]) else { return Ok(Domains { search_result: Vec::new() }) };
    let limit = tidings.config().query_timeout;
    let sites = tidings.store().read_within(limit, |tx| index::sites(tx, &query, tidings.now()))?;
    let domain = |site: index::Site| {
        let scheme = if site.newest.get(..6).is_some_and(|s| s.eq_ignore_ascii_case("https:")) {
            "https"
        } else {
            "http"
        };
        Domain {
            url: format!("{scheme}://{}/", site.host),
            post: match site.posts - 1 {
                0 => site.best,
                more => format!("{} (+{more})", site.best),
            },
            title: site.host,
        }
    };
    Ok(Domains { search_result: sites.into_iter().map(domain).collect() })
}

fn checked(search: &str) -> Result<String> {
    text::block(search, SEARCH).ok_or(Error::BadRequest(SEARCH_RULE))
}

fn checked_num(num: i64) -> Result<i64> {
    (1..=NUM_MAX).contains(&num).then_some(num).ok_or(Error::BadRequest(NUM_RULE))
}

/// The similar words that are looked for with distinct tokens: some of each, none that is among these.
fn similar_words(tidings: &Tidings, tokens: &[String]) -> Vec<String> {
    let mut similar: Vec<String> = Vec::new();
    for token in tokens {
        if similar.len() == SIMILAR_ALL {
            break;
        }
        for word in words::similar_to(tidings, token, SIMILAR) {
            let word = word.word.to_string();
            if similar.len() < SIMILAR_ALL && !tokens.contains(&word) && !similar.contains(&word) {
                similar.push(word);
            }
        }
    }
    similar
}

/// A relevance above 0 as a number above 0 and below 1.
fn similarity(relevance: f64) -> f64 {
    relevance / (1.0 + relevance)
}

#[cfg(test)]
mod tests;
