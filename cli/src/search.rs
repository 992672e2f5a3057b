//! `tidings search`: what is found, and what is like it.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::{analysis, search, words};
use tidings_tui::number::number;

use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Search {
    /// Search posts, the best first; nothing is recorded
    #[command(after_help = "Example: tidings search run \"borrow checker\" --category Rust --limit 10")]
    Run {
        /// What is searched, 1 to 200 characters
        text: String,
        /// Among the posts of this topic or tag
        #[arg(long, value_name = "C", allow_hyphen_values = true)]
        category: Option<String>,
        /// The most posts, 1 to 300
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: i64,
    },
    /// Record a search, a member's or a guest's
    #[command(after_help = "Example: tidings --as ann search log \"borrow checker\"")]
    Log {
        /// What is searched, 1 to 200 characters
        text: String,
    },
    /// Show the words that posts use like those of a search
    #[command(after_help = "Example: tidings search similar \"borrow checker\"")]
    Similar {
        /// What is searched, 1 to 200 characters
        text: String,
    },
    /// What was searched most in the last 24 hours
    #[command(after_help = "Example: tidings search realtime")]
    Realtime,
    /// What a member searched, newest first
    #[command(after_help = "Example: tidings --as ann search recent --limit 10")]
    Recent {
        /// The most searches, 1 to 300
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: i64,
    },
}

pub(crate) fn run(session: &Session, command: &Search) -> Result<ExitCode, Failure> {
    match command {
        Search::Run { text, category, limit } => find(session, text, category.as_deref(), *limit),
        Search::Log { text } => {
            search::log(&session.tidings, &session.caller, None, text).wait()?;
            session.out.answer(&(), |page| page.line("The search is recorded."))
        }
        Search::Similar { text } => similar(session, text),
        Search::Realtime => realtime(session),
        Search::Recent { limit } => recent(session, *limit),
    }
}

fn find(session: &Session, text: &str, category: Option<&str>, limit: i64) -> Result<ExitCode, Failure> {
    let found = match category {
        Some(category) => search::in_category(&session.tidings, category, text, limit)?,
        None => search::run(&session.tidings, text, limit)?,
    };
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
        page.table(&table, "Nothing is found.");
    })
}

fn similar(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let answer = words::similar(&session.tidings, text)?;
    session.out.list(&answer, &answer.similarity_word, |page| {
        for token in &answer.similarity_word {
            page.styled(Style::Strong, &token.token);
            let words = token.words.iter();
            let words = words.map(|similar| format!("{} {:.2}", similar.word, similar.similarity));
            page.indented(&words.collect::<Vec<_>>().join(", "));
        }
        if answer.similarity_word.is_empty() {
            page.note("There is no word in this.");
        }
        if answer.similarity_word.iter().all(|token| token.words.is_empty()) {
            page.note("No words are like these. If none were learned yet: tidings words train");
        }
    })
}

fn realtime(session: &Session) -> Result<ExitCode, Failure> {
    let realtime = analysis::realtime(&session.tidings)?;
    session.out.list(&realtime, &realtime.search_realtime, |page| {
        let mut table = Table::new([Column::number("Searches"), Column::text("Term")]);
        for (term, count) in &realtime.search_realtime {
            table.row([number(*count), term.clone()]);
        }
        page.table(&table, "Nothing was searched in the last 24 hours.");
    })
}

fn recent(session: &Session, limit: i64) -> Result<ExitCode, Failure> {
    let lately = search::lately(&session.tidings, session.acting_member()?, limit)?;
    session.out.list(&lately, &lately.lately_search_list, |page| {
        let mut table = Table::new([Column::whole(dated("Date")), Column::text("Search")]);
        for search in &lately.lately_search_list {
            table.row([local(search.date), search.original.clone()]);
        }
        page.table(&table, "Nothing was searched yet.");
    })
}
