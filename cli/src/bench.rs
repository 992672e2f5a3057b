//! `tidings bench`: measures the quality of the service on its own data.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::Error;
use tidings_core::newsfeed::evaluation::{self, Evaluation};
use tidings_tui::number::number;

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
}

pub(crate) fn run(session: &Session, command: &Bench) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    match command {
        Bench::Feed { at } => {
            let progress = Percent::start();
            let mut told = |share| progress.told(share);
            let evaluation = evaluation::evaluate(tidings, caller, at.as_deref(), &mut told);
            progress.finish();
            let evaluation = evaluation.map_err(|error| match error {
                Error::BadRequest(why) => Failure::refused(&error, why.message()),
                error => refused_to_members(error),
            })?;
            out.answer(&evaluation, |page| describe(page, &evaluation))
        }
    }
}

fn describe(page: &mut Page, evaluation: &Evaluation) {
    let Evaluation { at, members, posts, rows } = evaluation;
    let columns = ["ndcg@10", "recall@30", "coverage"].map(Column::number);
    let mut table = Table::new([Column::whole("ranking")].into_iter().chain(columns));
    for row in rows {
        let [ndcg, recall, coverage] =
            [row.ndcg10, row.recall30, row.coverage].map(|figure| format!("{figure:.4}"));
        table.row([row.ranking.to_owned(), ndcg, recall, coverage]);
    }
    page.table(&table, "");
    let [members, posts] = [*members, *posts].map(|n| number(i64::try_from(n).unwrap_or(i64::MAX)));
    page.note(&format!("{members} members who chose posts after {}, {posts} posts", local(*at)));
}
