use tidings_core::analysis::{GetBursts, GetRealtime};
use tidings_core::search::{
    Find, FindInCategory, FindSites, ListRecent, Log, PostPage, SitePage, SnippetPart,
};
use tidings_core::words::FindSimilar;

use crate::prelude::*;

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

pub(crate) fn run(session: &Session, command: &Search) -> Exit {
    let (reader, out) = (session.service.as_reader(), &session.out);
    match command {
        Search::Run { text, category, limit, snippets } => {
            find(session, text, category.as_ref(), *limit, *snippets)
        }
        Search::Sites { text } => {
            let found = reader.call(FindSites { search: text.clone(), page: SitePage::default() })?;
            out.table(&found, &found.search_result, "No site was found.", |table| {
                table
                    .text("Site", |site| site.title.clone())
                    .text("Best match", |site| site.post.clone())
                    .optional_text("Address", |site| site.url.clone())
            })
        }
        Search::Log { text } => {
            reader.call(Log { search: text.clone() })?;
            session.done("The search is recorded.")
        }
        Search::Similar { text } => similar(session, text),
        Search::Realtime => {
            let found = reader.call(GetRealtime {})?.fields();
            out.table(&found, &found.search_realtime, "Nothing was searched in the last 24 hours.", |table| {
                table.number("Searches", |(_, count)| number(*count)).text("Term", |(term, _)| term.clone())
            })
        }
        Search::Bursts => {
            let found = reader.call(GetBursts {})?.fields();
            out.table(&found, &found.search_bursts, "No term is searched more than usual.", |table| {
                table
                    .number("Visitors", |burst| number(burst.count))
                    .number("Usual", |burst| format!("{:.1}", burst.usual))
                    .number("Score", |burst| format!("{:.1}", burst.score))
                    .text("Term", |burst| burst.term.clone())
            })
        }
        Search::Recent { limit } => {
            let found = session.acting_member()?.service.call(ListRecent { num: *limit })?.fields();
            out.table(&found, &found.lately_search_list, "Nothing was searched yet.", |table| {
                table
                    .whole(dated("Date"), |search| local(search.date))
                    .text("Search", |search| search.original.clone())
            })
        }
    }
}

fn find(session: &Session, text: &str, category: Option<&String>, limit: i64, snippets: bool) -> Exit {
    let (service, search) = (session.service.as_reader(), text.to_owned());
    let page = PostPage { snippets: snippets.then_some(1), ..PostPage::default() };
    let found = match category.cloned() {
        Some(category_name) => service.call(FindInCategory { category_name, num: limit, search, page }),
        None => service.call(Find { num: limit, search, page }),
    }?;
    session.out.list(&found, &found.search_result, |page| {
        let table = Table::of(&found.search_result)
            .whole("ID", |hit| hit.post.id.clone())
            .text("Title", |hit| hit.post.title.clone())
            .optional_number("Fits", |hit| format!("{:.2}", hit.similarity))
            .optional_whole(dated("Date"), |hit| local(hit.post.date))
            .optional_text("Address", |hit| hit.post.url.clone());
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

/// Puts the words found in brackets, which show in every terminal and in files.
fn marked(snippet: &[SnippetPart]) -> String {
    let part = |part: &SnippetPart| if part.hit { format!("[{}]", part.text) } else { part.text.clone() };
    snippet.iter().map(part).collect()
}

fn similar(session: &Session, text: &str) -> Exit {
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
