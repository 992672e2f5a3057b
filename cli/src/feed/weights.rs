//! `tidings feed weights`: the weights of the recommended feed.

use std::process::ExitCode;

use clap::Args;
use tidings_client::shown::number::number;
use tidings_core::newsfeed::{
    FeedWeights, GetWeights, LearnWeights, Learned, PopularityInUse, Weights as BySignal,
};

use crate::failure::Failure;
use crate::output::{Column, Page, Style, Table, local};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Weights {
    /// Learn the weights from the acts of the members now
    #[arg(long)]
    learn: bool,
}

pub(super) fn run(session: &Session, command: &Weights) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let weights = if command.learn { service.call(LearnWeights {}) } else { service.call(GetWeights {}) }?;
    out.answer(&weights, |page| describe(page, &weights))
}

fn describe(page: &mut Page, found: &FeedWeights) {
    let FeedWeights { in_use, weights, settings, learned, popularity } = found;
    let names = ["settings", "learned", "in use"].map(Column::number);
    let mut table = Table::new([Column::whole("signal")].into_iter().chain(names));
    let of_learned = learned.as_ref().map(|learned| &learned.weights);
    let shown = |weights: Option<&BySignal>, name: &str| -> String {
        let weight = weights.and_then(|weights| weights.iter().find(|(signal, _)| *signal == name));
        weight.map_or_else(String::new, |(_, weight)| format!("{weight:.3}"))
    };
    for (name, _) in settings.iter() {
        let [settings, learned, used] =
            [Some(settings), of_learned, Some(weights)].map(|weights| shown(weights, name));
        table.styled_row(Style::Plain, [name.to_owned(), settings, learned, used]);
    }
    page.table(&table, "");
    match learned {
        Some(learned) => describe_learned(page, in_use, learned),
        None => {
            page.note("nothing is learned yet: members with a feed of their own have made too few visits");
        }
    }
    describe_popularity(page, popularity);
}

fn describe_learned(page: &mut Page, in_use: &str, learned: &Learned) {
    let Learned { at, visits, members, ndcg10_before, ndcg10, ndcg10_error, is_better, .. } = learned;
    let [visits, members] = [*visits, *members].map(count);
    let is_chance = ndcg10 - ndcg10_before <= 2.0 * ndcg10_error;
    let verdict = match (in_use, is_better) {
        ("learned", _) if is_chance => "that may be chance, so those learned before stay in use",
        ("learned", _) => "they are in use",
        (_, true) => "others are in use",
        (_, false) => "that may be chance, so they are not used",
    };
    page.note(&format!("learned at {} from {visits} visits of {members} members", local(*at)));
    page.note(&format!(
        "ndcg@10 in the cross-validation: {ndcg10:.4} instead of {ndcg10_before:.4}, difference \
         +/- {ndcg10_error:.4}: {verdict}"
    ));
}

fn describe_popularity(page: &mut Page, popularity: &PopularityInUse) {
    let PopularityInUse { half_life_days, learned } = popularity;
    page.note(&format!("popularity: half-life {}", half_life(*half_life_days)));
    let Some(learned) = learned else {
        return page.note("members have acted on too few posts to learn how popularity predicts best");
    };
    let [acts, members] = [learned.acts, learned.members].map(count);
    let mut table =
        Table::new([Column::whole("popularity")].into_iter().chain(["gain", "+/-"].map(Column::number)));
    let mut row = |name: String, gain: f64, error: f64| {
        table.styled_row(Style::Plain, [name, format!("{gain:.4}"), format!("{error:.4}")]);
    };
    for tried in &learned.half_lives {
        row(format!("half-life {}", half_life(tried.half_life_days)), tried.gain, tried.error);
    }
    page.table(&table, "");
    page.note(&format!(
        "learned at {} from {acts} acts of {members} members: half-life {}",
        local(learned.at),
        half_life(learned.half_life_days)
    ));
}

fn half_life(days: Option<f64>) -> String {
    match days {
        None => "none".into(),
        Some(days) if days < 1.0 => format!("{} hours", (days * 24.0 * 100.0).round() / 100.0),
        Some(days) => format!("{days} days"),
    }
}

fn count(n: usize) -> String {
    number(i64::try_from(n).unwrap_or(i64::MAX))
}
