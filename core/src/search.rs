//! Searches for posts and sites, and recorded searches.
//!
//! A search finds the posts that have at least one of its words. A post ranks higher the more of the words it has and
//! the rarer they are ([`crate::post`] maintains the index). A word that no post contains counts as its most probable
//! correction. Compounds written as one word or as several, and similar
//! words ([`crate::words`]), are searched as well and count less. Searching records nothing; [`log`] records a search.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::error::{Error, Problem, Result};
use crate::post::index::{self, Query, Terms};
use crate::post::{Post, texts};
use crate::store::StoreError;
use crate::text;
pub use crate::words::SEARCH;
use crate::words::SEARCH_RULE;
use paging::Page;

mod operations;
mod paging;
mod record;
mod snippet;
mod terms;

pub use operations::{Find, FindInCategory, FindSites, ListRecent, Log, PostPage, SitePage};
pub use paging::{Paging, RESULTS_MAX};
pub use record::{LatelySearches, lately, log};
pub(crate) use record::{ListedSearch, Search};
pub use snippet::SnippetPart;

/// The maximum number of results of a search, and of search records in a list.
pub const NUM_MAX: i64 = 300;

/// The maximum number of sites in an answer.
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

/// Returns the posts that match a search best, at most `num` (1 to 300), without posts past their end date.
///
/// The similarity of a post with the BM25 relevance `s` is `s / (1 + s)`. It grows with the relevance, so it compares
/// results of the same search, but not results of different searches.
///
/// # Errors
/// `bad request` if the search or `num` breaks its rule; `overloaded` if the search takes longer than the settings
/// allow.
pub fn run(tidings: &Tidings, search: &str, num: i64) -> Result<SearchResult> {
    page(tidings, search, None, num, Paging::Off, false)
}

/// Searches like [`run`], only among the posts that have the topic or tag `category`.
///
/// # Errors
/// As for [`run`].
pub fn in_category(tidings: &Tidings, category: &str, search: &str, num: i64) -> Result<SearchResult> {
    page(tidings, search, Some(category), num, Paging::Off, false)
}

/// Searches like [`run`], or like [`in_category`] with a category, for a page of `num` posts (1 to 300). The pages together
/// have the best [`RESULTS_MAX`] posts. Posts that are inserted or removed meanwhile move the others. With `snippets`, each
/// post has a snippet, which is taken from the first 20,000 characters of its text.
///
/// # Errors
/// As for [`run`]; `bad request` for a `next` that is not from a page of the same search.
pub fn page(
    tidings: &Tidings,
    search: &str,
    category: Option<&str>,
    num: i64,
    paging: Paging<'_>,
    snippets: bool,
) -> Result<SearchResult> {
    let (search, num) = (checked(search)?, checked_num(num)?);
    let category = category.map(tidings_text::compose);
    let page = Page::of(paging, &search, category.as_deref(), num)?;
    let terms = terms::terms(tidings, &search)?;
    let Some(query) = Query::new(&terms, tidings.search_cache()) else {
        let next = page.cut(&mut Vec::<PostHit>::new());
        return Ok(SearchResult { search_result: Vec::new(), next });
    };
    let limit = tidings.config().query_timeout;
    let (found, texts, next) =
        tidings.store().read_stale(Some(limit), tidings.posts_changed().get(), |tx| {
            let mut found = index::find(tx, &query, category.as_deref(), tidings.now(), page.needed())?;
            let next = page.cut(&mut found);
            let ids = found.iter().map(|(post, _)| post.id.as_str()).filter(|_| snippets);
            let texts = texts::beginnings(tx, ids, snippet::SEARCHED)?;
            Ok::<_, StoreError>((found, texts, next))
        })?;
    let mut snippets = texts.iter().map(|text| snippet::snippet(text, &terms));
    let hit =
        |(post, relevance)| PostHit { post, similarity: similarity(relevance), snippet: snippets.next() };
    Ok(SearchResult { search_result: found.into_iter().map(hit).collect(), next })
}

/// Returns the web sites whose posts match a search, the one with the most matches first.
///
/// # Errors
/// `bad request` if the search breaks its rule; `overloaded` as for [`run`].
pub fn domains(tidings: &Tidings, search: &str) -> Result<Domains> {
    domains_page(tidings, search, Paging::Off)
}

/// Searches like [`domains`] for a page of sites.
///
/// # Errors
/// As for [`domains`]; `bad request` for a `next` that is not from a page of the same search.
pub fn domains_page(tidings: &Tidings, search: &str, paging: Paging<'_>) -> Result<Domains> {
    let search = checked(search)?;
    let page = Page::of(paging, &search, None, SITES)?;
    let terms = Terms { words: terms::words(tidings, &search)?, ..Terms::default() };
    let Some(query) = Query::new(&terms, tidings.search_cache()) else {
        let next = page.cut(&mut Vec::<Domain>::new());
        return Ok(Domains { search_result: Vec::new(), next });
    };
    let limit = tidings.config().query_timeout;
    let mut sites = tidings.store().read_stale(Some(limit), tidings.posts_changed().get(), |tx| {
        index::sites(tx, &query, tidings.now(), page.needed())
    })?;
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
    let next = page.cut(&mut sites);
    Ok(Domains { search_result: sites.into_iter().map(domain).collect(), next })
}

fn checked(search: &str) -> Result<String> {
    text::block(search, SEARCH).ok_or(Error::BadRequest(SEARCH_RULE))
}

fn checked_num(num: i64) -> Result<i64> {
    (1..=NUM_MAX).contains(&num).then_some(num).ok_or(Error::BadRequest(NUM_RULE))
}

/// Converts a relevance above 0 to a similarity above 0 and below 1.
fn similarity(relevance: f64) -> f64 {
    relevance / (1.0 + relevance)
}

#[cfg(test)]
mod tests;
