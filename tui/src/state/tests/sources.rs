//! Tests of the sources: how they are listed, and what is done with them.

use tidings_core::source::{List, Source, SourceState, Sources};

use super::*;

/// An address at which nothing answers.
const NOWHERE: &str = "http://127.0.0.1:1/feed";

/// Returns a source that brought something with its last fetch, ten minutes ago.
fn source(name: &str, posts: i64) -> Source {
    let last = Some(NOW - 600_000);
    Source {
        id: format!("{posts:024x}"),
        name: name.into(),
        url: format!("https://news.example.org/{posts}/feed.xml"),
        home: Some("https://news.example.org/".into()),
        topic: vec!["news".into(), "sea".into()],
        tag: vec!["2026".into()],
        every: None,
        state: SourceState::Active,
        date: NOW - 90 * 86_400_000,
        posts,
        next_fetch: Some(NOW + 3_000_000),
        last_fetch: last,
        last_success: last,
        last_news: last,
        failures: 0,
        failing_since: None,
        error: None,
        hub: None,
        subscribed_until: None,
    }
}

/// Opens the screen with a source of each state.
fn listed() -> Stage {
    let before = Some(NOW - 3 * 86_400_000);
    let sources = vec![
        source("Campus news", 1_234),
        Source { last_news: before, every: Some(30), ..source("Library", 17) },
        Source { next_fetch: None, state: SourceState::Paused, ..source("Paused a while ago", 3) },
        Source {
            failures: 12,
            failing_since: before,
            last_success: before,
            last_news: before,
            error: Some("status 503".into()),
            ..source("천문대 소식", 120)
        },
        Source {
            next_fetch: None,
            state: SourceState::Ended,
            error: Some("it is gone for ever (status 410)".into()),
            ..source("Weather", 9)
        },
        Source { last_fetch: None, last_success: None, last_news: None, ..source("Yet to be fetched", 0) },
    ];
    let mut stage = Stage::new();
    stage.holds = true;
    stage.keys(&["9"]);
    let Some(Effect::Load { number, .. }) = stage.waiting.pop() else { panic!("nothing was asked") };
    stage.happens(Event::Loaded { number, answer: Ok(Box::new(Sources { sources })) });
    stage
}

fn sources(stage: &Stage) -> Vec<Source> {
    stage.call(List {}).sources
}

#[test]
fn each_state_of_a_source_is_seen() {
    let mut stage = listed();
    insta::assert_snapshot!("sources", stage.drawn());
    stage.keys(&["Down", "Down", "Down", "Enter"]);
    insta::assert_snapshot!("source", stage.drawn());
    stage.keys(&["Esc", "Up", "Up", "Up", "e"]);
    insta::assert_snapshot!("source_form", stage.drawn());
}

#[test]
fn sources_are_filtered_by_all_that_is_seen_of_them_and_copied() {
    let mut stage = listed();
    for (text, found) in [("FAILING", "천문대"), ("nothing new", "Library"), ("org/9/", "Weather")] {
        stage.keys(&["/", text, "Enter"]).sees(found).sees_not("Campus news");
        stage.keys(&["Esc"]);
    }
    stage.keys(&["y"]);
    assert_eq!(stage.copied, ["https://news.example.org/9/feed.xml"], "the found one stays selected");
}

#[test]
fn a_source_is_added_fetched_paused_changed_and_removed() {
    let mut stage = Stage::new();
    stage.keys(&["9"]).sees("There are no sources. n adds one");
    stage.keys(&["n", "news.example.org", "Tab", "Campus", "Down", "Sky, News", "Enter"]);
    stage.sees("✗ Url is an address that begins with http:// or https://");
    stage.keys(&["Ctrl-U", NOWHERE, "Enter"]).sees(&format!("✗ “{NOWHERE}” could not be fetched: "));
    stage.sees("1 source, 1 failing");
    stage.keys(&["f"]).sees("✗ “Campus” could not be fetched: ");
    let added = &sources(&stage)[0];
    assert_eq!((&*added.name, &*added.url, added.failures), ("Campus", NOWHERE, 2));
    assert_eq!((&added.topic[..], added.every), (&["Sky".to_owned(), "News".into()][..], None));

    stage.keys(&[" "]).sees("✓ “Campus” is paused.").sees("○ paused");
    stage.keys(&[" "]).sees("✓ “Campus” is fetched again.").sees("● active");

    stage.keys(&["e", "Enter"]).sees("Nothing was changed.");
    stage.keys(&["e", "Up", "soon", "Enter"]).sees("✗ Type a number, or nothing.");
    stage.keys(&["Ctrl-U", "20000", "Enter"]).sees("✗ Every is 1 to 10,080 minutes");
    stage.keys(&["Ctrl-U", "30", "Down", "Down", "Ctrl-U", "Enter"]).sees(&format!("✓ Saved {NOWHERE}."));
    let saved = &sources(&stage)[0];
    assert_eq!((&*saved.name, &saved.topic, saved.every), ("127.0.0.1", &added.topic, Some(30)));
    stage.keys(&["e", "Up", "Ctrl-U", "Enter"]);
    assert_eq!(sources(&stage)[0].every, None);

    stage.keys(&["x"]).sees("Remove the source “127.0.0.1”?").sees("its 0 posts stay.");
    stage.keys(&["y"]).sees("✓ Removed “127.0.0.1”; its posts stay.");
    assert_eq!(sources(&stage), []);
}

#[test]
fn a_form_saves_once_and_the_selection_follows() {
    let mut stage = Stage::new();
    stage.keys(&["9", "n", NOWHERE]);
    stage.holds = true;
    stage.keys(&["Enter", "Enter"]).sees("Saving …");
    assert_eq!(stage.waiting.len(), 1, "{:?}", stage.waiting);
    stage.release();
    stage.keys(&["n", "http://127.0.0.1:1/another", "Tab", "A first one", "Enter", "x"]);
    stage.sees("Remove the source “A first one”?");
    stage.keys(&["Esc", "n", NOWHERE, "Enter"]).sees("✗ There is a source with this address already.");
}
