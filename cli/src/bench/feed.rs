//! `tidings bench feed`: the recommended feed beside simpler orders, on past acts of members.

use std::process::ExitCode;

use clap::Args;
use tidings_core::newsfeed::evaluation::{self, BeforeActs, Evaluation, Subject};
use tidings_core::{Error, StoreError};

use super::snapshot::{Snapshot, interrupted, operator};
use super::{count, refused};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Column, Page, Table, local, typed_time};
use crate::progress::Percent;
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Feed {
    /// Learn from acts before this time, such as 2026-12-05, and test with later ones [default: the last fifth of the acts is the test]
    #[arg(long, value_name = "DATE")]
    at: Option<String>,
}

pub(super) fn run(session: &Session, Feed { at }: &Feed) -> Result<ExitCode, Failure> {
    let (service, caller) = session.database()?;
    let operator = operator(caller)?;
    let at = at.as_deref().map(|at| evaluation::split_time(&typed_time(at))).transpose().map_err(refused)?;
    let stop = interrupt::stop()?;
    let snapshot = Snapshot::take(operator, service, &stop)?;
    let progress = Percent::start();
    let subject = Subject { service, copy: &snapshot.tidings };
    let evaluation = evaluation::evaluate(subject, caller, at, &mut |share| progress.told(share), &stop);
    progress.finish();
    let evaluation = evaluation.map_err(|error| match error {
        Error::Store(StoreError::Interrupted) => interrupted(),
        error => refused(error),
    })?;
    session.out.answer(&evaluation, |page| describe(page, &evaluation))
}

fn describe(page: &mut Page, evaluation: &Evaluation) {
    let Evaluation { at, members, posts, rows, daily, before_acts, advice, .. } = evaluation;
    let names = ["asked", "ranking"].map(Column::whole);
    let figures = ["ndcg@10", "+/-", "lead", "+/-", "recall@30", "cover", "diverse"].map(Column::number);
    let mut table = Table::new(names.into_iter().chain(figures));
    for (asked, rows) in [("once", rows), ("daily", &daily.rows), ("act", &before_acts.rows)] {
        for row in rows {
            let gains = [row.ndcg10, row.ndcg10_error, row.lead, row.lead_error, row.recall30];
            let [ndcg, error, lead, of_lead, recall] = gains.map(|figure| format!("{figure:.4}"));
            let [cover, diverse] = [row.coverage, row.diversity].map(|figure| format!("{figure:.2}"));
            let (asked, ranking) = (asked.to_owned(), row.ranking.to_owned());
            table.row([asked, ranking, ndcg, error, lead, of_lead, recall, cover, diverse]);
        }
    }
    page.table(&table, "");
    page.line("");
    for sentence in advice {
        page.line(sentence);
    }
    let BeforeActs { moments, acts, members: of_moments, .. } = before_acts;
    let [members, posts, days, of_days] = [*members, *posts, daily.days, daily.members].map(count);
    let [moments, acts, of_moments] = [*moments, *acts, *of_moments].map(count);
    page.note(&format!("once: {members} members who chose posts after {}, {posts} posts", local(*at)));
    page.note(&format!("daily: {days} days of {of_days} members after that, each as of its beginning"));
    page.note(&format!(
        "act: {moments} moments of {of_moments} members, each just before one of {acts} acts"
    ));
    page.note(
        "lead: how much greater the ndcg@10 of the recommended feed is, and the error of this difference",
    );
}
