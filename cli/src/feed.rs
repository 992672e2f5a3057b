use tidings_client::Service;
use tidings_core::newsfeed::{
    self, FeedPost, FeedPosts, FeedWeights, GetWeights, LIMIT_MAX, LearnWeights, Learned, ListPopular,
    ListRecommended, ListSource, ListTopic, Newsfeed, PopularityInUse, SimilarPost, Weights, Why,
};

use crate::post;
use crate::prelude::*;
use crate::source::Named;

#[derive(Debug, Subcommand)]
pub(crate) enum Feed {
    /// Recommend posts to a member by their interest; a guest gets fresh and popular posts
    #[command(after_help = "Example: tidings --as ann feed recommended --limit 20")]
    Recommended(Paging),
    /// List popular posts
    #[command(after_help = "Example: tidings feed popular --limit 20")]
    Popular(Paging),
    /// List the posts of a topic, newest first; a member's visit is recorded
    #[command(after_help = "Example: tidings feed topic Rust")]
    Topic {
        /// The topic or tag
        #[arg(add = ids(Kind::Topic))]
        name: String,
        #[command(flatten)]
        paging: Paging,
    },
    /// List the posts of a source, newest first
    #[command(after_help = "Example: tidings feed source https://news.example.org/feed.xml")]
    Source {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show and learn the weights of the signals that the recommended feed is made of
    #[command(after_help = "Example: tidings feed weights --learn")]
    Weights {
        /// Learn the weights from the acts of the members now
        #[arg(long)]
        learn: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// How many posts, 1 to 300 [default: 150, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Continue after the page that returned this as its next
    #[arg(long, value_name = "X")]
    next: Option<String>,
    /// Also show the reason why each post is in the feed
    #[arg(long)]
    why: bool,
    /// Also show the other posts that tell the same story as each post
    #[arg(long)]
    similar: bool,
}

pub(crate) fn run(session: &Session, command: &Feed) -> Exit {
    match command {
        Feed::Recommended(paging) => {
            answer(session, paging, |service, page| service.call(ListRecommended { page }))
        }
        Feed::Popular(paging) => {
            answer(session, paging, |service, page| service.call(ListPopular { page, format: None }))
        }
        Feed::Topic { name, paging } => answer(session, paging, |service, page| {
            service.call(ListTopic { category_name: name.clone(), page, format: None })
        }),
        Feed::Source { named, paging } => {
            let source_obi = named.found(session)?.id;
            answer(session, paging, |service, page| {
                service.call(ListSource { source_obi: source_obi.clone(), page })
            })
        }
        Feed::Weights { learn } => {
            let Session { service, out } = session;
            let weights = if *learn { service.call(LearnWeights {}) } else { service.call(GetWeights {}) }?;
            out.answer(&weights, |page| describe(page, &weights))
        }
    }
}

fn answer(
    session: &Session,
    paging: &Paging,
    list: impl Fn(&Service, newsfeed::Paging) -> tidings_client::Result<Newsfeed>,
) -> Exit {
    let (service, out) = (session.service.as_reader(), &session.out);
    let page = newsfeed::Paging {
        limit: paging.limit,
        next: paging.next.clone(),
        why: paging.why.then_some(1),
        similar: paging.similar.then_some(1),
        // The process that returned the previous page has ended.
        resumes: true,
        ..newsfeed::Paging::default()
    };
    if out.streams() {
        return stream_pages(paging.limit, paging.next.clone(), |next, left| {
            let most = i64::try_from(LIMIT_MAX).unwrap_or(i64::MAX);
            let page = newsfeed::Paging { limit: Some(left.min(most)), next, ..page.clone() };
            let FeedPosts { newsfeed, next } = list(&service, page)?.fields();
            Ok((newsfeed, next))
        });
    }
    let answer = list(&service, page)?;
    let FeedPosts { newsfeed, next } = answer.fields();
    out.encoded(answer.encoded().json(), |screen| {
        if paging.why || paging.similar {
            detailed(screen, &newsfeed);
        } else {
            screen.table(&post::table(&newsfeed, |item| &item.post), "There are no posts.");
        }
        if let Some(next) = &next {
            screen.note(&format!("There are more: --next {next}"));
        }
    })
}

fn detailed(screen: &mut Page, posts: &[FeedPost]) {
    if posts.is_empty() {
        screen.note("There are no posts.");
    }
    for (i, FeedPost { post, why, similar, .. }) in posts.iter().enumerate() {
        if i > 0 {
            screen.line("");
        }
        screen.styled(Style::Strong, &post.title);
        let (views, likes) = (count(post.view, "view"), count(post.fav_cnt, "like"));
        screen.indented(&format!("{}  {views}, {likes}, {}", post.id, local(post.date)));
        screen.indented(&post.url);
        if let Some(Why { text, .. }) = why {
            screen.indented(text);
        }
        for SimilarPost { id, title, url, source } in similar.iter().flatten() {
            let from = source.as_ref().map(|source| format!(" ({})", source.name)).unwrap_or_default();
            screen.indented(&format!("similar: {id}  {title}{from}  {url}"));
        }
    }
}

fn describe(page: &mut Page, found: &FeedWeights) {
    let FeedWeights { in_use, weights, settings, learned, popularity } = found;
    let shown = |weights: &Weights, name: &str| {
        let weight = weights.iter().find(|(signal, _)| *signal == name);
        weight.map_or_else(String::new, |(_, weight)| format!("{weight:.3}"))
    };
    let signals: Vec<_> = settings.iter().collect();
    let table = Table::of(&signals)
        .whole("signal", |(name, _)| (*name).to_owned())
        .number("settings", |(name, _)| shown(settings, name))
        .number("learned", |(name, _)| {
            learned.as_ref().map_or_else(String::new, |learned| shown(&learned.weights, name))
        })
        .number("in use", |(name, _)| shown(weights, name));
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
    let [visits, members] = [*visits, *members].map(number);
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
    let [acts, members] = [learned.acts, learned.members].map(number);
    let table = Table::of(&learned.half_lives)
        .whole("popularity", |tried| format!("half-life {}", half_life(tried.half_life_days)))
        .number("gain", |tried| format!("{:.4}", tried.gain))
        .number("+/-", |tried| format!("{:.4}", tried.error));
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
