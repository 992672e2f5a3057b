use tidings_core::Error;
use tidings_core::newsfeed::evaluation::{self, Evaluation};

use crate::output::typed_time;
use crate::prelude::*;
use crate::progress;
use crate::session::refused_to_members;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure how well the recommended feed ranks the posts that members chose, compared to simpler rankings
    #[command(after_help = "Example: tidings bench feed --at 2026-11-01")]
    Feed {
        /// Learn from acts before this time, such as 2026-12-05, and test with later ones [default: the last fifth of the acts is the test]
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
    },
}

pub(crate) fn run(session: &Session, Bench::Feed { at }: &Bench) -> Exit {
    let ((tidings, caller), out) = (session.database()?, &session.out);
    let at = at.as_deref().map(|at| evaluation::split_time(&typed_time(at))).transpose().map_err(refused)?;
    let evaluation = progress::of_share(|told| evaluation::evaluate(tidings, caller, at, told));
    let evaluation = evaluation.map_err(refused)?;
    out.answer(&evaluation, |page| describe(page, &evaluation))
}

fn refused(error: Error) -> Failure {
    match error {
        Error::BadRequest(why) => Failure::refused(&error.into(), why.message()),
        error => refused_to_members(error),
    }
}

fn describe(page: &mut Page, evaluation: &Evaluation) {
    let table = Table::of(&evaluation.rows)
        .whole("ranking", |row| row.ranking.to_owned())
        .number("ndcg@10", |row| format!("{:.4}", row.ndcg10))
        .number("+/-", |row| format!("{:.4}", row.ndcg10_error))
        .number("lead", |row| format!("{:.4}", row.lead))
        .number("+/-", |row| format!("{:.4}", row.lead_error))
        .number("recall@30", |row| format!("{:.4}", row.recall30))
        .number("cover", |row| format!("{:.2}", row.coverage));
    page.table(&table, "");
    page.line("");
    page.line(&match &evaluation.better_weight {
        Some(better) => format!(
            "{} the {} would serve better: ndcg@10 of settings would be greater by {:.4} +/- {:.4}.",
            if better.factor > 1.0 { "Twice" } else { "Half" },
            better.setting,
            better.gain,
            better.gain_error
        ),
        None => {
            "Keep the weights: none of them, halved or doubled, makes the feed measurably better.".to_owned()
        }
    });
    let [members, posts] = [evaluation.members, evaluation.posts].map(number);
    page.note(&format!("{members} members who chose posts after {}, {posts} posts", local(evaluation.at)));
    page.note(
        "lead: how much greater the ndcg@10 of the recommended feed is, and the error of this difference",
    );
}
