use tidings_core::clock::Timestamp;
use tidings_core::source::{Fetched, Source, SourceState};

use super::number::{count, number};

pub const fn is_failing(source: &Source) -> bool {
    matches!(source.state, SourceState::Active) && source.failures > 0
}

pub const fn state(source: &Source) -> &'static str {
    if is_failing(source) { "failing" } else { source.state.name() }
}

/// Returns what a fetch has brought: `2 new, 0 changed, 17 already there`.
pub fn brought(fetched: &Fetched) -> String {
    let [new, changed, skipped] = [fetched.inserted, fetched.updated, fetched.skipped].map(number);
    format!("{new} new, {changed} changed, {skipped} already there")
}

/// All but the name and the id. `date` writes a time.
pub fn facts(source: &Source, date: impl Fn(Timestamp) -> String) -> Vec<(&'static str, String)> {
    let when = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), &date);
    let mut facts = vec![
        ("Address", source.url.clone()),
        ("Page", source.home.clone().unwrap_or_default()),
        ("Topics", source.topic.join(", ")),
        ("Tags", source.tag.join(", ")),
        ("Every", source.every.map_or_else(|| "as suits it".to_owned(), |every| count(every, "minute"))),
        ("State", state(source).to_owned()),
        ("Added", date(source.date)),
        ("Posts", number(source.posts)),
        ("Last fetch", when(source.last_fetch)),
        ("Last success", when(source.last_success)),
        ("Last news", when(source.last_news)),
        ("Next fetch", when(source.next_fetch)),
    ];
    if let Some(until) = source.subscribed_until {
        facts.push(("Hub", format!("{}, until {}", source.hub.as_deref().unwrap_or_default(), date(until))));
    }
    if let Some(since) = source.failing_since {
        facts.push(("Failures", format!("{} since {}", number(source.failures), date(since))));
    }
    facts.push(("Error", source.error.clone().unwrap_or_default()));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            id: "6560c1a2ffeeddccbbaa0001".into(),
            name: "Campus".into(),
            url: "https://campus.example/feed".into(),
            home: None,
            topic: vec!["news".into(), "sea".into()],
            tag: Vec::new(),
            every: None,
            state: SourceState::Active,
            date: Timestamp::from_millis(1),
            posts: 1_200,
            next_fetch: Some(Timestamp::from_millis(4)),
            last_fetch: Some(Timestamp::from_millis(3)),
            last_success: Some(Timestamp::from_millis(3)),
            last_news: None,
            failures: 0,
            failing_since: None,
            error: None,
            hub: None,
            subscribed_until: None,
        }
    }

    #[test]
    fn the_facts_of_a_source_are_told_without_those_that_it_lacks() {
        let told = |source: &Source| {
            let facts = facts(source, |at| at.as_millis().to_string());
            facts.into_iter().map(|(name, fact)| format!("{name}: {fact}")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            told(&source()),
            "Address: https://campus.example/feed; Topics: news, sea; Every: as suits it; State: active; Added: 1; \
             Posts: 1,200; Last fetch: 3; Last success: 3; Last news: never; Next fetch: 4"
        );
        let failing = Source {
            failures: 2,
            failing_since: Some(Timestamp::from_millis(2)),
            error: Some("status 503".into()),
            every: Some(1),
            hub: Some("https://hub.example/".into()),
            subscribed_until: Some(Timestamp::from_millis(5)),
            ..source()
        };
        let told = told(&failing);
        assert!(told.contains("Every: 1 minute; State: failing;"), "{told}");
        let end = "; Hub: https://hub.example/, until 5; Failures: 2 since 2; Error: status 503";
        assert!(told.ends_with(end), "{told}");
        assert_eq!(state(&Source { state: SourceState::Paused, ..failing }), "paused");
    }
}
