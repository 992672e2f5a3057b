use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::paging::Page;
use super::{
    Domain, Domains, LatelySearches, PostHit, SITES, SearchResult, checked, checked_num, similarity, snippet,
    terms,
};
use crate::account::Call;
use crate::analysis::Guest;
use crate::post::index::{self, LatestTerms, Query, SIMILAR_WEIGHT, Terms};
use crate::post::{Post, texts};
use crate::profile::Listed;
use crate::record::activation::is_on;
use crate::record::answer::{self, Encoded, Ready};
use crate::record::error::{Error, Pending, Problem, Result};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};
use crate::record::schema::Switch;
use crate::store::{QUERY_TIMEOUT, StoreError, Tx};
use crate::{Caller, Tidings};

const GROUP: &str = "search";

const fn searches(path: &'static str) -> Spec {
    Spec::post(GROUP, path, Access::Open).reads().works(Work::Query).limited(Rate::Search)
}

/// Record a search
///
/// A member's search is also added to the member's list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SearchFields)]
pub struct Log {
    /// {search} characters.
    #[schema(examples("eclipse"))]
    pub search: String,
}

impl Operation for Log {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/search_logging", Access::Anyone).works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<()> {
        super::log(call.tidings(), call.caller(), Guest::of(call), &self.search).wait()
    }

    /// Finding words similar to a member's search takes long.
    fn start(self, call: &Call<'_>) -> Result<Pending<()>, Self> {
        if !matches!(call.caller(), Caller::Guest) {
            return Err(self);
        }
        Ok(super::log(call.tidings(), call.caller(), Guest::of(call), &self.search))
    }
}

/// Which page of the posts is found, and whether with snippets.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PostPage {
    /// 1: the answer has `next`, which continues the search.
    #[schema(value_type = Option<Switch>)]
    pub paged: Option<i64>,
    /// The `next` of the previous page. The pages together have the best 3,000 results.
    #[schema(min_length = 1, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<String>,
    /// 1: each post has `snippet`, in which the words found are marked.
    #[schema(value_type = Option<Switch>)]
    pub snippets: Option<i64>,
}

impl PostPage {
    /// Searches for posts, without those past their end date, with a `category` only among the posts that have this topic or tag.
    /// The similarity of a post with the BM25 relevance `s` is `s / (1 + s)`. It grows with the relevance, so it compares results
    /// of the same search, but not results of different searches.
    fn find(
        &self,
        tidings: &Tidings,
        search: &str,
        category: Option<&str>,
        num: i64,
    ) -> Result<SearchResult> {
        let paging = paging(self.paged, self.next.as_deref())?;
        let snippets = is_on(self.snippets, Problem::invalid("snippets", "snippets is 0 or 1"))?;
        let (search, num) = (checked(search)?, checked_num(num)?);
        let category = category.map(tidings_tokens::compose);
        let page = Page::of(paging, &search, category.as_deref(), num)?;
        let (mut terms, known) = terms::terms(tidings, &search)?;
        let latest = tidings.post().term_frequencies.latest()?;
        let (found, texts, next) = tidings.store().read_within(QUERY_TIMEOUT, |tx| {
            let terms = (&mut terms, &*known);
            let mut found = best(tidings, tx, &latest, terms, category.as_deref(), page.needed())?;
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
}

/// Returns at most `num` posts. If posts have all words of the search and these find fewer, adds the similar words to `terms`,
/// and posts that only these find after all others.
fn best(
    tidings: &Tidings,
    tx: &mut dyn Tx,
    latest: &LatestTerms,
    (terms, known): (&mut Terms, &[bool]),
    category: Option<&str>,
    num: usize,
) -> Result<Vec<(Post, f64)>, StoreError> {
    let now = tidings.now();
    let mut find = |terms: &Terms| {
        let query = Query::new(terms, latest);
        query.map_or_else(|| Ok(Vec::new()), |query| index::find(tx, &query, category, now, num))
    };
    let mut found = find(terms)?;
    let left = num.saturating_sub(found.len());
    if left > 0 && !known.contains(&false) {
        terms::add_similar(tidings, terms, known);
        let similar = find(&Terms { words: terms.similar.clone(), ..Terms::default() })?;
        let ids: HashSet<&str> = found.iter().map(|(post, _)| post.id.as_str()).collect();
        let least = found.last().map_or(f64::INFINITY, |(_, relevance)| *relevance);
        let others = similar.into_iter().filter(|(post, _)| !ids.contains(post.id.as_str()));
        let others = others.map(|(post, relevance)| (post, least.min(relevance * SIMILAR_WEIGHT)));
        let others: Vec<_> = others.take(left).collect();
        found.extend(others);
    }
    Ok(found)
}

/// Which page of the web sites is found.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SitePage {
    /// 1: the answer has `next`, which continues the search.
    #[schema(value_type = Option<Switch>)]
    pub paged: Option<i64>,
    /// The `next` of the previous page. The pages together have the best 3,000 results.
    #[schema(min_length = 1, max_length = 1_000, examples("AAAAAAAAAAEAAAAAAAAAlg"))]
    pub next: Option<String>,
}

fn paging(paged: Option<i64>, next: Option<&str>) -> Result<(bool, Option<&str>)> {
    Ok((is_on(paged, Problem::invalid("paged", "paged is 0 or 1"))?, next))
}

/// Search posts
///
/// Returns the best matches first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SearchFields)]
pub struct Find {
    /// The maximum number, {num}
    #[schema(examples(20))]
    pub num: i64,
    /// {search} characters.
    #[schema(examples("eclipse"))]
    pub search: String,
    /// The page.
    #[serde(rename = "?")]
    pub page: PostPage,
}

impl Operation for Find {
    type Answer = SearchResult;
    const SPEC: Spec = searches("/priority_search/{num}");

    fn run(self, call: &Call<'_>) -> Result<SearchResult> {
        self.page.find(call.tidings(), &self.search, None, self.num)
    }
}

/// Search a category
///
/// Returns the best matches first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SearchFields)]
pub struct FindInCategory {
    /// A topic or a tag
    #[schema(min_length = 1, examples("science"))]
    pub category_name: String,
    /// The maximum number, {num}
    #[schema(examples(20))]
    pub num: i64,
    /// {search} characters.
    #[schema(examples("eclipse"))]
    pub search: String,
    /// The page.
    #[serde(rename = "?")]
    pub page: PostPage,
}

impl Operation for FindInCategory {
    type Answer = SearchResult;
    const SPEC: Spec = searches("/category_search/{category_name}/{num}");

    fn run(self, call: &Call<'_>) -> Result<SearchResult> {
        self.page.find(call.tidings(), &self.search, Some(&self.category_name), self.num)
    }
}

/// Search web sites
///
/// Returns the web sites of matching posts, the site with the most matches first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SearchFields)]
pub struct FindSites {
    /// {search} characters.
    #[schema(examples("eclipse"))]
    pub search: String,
    /// The page.
    #[serde(rename = "?")]
    pub page: SitePage,
}

impl Operation for FindSites {
    type Answer = Domains;
    const SPEC: Spec = searches("/domain_search");

    fn run(self, call: &Call<'_>) -> Result<Domains> {
        let paging = paging(self.page.paged, self.page.next.as_deref())?;
        let search = checked(&self.search)?;
        let page = Page::of(paging, &search, None, SITES)?;
        let terms = Terms { words: terms::words(call.tidings(), &search)?, ..Terms::default() };
        let Some(query) = Query::new(&terms, &*call.tidings().post().term_frequencies.latest()?) else {
            let next = page.cut(&mut Vec::<Domain>::new());
            return Ok(Domains { search_result: Vec::new(), next });
        };
        let mut sites = call
            .tidings()
            .store()
            .read_within(QUERY_TIMEOUT, |tx| index::sites(tx, &query, call.now(), page.needed()))?;
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
}

/// List the member's recent searches
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListRecent {
    /// The maximum number, {num}
    #[schema(examples(20))]
    pub num: i64,
}

impl Operation for ListRecent {
    type Answer = Ready<LatelySearches>;
    const SPEC: Spec = Spec::get(GROUP, "/get_user_lately_search/{num}", Access::Members).tagged();

    fn run(self, call: &Call<'_>) -> Result<Ready<LatelySearches>> {
        let identity = call.authority();
        let frame = answer::success(&LatelySearches { lately_search_list: Vec::new() });
        call.store().read(|tx| {
            let member = identity.member(tx)?;
            let list = [Listed::LatelySearched(checked_num(self.num)?)];
            Ok::<_, Error>(Ready::new(call.tidings().profile().lists.of_member(tx, &member, frame, &list)?))
        })
    }

    fn shared(answer: &Ready<LatelySearches>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}
