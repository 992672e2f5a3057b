//! Tests of sources, with a web site on this machine.

use std::fmt::Write as _;

use site::{Site, atom, entry};

use super::run::Reader;
use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::HOUR_MS;
use crate::base::config::Config;
use crate::post;
use crate::record::error::Error;
use crate::record::id::SourceKey;
use crate::record::scope::Scope;
use crate::store::{Isolation, Tx};
use crate::testing::{NOW, Service, draft, eventually, publish, service, service_with};
use crate::webhook::{self, ListDeliveries};

mod answers;
mod fetches;
mod identity;
mod site;
mod websub;

/// Returns a service that fetches from this machine.
fn reading() -> Service {
    service_with(with_private())
}

fn with_private() -> Config {
    Config { private_addresses: true, ..Config::default() }
}

fn add(tidings: &Tidings, url: &str) -> String {
    let add = Add { url: url.into(), topic: Some(vec!["news".into()]), ..Add::default() };
    tidings.call(&Caller::Operator, add).unwrap().id.to_string()
}

fn fetch(tidings: &Tidings, source: &str) -> Fetched {
    tidings.call(&Caller::Operator, Fetch { source_obi: source.into() }).unwrap()
}

fn get(tidings: &Tidings, source: &str) -> Source {
    tidings.call(&Caller::Operator, Get { source_obi: source.into() }).unwrap().source
}

fn unchanged(source: &str) -> Update {
    let (url, name, topic, tag, every, adopt) = (None, None, None, None, None, None);
    Update { source_obi: source.into(), url, name, topic, tag, every, adopt }
}

fn remove(tidings: &Tidings, source: &str, with_posts: Option<i64>) {
    tidings.call(&Caller::Operator, Remove { source_obi: source.into(), with_posts }).unwrap();
}

fn remove_post(tidings: &Tidings, id: &str) {
    tidings.call(&Caller::Operator, post::Remove { post_obi: id.into() }).unwrap();
}

/// Returns the key of the only source.
fn key_of_one(tidings: &Tidings) -> SourceKey {
    tidings.store().read(|tx| tx.one("SELECT key FROM source", &[])?.take(0)).unwrap()
}

/// Returns the titles of all posts in order of their addresses.
fn titles(tidings: &Tidings) -> Vec<String> {
    let list = tidings.call(&Caller::Operator, post::List::default()).unwrap();
    let mut posts: Vec<_> = list.posts.into_iter().map(|post| (post.url, post.title)).collect();
    posts.sort();
    posts.into_iter().map(|(_, title)| title).collect()
}

fn counts(fetched: &Fetched) -> [u64; 3] {
    assert_eq!(fetched.error, None);
    [fetched.inserted, fetched.updated, fetched.skipped]
}

#[test]
fn entries_become_posts_and_follow_their_feed() {
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("Campus", &[entry(1, "One"), entry(2, "Two")]));
    let source = add(&service, &site.url("/feed"));
    let first = fetch(&service, &source);
    assert_eq!(counts(&first), [2, 0, 0]);
    assert_eq!(first.posts.iter().map(|post| &*post.title).collect::<Vec<_>>(), ["One", "Two"]);
    assert_eq!(counts(&fetch(&service, &source)), [0, 0, 2], "nothing has changed");

    site.gives("/feed", &atom("Campus", &[entry(3, "Three"), entry(2, "Second")]));
    assert_eq!(counts(&fetch(&service, &source)), [1, 1, 0]);
    assert_eq!(titles(&service), ["One", "Second", "Three"], "a removed entry stays");
    let shown = get(&service, &source);
    assert_eq!((&*shown.name, shown.posts, shown.error), ("Campus", 3, None));
    assert_eq!(shown.topic, ["news"]);
    assert_eq!([shown.last_fetch, shown.last_success, shown.last_news], [Some(NOW); 3]);
}

#[test]
fn posts_are_counted_although_the_fetch_that_brings_them_does_not_end() {
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("Campus", &[entry(1, "One"), entry(2, "Two")]));
    let source = add(&service, &site.url("/feed"));
    let reader = service.sources();
    let record = reader.record(key_of_one(&service)).unwrap();
    let feed = atom("Campus", &[entry(1, "One")]);
    let feed = run::read(feed.as_bytes(), None, &site.url("/feed").parse().unwrap()).unwrap();
    arrive::write(&reader.store, &reader.clock, &record, feed, &mut seen::Seen::default()).unwrap();
    assert_eq!((get(&service, &source).posts, get(&service, &source).last_news), (1, Some(NOW)));
    assert_eq!(counts(&fetch(&service, &source)), [1, 0, 1]);
    assert_eq!(get(&service, &source).posts, 2);
}

#[test]
fn what_administrators_have_changed_stays() {
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("Campus", &[entry(1, "One"), entry(2, "Two")]));
    let source = add(&service, &site.url("/feed"));
    let ids: Vec<String> = fetch(&service, &source).posts.into_iter().map(|post| post.id).collect();
    let draft = post::Draft { topic: Some(vec!["sport".into()]), ..post::Draft::default() };
    service.call(&Caller::Operator, post::Update { post_obi: ids[0].clone(), draft }).unwrap();
    remove_post(&service, &ids[1]);

    site.gives("/feed", &atom("Campus", &[entry(1, "First"), entry(2, "Second")]));
    assert_eq!(counts(&fetch(&service, &source)), [0, 1, 1], "the removed post does not come back");
    assert_eq!(titles(&service), ["First"]);
    let post = service.call(&Caller::Guest, post::Get { post_obi: ids[0].clone() }).unwrap().post;
    assert_eq!(post.topic.texts(), ["sport"]);
}

#[test]
fn an_article_of_two_sources_is_one_post() {
    let (service, site) = (reading(), Site::start());
    let other = entry(1, "The same").replace("/1\"", "/1?utm_source=other\"");
    site.gives("/one", &atom("One", &[entry(1, "Article")]));
    site.gives("/two", &atom("Two", &[other, entry(2, "Another")]));
    let [one, two] = ["/one", "/two"].map(|path| add(&service, &site.url(path)));
    assert_eq!(counts(&fetch(&service, &one)), [1, 0, 0]);
    assert_eq!(counts(&fetch(&service, &two)), [1, 0, 1]);
    assert_eq!(titles(&service), ["Article", "Another"], "the first source keeps its post");
    remove(&service, &one, None);
    assert_eq!(titles(&service), ["Article", "Another"], "the posts of a removed source stay");
}

#[test]
fn a_source_changes_only_posts_of_its_own_until_it_adopts_them() {
    let (service, site) = (reading(), Site::start());
    for url in [site.url("/1"), "https://a.example/2".into()] {
        publish(&service, draft("By hand", url));
    }
    let feed = |title: &str| {
        let entries = [entry(1, title).replace("https://a.example/1", &site.url("/1")), entry(2, title)];
        site.gives("/feed", &atom("Campus", &entries));
    };
    feed("One");
    let source = add(&service, &site.url("/feed"));
    let first = fetch(&service, &source);
    assert_eq!(counts(&first), [0, 0, 2]);
    assert!(first.warnings[0].ends_with("posts that are not of this source: 2"), "{:?}", first.warnings);
    feed("First");
    assert_eq!(counts(&fetch(&service, &source)), [0, 0, 2]);
    assert_eq!(titles(&service), ["By hand", "By hand"]);

    let adopt = Update { adopt: Some(1), ..unchanged(&source) };
    let refused = service.call(&service.key(Scope::Sources), adopt.clone());
    assert!(matches!(refused, Err(Error::MissingScope(Scope::Posts))), "{refused:?}");
    service.call(&Caller::Operator, adopt).unwrap();
    assert_eq!(counts(&fetch(&service, &source)), [0, 1, 1], "the other address is on another host");
    assert_eq!(titles(&service), ["First", "By hand"]);
    remove(&service, &source, Some(1));
    assert_eq!(titles(&service), ["By hand"]);
}

#[test]
fn settings_of_a_source_are_checked_and_changed() {
    let service = service();
    let added = |add: Add| match service.call(&Caller::Operator, add) {
        Ok(added) => Ok(added.id.to_string()),
        Err(Error::BadRequest(problem)) => Err(problem.field.unwrap_or("no field")),
        Err(error) => panic!("{error:?}"),
    };
    let with = |url: &str| Add { url: url.into(), ..Add::default() };
    let source = added(with("https://a.example/feed#top")).unwrap();
    assert_eq!(get(&service, &source).url, "https://a.example/feed");
    assert_eq!(get(&service, "https://A.example/feed#x").name, "a.example");
    for (wrong, field) in [
        (with("https://a.example/feed"), "url"),
        (with("a.example"), "url"),
        (with("http://127.0.0.1/"), "url"),
        (Add { name: Some("a\nb".into()), ..with("https://b.example/") }, "name"),
        (Add { every: Some(10_081), ..with("https://b.example/") }, "every"),
        (Add { every: Some(-1), ..with("https://b.example/") }, "every"),
        (Add { topic: Some(vec![String::new()]), ..with("https://b.example/") }, "topic"),
        (Add { tag: Some(vec!["x".repeat(101)]), ..with("https://b.example/") }, "tag"),
    ] {
        assert_eq!(added(wrong), Err(field));
    }
    let update = |update: Update| service.call(&Caller::Operator, update);
    let none = unchanged(&source);
    update(Update { name: Some("News".into()), every: Some(30), ..none.clone() }).unwrap();
    update(Update { tag: Some(vec!["a".into()]), ..none.clone() }).unwrap();
    let shown = get(&service, &source);
    assert_eq!((&*shown.name, shown.every, shown.tag), ("News", Some(30), vec!["a".to_owned()]));
    update(Update { every: Some(0), ..none.clone() }).unwrap();
    assert_eq!(get(&service, &source).every, None);
    added(with("https://b.example/")).unwrap();
    let taken = update(Update { url: Some("https://b.example/".into()), ..none });
    assert!(matches!(taken, Err(Error::BadRequest(URL_TAKEN))), "{taken:?}");
}

#[test]
fn lists_are_exported_and_imported() {
    let service = service();
    let opml = "<opml><body><outline text='Campus &amp; town'><outline text='A' xmlUrl='https://a.example/f?a=1&amp;b=2' \
                category='x'/><outline text='B' xmlUrl='ftp://b.example/'/></outline></body></opml>";
    let import = |opml: &str| service.call(&Caller::Operator, Import { opml: opml.into() });
    let imported = import(opml).unwrap();
    assert_eq!((imported.inserted, imported.skipped, imported.errors[0].line), (1, 0, 2));
    let exported = service.call(&Caller::Operator, Export {}).unwrap().opml;
    let outline = "    <outline type=\"rss\" text=\"A\" xmlUrl=\"https://a.example/f?a=1&amp;b=2\" \
                   category=\"/Campus &amp; town,x\"/>\n";
    assert!(exported.contains(outline), "{exported}");
    let again = import(&exported).unwrap();
    assert_eq!((again.inserted, again.skipped, again.errors), (0, 1, vec![]));
    remove(&service, "https://a.example/f?a=1&b=2", None);
    assert_eq!(import(&exported).unwrap().inserted, 1);
    assert_eq!(service.call(&Caller::Operator, Export {}).unwrap().opml, exported);
    assert!(import("no list").is_err() && import(&"x".repeat(OPML_MAX + 1)).is_err());
}

#[test]
fn addresses_of_feed_readers_are_those_of_the_web() {
    let (service, site) = (reading(), Site::start());
    site.gives("/feed", &atom("A", &[entry(1, "One")]));
    let host = site.url("/feed").replace("http:", "");
    let source = add(&service, &format!("feed:{host}"));
    assert_eq!(get(&service, &source).url, format!("https:{host}"));
    assert_eq!(counts(&fetch(&service, &source)), [1, 0, 0], "by http, because https fails");
    assert_eq!(get(&service, &source).url, format!("http:{host}"));
    let opml = "<opml><body><outline xmlUrl='Feed:https://b.example/f'/><outline xmlUrl='feed://c.example/f'/></body></opml>";
    service.call(&Caller::Operator, Import { opml: opml.into() }).unwrap();
    for url in ["https://b.example/f", "https://c.example/f"] {
        assert_eq!(get(&service, url).url, url);
    }
    assert_eq!(get(&service, "feed:https://b.example/f").url, "https://b.example/f");
}

#[test]
fn a_feed_in_two_folders_gets_both_topics() {
    let service = service();
    let feed = "<outline text='A' xmlUrl='https://a.example/f'/>";
    let opml = format!(
        "<opml><body><outline text='x'>{feed}</outline><outline text='y'>{feed}</outline></body></opml>"
    );
    let imported = service.call(&Caller::Operator, Import { opml }).unwrap();
    assert_eq!((imported.inserted, imported.skipped, imported.errors), (1, 1, vec![]));
    assert_eq!(get(&service, "https://a.example/f").topic, ["x", "y"]);
}

#[test]
fn an_exported_list_has_only_characters_of_xml() {
    let service = service();
    add(&service, "https://a.example/f");
    let title = |tx: &mut dyn Tx| tx.run("UPDATE source SET title = $1", &["A\u{1}\u{fffe}\u{ffff}B".into()]);
    service.store().write(Isolation::Alone, title).unwrap();
    let exported = service.call(&Caller::Operator, Export {}).unwrap().opml;
    assert!(exported.contains("text=\"AB\""), "{exported}");
}

#[test]
fn readers_do_not_see_the_query_of_a_feed() {
    let (service, site) = (reading(), Site::start());
    let url = site.url("/feed?token=secret");
    let shown = |home: &str| {
        let title = format!("A</title><link href='{home}'/><title>");
        site.gives("/feed?token=secret", &atom(&title, &[entry(1, home)]));
        let source = add(&service, &url);
        let id = fetch(&service, &source).posts.pop().unwrap().id;
        let post = service.call(&Caller::Guest, post::Get { post_obi: id }).unwrap().post;
        remove(&service, &source, Some(1));
        post.source.unwrap().url
    };
    assert_eq!(shown(&url), site.url("/feed"));
    assert_eq!(shown("https://a.example/?lang=ko"), "https://a.example/?lang=ko");
}
