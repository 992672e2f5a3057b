//! Records searches. [`history`] stores and lists those of a member.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidings_tokens::tokens;
use utoipa::ToSchema;

use super::checked;
use super::terms::similar_words;

use crate::Tidings;
use crate::account::{Caller, Member};
use crate::analysis::Guest;
use crate::analysis::counters::Counter;
use crate::analysis::visitor::VisitorNumber;
use crate::base::clock::Timestamp;
use crate::profile::{SearchRecord, history};
use crate::record::error::{Pending, Result};
use crate::store::{Isolation, StoreError, Topic, Tx};

/// The answer to listing a member's searches.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LatelySearches {
    /// The searches, newest first.
    pub lately_search_list: Vec<SearchRecord>,
}

/// Records a search of a member or a guest. The search of a member is also added to the member's list of searches.
/// `guest` identifies the caller for the trends if the caller is not a member; `None` if guests cannot be told apart.
/// The search of a crawler is counted, but does not count in trends.
///
/// # Errors
/// `bad request` if the search breaks its rule; `overloaded`.
pub fn log(tidings: &Tidings, caller: &Caller, guest: Option<Guest>, search: &str) -> Pending<()> {
    let (identity, now) = (caller.identify(tidings), tidings.now());
    let search = match Search::new(search) {
        Ok(search) => search,
        Err(error) => return Pending::given(Err(error)),
    };
    // A guest has no list of searches.
    let listed = identity.is_named().then(|| search.clone().listed(tidings));
    let listed = match listed.transpose() {
        Ok(listed) => listed,
        Err(error) => return Pending::given(Err(error)),
    };
    let calendar = Arc::clone(&tidings.analysis().calendar);
    // A search only adds rows: a term under the revision of the transaction, and an entry of a list. Pruning the list skips what
    // another transaction prunes.
    tidings.store().submit(Isolation::Concurrent, move |tx| {
        match identity.visitor(tx)? {
            Some(member) => {
                search.count_term(tx, member.key.into(), now)?;
                if let Some(listed) = &listed {
                    listed.insert(tx, &member, now)?;
                }
            }
            // Crawler searches do not count in trends.
            None if guest.is_some_and(Guest::is_crawler) => {}
            None => search.count_term(tx, guest.map_or(VisitorNumber::NOBODY, Guest::searcher), now)?,
        }
        Ok(calendar.count(tx, Counter::Search, now)?)
    })
}

#[derive(Clone)]
pub(crate) struct Search {
    /// As the caller wrote it.
    pub(crate) original: String,
    term: String,
}

pub(crate) struct ListedSearch {
    pub(crate) search: Search,
    tokens: String,
    similar: String,
}

impl Search {
    pub(crate) fn new(search: &str) -> Result<Self> {
        let original = checked(search)?;
        Ok(Self { term: tokens::normalise_term(&original), original })
    }

    /// Finding similar words, which a list shows, is slow, so it is done before the transaction.
    pub(crate) fn listed(self, tidings: &Tidings) -> Result<ListedSearch> {
        let tokens = tokens::tokens(&self.original);
        let similar = similar_words(tidings, &tokens::distinct(tokens.clone()))?.join(" ");
        Ok(ListedSearch { search: self, tokens: tokens.join(" "), similar })
    }

    pub(crate) fn count_term(
        &self,
        tx: &mut dyn Tx,
        visitor: VisitorNumber,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO term (revision, number, term, visitor, date) VALUES
                   ($1, (SELECT coalesce(max(number), 0) + 1 FROM term WHERE revision = $1), $2, $3, $4)";
        let revision = tx.revision();
        tx.send(sql, &[revision.into(), (&self.term).into(), visitor.into(), at.into()])?;
        tx.touch(Topic::Terms);
        Ok(())
    }
}

impl ListedSearch {
    pub(crate) fn insert(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        history::search(tx, member, &self.search.original, &self.tokens, &self.similar, at)
    }
}
