//! `tidings bench`: measures the quality of the service on its own data.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_client::shown::number::number;
use tidings_core::Error;
use tidings_core::newsfeed::evaluation::{self, Evaluation};
use tidings_core::search::evaluation::{self as searches, SearchEvaluation};

use crate::failure::Failure;
use crate::output::{Column, Page, Table, local};
use crate::progress::Percent;
use crate::session::{Session, refused_to_members};

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure how well the recommended feed ranks the posts that members chose, compared to simpler rankings
    #[command(after_help = "Example: tidings bench feed --at 2026-11-01")]
    Feed {
        /// Learn from acts before this date and test with later ones [default: the last fifth of the acts is the test]
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
    },
    /// Measure how well searches find known posts: by title, by words of the text, and mistyped
    #[command(after_help = "Example: tidings bench search")]
    Search,
}

pub(crate) fn run(session: &Session, command: &Bench) -> Result<ExitCode, Failure> {
    let ((tidings, caller), out) = (session.database()?, &session.out);
    match command {
        Bench::Feed { at } => {
            let progress = Percent::start();
            let mut told = |share| progress.told(share);
            let evaluation = evaluation::evaluate(tidings, caller, at.as_deref(), &mut told);
            progress.finish();
            let evaluation = evaluation.map_err(refused)?;
            out.answer(&evaluation, |page| describe(page, &evaluation))
        }
        Bench::Search => {
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

fn describe(page: &mut Page, evaluation: &Evaluation) {
    let Evaluation { at, members, posts, rows, daily } = evaluation;
    let names = ["asked", "ranking"].map(Column::whole);
    let figures = ["ndcg@10", "+/-", "recall@30", "coverage", "diversity"].map(Column::number);
    let mut table = Table::new(names.into_iter().chain(figures));
    for (asked, rows) in [("once", rows), ("daily", &daily.rows)] {
        for row in rows {
            let figures = [row.ndcg10, row.ndcg10_error, row.recall30, row.coverage, row.diversity];
            let [ndcg, error, recall, coverage, diversity] = figures.map(|figure| format!("{figure:.4}"));
            table.row([asked.to_owned(), row.ranking.to_owned(), ndcg, error, recall, coverage, diversity]);
        }
    }
    page.table(&table, "");
    let [members, posts, days, of_days] = [*members, *posts, daily.days, daily.members].map(count);
    page.note(&format!("once: {members} members who chose posts after {}, {posts} posts", local(*at)));
    page.note(&format!("daily: {days} days of {of_days} members after that, each as of its beginning"));
}

fn count(n: usize) -> String {
    number(i64::try_from(n).unwrap_or(i64::MAX))
}
