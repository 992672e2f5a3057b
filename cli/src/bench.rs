//! `tidings bench`: measures the quality of the service on its own data.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_client::shown::number::number;
use tidings_core::Error;
use tidings_core::search::evaluation::{self as searches, SearchEvaluation};

use crate::failure::Failure;
use crate::output::{Column, Page, Table};
use crate::progress::Percent;
use crate::session::{Session, refused_to_members};

mod feed;
mod snapshot;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure how well the recommended feed ranks the posts that members chose, compared to simpler rankings
    #[command(
        after_help = "The feed is asked once at the date, on each later day, and just before later acts. All of it is read from a\n\
                      temporary copy of the database; TMPDIR names its place.\n\n\
                      Example: tidings bench feed --at 2026-11-01"
    )]
    Feed(feed::Feed),
    /// Measure how well searches find known posts: by title, by words of the text, and mistyped
    #[command(after_help = "Example: tidings bench search")]
    Search,
}

pub(crate) fn run(session: &Session, command: &Bench) -> Result<ExitCode, Failure> {
    match command {
        Bench::Feed(command) => feed::run(session, command),
        Bench::Search => {
            let ((tidings, caller), out) = (session.database()?, &session.out);
            let progress = Percent::start();
            let evaluation = searches::evaluate(tidings, caller, &mut |share| progress.told(share));
            progress.finish();
            let evaluation = evaluation.map_err(refused)?;
            out.answer(&evaluation, |page| describe_searches(page, &evaluation))
        }
    }
}

fn refused(error: Error) -> Failure {
    match error {
        Error::BadRequest(why) => Failure::refused(&error.into(), why.message()),
        error => refused_to_members(error),
    }
}

fn describe_searches(page: &mut Page, evaluation: &SearchEvaluation) {
    let names = ["script", "by"].map(Column::whole);
    let figures = ["searches", "mrr@10", "found@10", "ms"].map(Column::number);
    let mut table = Table::new(names.into_iter().chain(figures));
    for row in &evaluation.rows {
        let (mrr, found) = (format!("{:.4}", row.mrr10), format!("{:.4}", row.found10));
        let (searches, ms) = (count(row.searches), format!("{:.1}", row.ms));
        table.row([row.script.to_owned(), row.by.to_owned(), searches, mrr, found, ms]);
    }
    page.table(&table, "");
    page.note(&format!(
        "{} posts of the database, each searched by its title and by its text",
        count(evaluation.posts)
    ));
}

fn count(n: usize) -> String {
    number(i64::try_from(n).unwrap_or(i64::MAX))
}
