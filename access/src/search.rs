//! Searches.

use serde::Serialize;
use tidings_core::search::{self, Domains, LatelySearches, Paging, SearchResult};
use tidings_core::words::{self, SimilarityWords};

use crate::Service;
use crate::error::Result;

#[derive(Serialize)]
struct Form<'a> {
    search: &'a str,
}

impl Service {
    /// Returns the posts that match a search best, at most `limit`, of a category if one is named.
    ///
    /// # Errors
    /// Those of [`search::page`].
    pub fn search(
        &self,
        text: &str,
        category: Option<&str>,
        limit: i64,
        snippets: bool,
    ) -> Result<SearchResult> {
        self.run(
            |tidings, _| search::page(tidings, text, category, limit, Paging::Off, snippets),
            |server| {
                let (server, limit) = (server.as_reader(), limit.to_string());
                let query = [("snippets", snippets.then(|| "1".to_owned()))];
                let path = match category {
                    Some(category) => &["category_search", category, &limit][..],
                    None => &["priority_search", &limit],
                };
                server.post_with(path, &query, &Form { search: text })
            },
        )
    }

    /// Returns the web sites whose posts match a search, most matches first.
    ///
    /// # Errors
    /// Those of [`search::domains`].
    pub fn search_sites(&self, text: &str) -> Result<Domains> {
        self.run(
            |tidings, _| search::domains(tidings, text),
            |server| server.as_reader().post(&["domain_search"], &Form { search: text }),
        )
    }

    /// Records a search by the acting member, or by a guest.
    ///
    /// # Errors
    /// Those of [`search::log`].
    pub fn log_search(&self, text: &str) -> Result<()> {
        self.run(
            |tidings, caller| search::log(tidings, caller, None, text).wait(),
            |server| server.as_reader().posted(&["search_logging"], &Form { search: text }),
        )
    }

    /// Returns the words that are similar to those of a text.
    ///
    /// # Errors
    /// Those of [`words::similar`].
    pub fn similar_words(&self, text: &str) -> Result<SimilarityWords> {
        self.run(
            |tidings, _| words::similar(tidings, text),
            |server| server.as_reader().post(&["get_similarity_words"], &Form { search: text }),
        )
    }

    /// Returns the searches of the acting member, newest first.
    ///
    /// # Errors
    /// Those of [`search::lately`].
    pub fn recent_searches(&self, limit: i64) -> Result<LatelySearches> {
        self.run(
            |tidings, caller| search::lately(tidings, caller, limit),
            |server| server.get(&["get_user_lately_search", &limit.to_string()], &[]),
        )
    }
}
