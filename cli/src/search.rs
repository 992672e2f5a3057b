//! `tidings search`: searching posts, similar words, and recorded searches.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_client::shown::number::number;
use tidings_core::analysis::{GetBursts, GetRealtime};
use tidings_core::search::{
    Find, FindInCategory, FindSites, ListRecent, Log, PostPage, SitePage, SnippetPart,
};
use tidings_core::words::FindSimilar;

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Search {
    /// Search posts, best match first; nothing is recorded
    #[command(after_help = "Example: tidings search run \"borrow checker\" --category Rust --limit 10")]
    Run {
        /// The search, 1 to 200 characters
        text: String,
        /// Only posts of this topic or tag
        #[arg(long, value_name = "C", allow_hyphen_values = true, add = ids(Kind::Topic))]
        category: Option<String>,
        /// The maximum number of posts, 1 to 300
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: i64,
        /// Also show the part of each text with the words found, which are in brackets
        #[arg(long)]
        snippets: bool,
    },
    /// Search web sites whose posts match, most matches first; nothing is recorded
    #[command(after_help = "Example: tidings search sites \"borrow checker\"")]
    Sites {
        /// The search, 1 to 200 characters
        text: String,
    },
    /// Record a search by a member or a guest
    #[command(after_help = "Example: tidings --as ann search log \"borrow checker\"")]
    Log {
        /// The search, 1 to 200 characters
        text: String,
    },
    /// Show the words similar to those of a search
    #[command(after_help = "Example: tidings search similar \"borrow checker\"")]
    Similar {
        /// The search, 1 to 200 characters
        text: String,
    },
    /// Show the most frequent searches of the last 24 hours
    #[command(after_help = "Example: tidings search realtime")]
    Realtime,
    /// Show the terms that visitors search far more than earlier on the same day
    #[command(after_help = "Example: tidings search bursts")]
    Bursts,
    /// Show a member's searches, newest first
    #[command(after_help = "Example: tidings --as ann search recent --limit 10")]
    Recent {
        /// The maximum number of searches, 1 to 300
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: i64,
    },
}

pub(crate) fn run(session: &Session, command: &Search) -> Result<ExitCode, Failure> {
    match command {
        Search::Run { text, category, limit, snippets } => {
            find(session, text, category.as_ref(), *limit, *snippets)
        }
        Search::Sites { text } => sites(session, text),
        Search::Log { text } => {
            session.service.as_reader().call(Log { search: text.clone() })?;
            session.out.answer(&(), |page| page.line("The search is recorded."))
        }
        Search::Similar { text } => similar(session, text),
        Search::Realtime => realtime(session),
        Search::Bursts => bursts(session),
        Search::Recent { limit } => recent(session, *limit),
    }
}

fn find(
    session: &Session,
    text: &str,
    category: Option<&String>,
    limit: i64,
    snippets: bool,
) -> Result<ExitCode, Failure> {
    let (service, search) = (session.service.as_reader(), text.to_owned());
    let page = PostPage { snippets: snippets.then_some(1), ..PostPage::default() };
    let found = match category.cloned() {
        Some(category_name) => service.call(FindInCategory { category_name, num: limit, search, page }),
        None => service.call(Find { num: limit, search, page }),
    }?;
    session.out.list(&found, &found.search_result, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Title"),
            Column::number("Fits").optional(),
            Column::whole(dated("Date")).optional(),
            Column::text("Address").optional(),
        ];
        let mut table = Table::new(columns);
        for hit in &found.search_result {
            let (fits, post) = (format!("{:.2}", hit.similarity), &hit.post);
            table.row([post.id.clone(), post.title.clone(), fits, local(post.date), post.url.clone()]);
        }
        page.table(&table, "No post was found.");
        for hit in &found.search_result {
            if let Some(snippet) = hit.snippet.as_deref().filter(|snippet| !snippet.is_empty()) {
                page.line("");
                page.styled(Style::Strong, &hit.post.title);
                page.indented(&marked(snippet));
            }
        }
    })
}

fn sites(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let find = FindSites { search: text.to_owned(), page: SitePage::default() };
    let found = session.service.as_reader().call(find)?;
    session.out.list(&found, &found.search_result, |page| {
        let mut table = Table::new([
            Column::text("Site"),
            Column::text("Best match"),
            Column::text("Address").optional(),
        ]);
        for site in &found.search_result {
            table.row([site.title.clone(), site.post.clone(), site.url.clone()]);
        }
        page.table(&table, "No site was found.");
    })
}

/// Puts the words found in brackets, which show in every terminal and in files.
fn marked(snippet: &[SnippetPart]) -> String {
    let part = |part: &SnippetPart| if part.hit { format!("[{}]", part.text) } else { part.text.clone() };
    snippet.iter().map(part).collect()
}

fn similar(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let answer = session.service.as_reader().call(FindSimilar { search: text.to_owned() })?;
    session.out.list(&answer, &answer.similarity_word, |page| {
        for token in &answer.similarity_word {
            page.styled(Style::Strong, &token.token);
            let words = token.words.iter();
            let words = words.map(|similar| format!("{} {:.2}", similar.word, similar.similarity));
            page.indented(&words.collect::<Vec<_>>().join(", "));
        }
        if answer.similarity_word.is_empty() {
            page.note("The text contains no words.");
        }
        if answer.similarity_word.iter().all(|token| token.words.is_empty()) {
            page.note("There are no similar words. If no words have been learned yet: tidings words train");
        }
    })
}

fn realtime(session: &Session) -> Result<ExitCode, Failure> {
    let realtime = session.service.as_reader().call(GetRealtime {})?.fields();
    session.out.list(&realtime, &realtime.search_realtime, |page| {
        let mut table = Table::new([Column::number("Searches"), Column::text("Term")]);
        for (term, count) in &realtime.search_realtime {
            table.row([number(*count), term.clone()]);
        }
        page.table(&table, "Nothing was searched in the last 24 hours.");
    })
}

fn bursts(session: &Session) -> Result<ExitCode, Failure> {
    let bursts = session.service.as_reader().call(GetBursts {})?.fields();
    session.out.list(&bursts, &bursts.search_bursts, |page| {
        let columns = [
            Column::number("Visitors"),
            Column::number("Usual"),
            Column::number("Score"),
            Column::text("Term"),
        ];
        let mut table = Table::new(columns);
        for burst in &bursts.search_bursts {
            let [usual, score] = [burst.usual, burst.score].map(|figure| format!("{figure:.1}"));
            table.row([number(burst.count), usual, score, burst.term.clone()]);
        }
        page.table(&table, "No term is searched more than usual.");
    })
}

fn recent(session: &Session, limit: i64) -> Result<ExitCode, Failure> {
    let lately = session.acting_member()?.call(ListRecent { num: limit })?.fields();
    session.out.list(&lately, &lately.lately_search_list, |page| {
        let mut table = Table::new([Column::whole(dated("Date")), Column::text("Search")]);
        for search in &lately.lately_search_list {
            table.row([local(search.date), search.original.clone()]);
        }
        page.table(&table, "Nothing was searched yet.");
    })
}
