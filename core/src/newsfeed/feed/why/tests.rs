//! Tests of the reasons through the operations of feeds.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::base::config::{Config, Feed};
use crate::newsfeed::feed::order::Order;
use crate::newsfeed::feed::page::HOLD_MS;
use crate::newsfeed::feed::tests::followed;
use crate::newsfeed::{self, Page};
use crate::post::{self, Draft};
use crate::testing::{self, NOW, Service, draft, posts, service, service_with};
use crate::{newsfeed::index, search};

fn service_of(change: fn(&mut Feed)) -> Service {
    let mut config = Config::default();
    config.feed.interest.min_acts = 1;
    change(&mut config.feed);
    service_with(config)
}

/// Settings in which only one signal counts.
fn only(feed: &mut Feed, weight: fn(&mut Feed) -> &mut f64) {
    feed.interest_weight = 0.0;
    feed.near_weight = 0.0;
    feed.novel_weight = 0.0;
    feed.recent_weight = 0.0;
    feed.popular_weight = 0.0;
    feed.together_weight = 0.0;
    *weight(feed) = 1.0;
}

/// Settings in which only the interest counts, and of it only the shares of topics, tags and words.
fn only_interest(feed: &mut Feed, shares: [f64; 3]) {
    only(feed, |feed| &mut feed.interest_weight);
    feed.interest.meaning_share = 0.0;
    [feed.interest.topic_share, feed.interest.tag_share, feed.interest.word_share] = shares;
}

/// Publishes a post, older than those before; returns its id.
fn publish(service: &Service, title: &str, topic: &[&str], tag: &[&str]) -> String {
    static COUNT: AtomicI64 = AtomicI64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let texts = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect());
    let named = draft(title, format!("https://www.example.org/{count}")).dated(NOW - count * 60_000);
    testing::publish(service, Draft { topic: texts(topic), tag: texts(tag), ..named })
}

fn like(service: &Service, member: &Caller, id: &str) {
    post::like(service, member, id).wait().unwrap();
}

fn view(service: &Service, member: &Caller, id: &str) {
    post::view(service, member, id).wait().unwrap();
}

fn reasons(service: &Service, caller: &Caller, page: &FeedPage) -> Vec<(String, Why)> {
    let why = why(service, caller, page).unwrap().decode();
    let sum = |shares: &SignalShares| -> f64 {
        let shares = serde_json::to_value(shares).unwrap();
        assert_eq!(shares.as_object().unwrap().len(), SIGNALS);
        shares.as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum()
    };
    for Why { shares, .. } in &why {
        let sum = sum(shares);
        assert!((sum - 1.0).abs() < 1e-9 || *shares == SignalShares::default(), "{shares:?}");
    }
    page.posts().map(|post| post.title).zip(why).collect()
}

fn recommended(service: &Service, caller: &Caller) -> Vec<(String, Why)> {
    followed(service);
    let page = newsfeed::recommended(service, caller, &Page::default()).unwrap();
    reasons(service, caller, &page)
}

fn why_of(service: &Service, caller: &Caller, title: &str) -> Why {
    let all = recommended(service, caller);
    all.into_iter().find(|(other, _)| other == title).unwrap_or_else(|| panic!("{title}")).1
}

#[test]
fn an_own_post_is_named_as_liked_or_viewed() {
    let service = service_of(|feed| only_interest(feed, [0.0, 1.0, 0.0]));
    publish(&service, "Owls at night", &["birds"], &["owl"]);
    publish(&service, "Soup at noon", &["food"], &["soup"]);
    publish(&service, "Tides at dawn", &["sea"], &["tide"]);
    let owl = publish(&service, "An owl", &["birds"], &["owl"]);
    let soup = publish(&service, "A soup", &["food"], &["soup"]);
    let long = publish(&service, &"owl ".repeat(40), &["sea"], &["tide"]);
    let ann = service.member("ann");
    like(&service, &ann, &owl);
    view(&service, &ann, &soup);
    like(&service, &ann, &long);
    assert_eq!(why_of(&service, &ann, "Owls at night").text, "because you liked “An owl”");
    let shortened = format!("because you liked “{}…”", ["owl"; 14].join(" "));
    assert_eq!(why_of(&service, &ann, "Tides at dawn").text, shortened);
    let viewed = why_of(&service, &ann, "Soup at noon");
    assert_eq!(viewed.text, "because you viewed “A soup”");
    assert_eq!(viewed.shares, SignalShares { tag: 1.0, ..SignalShares::default() });
}

#[test]
fn a_hidden_own_post_is_not_named_and_a_removed_one_neither() {
    let service = service_of(|feed| only_interest(feed, [0.0, 1.0, 0.0]));
    publish(&service, "Owls at night", &["birds"], &["owl"]);
    let owls: Vec<_> = (0..3).map(|n| publish(&service, &format!("Owl {n}"), &[], &["owl"])).collect();
    let ann = service.member("ann");
    for owl in &owls {
        view(&service, &ann, owl);
    }
    like(&service, &ann, &owls[0]);
    assert_eq!(why_of(&service, &ann, "Owls at night").text, "because you liked “Owl 0”");
    service.call(&Caller::Operator, post::Remove { post_obi: (&owls[0]).into() }).unwrap();
    let named = why_of(&service, &ann, "Owls at night").text;
    assert!(["Owl 1", "Owl 2"].map(|owl| format!("because you viewed “{owl}”")).contains(&named), "{named}");
    let (hidden, other) = if named.contains('1') { (1, 2) } else { (2, 1) };
    view(&service, &ann, &owls[other]);
    post::hide(&service, &ann, &owls[hidden]).wait().unwrap();
    // Two views of owls and a hidden one leave no interest in owls, so the post has another sentence.
    assert!(!why_of(&service, &ann, "Owls at night").text.contains(&format!("Owl {hidden}")));
}

#[test]
fn a_topic_that_the_member_read_is_named() {
    let service = service_of(|feed| only_interest(feed, [1.0, 0.0, 0.0]));
    publish(&service, "Owls at night", &["nature", "birds"], &[]);
    publish(&service, "Soup at noon", &["food"], &[]);
    let owl = publish(&service, "An owl", &["birds"], &[]);
    let ann = service.member("ann");
    like(&service, &ann, &owl);
    assert_eq!(why_of(&service, &ann, "Owls at night").text, "more in birds, which you read");
    newsfeed::topic(&service, &ann, "food", &Page::default()).unwrap();
    assert_eq!(why_of(&service, &ann, "Soup at noon").text, "more in food, which you read");
}

#[test]
fn a_search_is_named_if_no_own_post_is_near() {
    let service = service_of(|feed| only_interest(feed, [0.3, 0.3, 0.4]));
    publish(&service, "Owls at night", &[], &["owl"]);
    let ann = service.member("ann");
    search::log(&service, &ann, None, "Owl").wait().unwrap();
    assert_eq!(why_of(&service, &ann, "Owls at night").text, "because you searched for “Owl”");
}

#[test]
fn the_nearest_own_post_and_what_others_did_name_an_own_post() {
    let service = service_of(|feed| only(feed, |feed| &mut feed.near_weight));
    publish(&service, "Owl feathers", &[], &[]);
    let owl = publish(&service, "Feathers of an owl", &[], &[]);
    let soup = publish(&service, "A soup", &[], &[]);
    let ann = service.member("ann");
    view(&service, &ann, &owl);
    like(&service, &ann, &soup);
    let near = why_of(&service, &ann, "Owl feathers");
    assert_eq!(near.text, "because you viewed “Feathers of an owl”");
    assert_eq!(near.shares, SignalShares { near: 1.0, ..SignalShares::default() });

    let service = service_of(|feed| only(feed, |feed| &mut feed.together_weight));
    let one = publish(&service, "One", &["a"], &[]);
    let two = publish(&service, "Two", &["b"], &[]);
    let three = publish(&service, "Three", &["c"], &[]);
    for n in 0..10 {
        let member = service.member(&format!("member{n}"));
        like(&service, &member, &one);
        like(&service, &member, &two);
    }
    let ann = service.member("ann");
    view(&service, &ann, &two);
    like(&service, &ann, &three);
    let together = why_of(&service, &ann, "One");
    assert_eq!(together.text, "because you viewed “Two”");
    assert_eq!(together.shares, SignalShares { together: 1.0, ..SignalShares::default() });
}

#[test]
fn a_guest_is_told_what_is_new_and_popular() {
    let service = service_of(|feed| feed.popular_weight = 1.0);
    let new = publish(&service, "New", &["birds"], &[]);
    publish(&service, "Without a topic", &[], &[]);
    let old = draft("Old", "https://old.example.org/").with_topic("birds");
    testing::publish(&service, old.dated(NOW - 31 * DAY_MS));
    let text = |title| why_of(&service, &Caller::Guest, title).text;
    let expected = ["new in birds", "new on www.example.org", "more in birds"];
    assert_eq!(["New", "Without a topic", "Old"].map(text), expected);
    view(&service, &Caller::Guest, &new);
    let popular = why_of(&service, &Caller::Guest, "New");
    assert_eq!(popular.text, "popular today");
    assert_eq!(popular.shares, SignalShares { popular: 1.0, ..SignalShares::default() });
}

#[test]
fn the_popular_feed_and_topic_feeds_have_one_signal() {
    let service = service_of(|_| ());
    let viewed = publish(&service, "Viewed", &["birds"], &["owl"]);
    publish(&service, "Unseen", &["birds"], &["owl"]);
    view(&service, &Caller::Guest, &viewed);
    let ann = service.member("ann");
    followed(&service);
    let popular = newsfeed::popular(&service, &Page::default()).unwrap();
    let by_popularity = SignalShares { popular: 1.0, ..SignalShares::default() };
    let recent = SignalShares { recent: 1.0, ..SignalShares::default() };
    let of = |text: &str, shares| Why { text: text.into(), shares };
    let expected = [
        ("Viewed".to_owned(), of("popular today", by_popularity)),
        ("Unseen".to_owned(), of("new in birds", recent)),
    ];
    for caller in [&ann, &Caller::Guest] {
        assert_eq!(reasons(&service, caller, &popular), expected);
        let topic = newsfeed::topic(&service, caller, "owl", &Page::default()).unwrap();
        let why = reasons(&service, caller, &topic);
        assert!(why.len() == 2 && why.iter().all(|(_, why)| *why == of("new in owl", recent)), "{why:?}");
    }
}

#[test]
fn old_acts_are_not_of_today() {
    let service = service();
    let id = publish(&service, "One", &[], &[]);
    view(&service, &Caller::Guest, &id);
    followed(&service);
    let index = service.feeds().index().unwrap();
    let text = |after_ms| {
        let facts = PublicFacts::new(&index, NOW + after_ms);
        facts.sentence(Signal::Popular, FeedKind::Popular, index.item(0))
    };
    assert_eq!([0, DAY_MS - 1_000, DAY_MS + 1_000].map(text), ["popular today", "popular today", "popular"]);
}

#[test]
fn a_sentence_never_names_a_post_that_is_not_the_members_own() {
    let service = service_of(|_| ());
    let topics = ["birds", "food", "stars"];
    let name = |n: usize| format!("{} number {n:02}.", topics[n % 3]);
    let post = |n: usize| publish(&service, &name(n), &[topics[n % 3]], &[topics[n % 2]]);
    let ids: Vec<_> = (0..36).map(post).collect();
    let members: Vec<_> = (0..9).map(|n| service.member(&format!("member{n}"))).collect();
    for (n, member) in members.iter().enumerate() {
        ids.iter().skip(n % 2).step_by(2).for_each(|id| like(&service, member, id));
    }
    let ann = service.member("ann");
    let own = [0, 7, 12, 20];
    for n in own {
        view(&service, &ann, &ids[n]);
    }
    like(&service, &ann, &ids[3]);
    let of_own: HashSet<_> = own.into_iter().chain([3]).map(|n| format!("“{}”", name(n))).collect();
    let mut named = HashSet::new();
    for (title, Why { text, shares }) in recommended(&service, &ann) {
        assert!(shares.topic + shares.novel + shares.recent > 0.0, "{title}: {shares:?}");
        if let Some((_, title)) = text.split_once('“') {
            named.insert(format!("“{title}"));
        } else {
            let known = ["more in", "new in", "popular"].iter().any(|begin| text.starts_with(begin));
            assert!(known && !text.contains("number"), "{text}");
        }
    }
    assert!(!named.is_empty() && named.is_subset(&of_own), "{named:?}");
}

#[test]
fn the_page_of_another_member_tells_nothing_of_them() {
    let service = service_of(|feed| only_interest(feed, [0.0, 1.0, 0.0]));
    publish(&service, "Owls at night", &["birds"], &["owl"]);
    let owl = publish(&service, "An owl", &["birds"], &["owl"]);
    let (ann, bob) = (service.member("ann"), service.member("bob"));
    like(&service, &ann, &owl);
    followed(&service);
    let page = newsfeed::recommended(&service, &ann, &Page::default()).unwrap();
    assert_eq!(reasons(&service, &ann, &page)[0].1.text, "because you liked “An owl”");
    for other in [&bob, &Caller::Guest, &Caller::Operator] {
        assert_eq!(reasons(&service, other, &page)[0].1.text, "new in birds");
    }
}

#[test]
fn the_reasons_of_a_page_are_computed_once_a_minute_until_something_changes() {
    let service = service_of(|feed| only_interest(feed, [0.0, 1.0, 0.0]));
    publish(&service, "Owls at night", &["birds"], &["owl"]);
    let owls = ["An owl", "Another owl"].map(|title| publish(&service, title, &["birds"], &["owl"]));
    let (ann, bob) = (service.member("ann"), service.member("bob"));
    view(&service, &ann, &owls[0]);
    followed(&service);
    let page = || newsfeed::recommended(&service, &ann, &Page::default()).unwrap();
    let reasons = || of_page(&service, &ann, &page()).unwrap();
    assert_eq!(why(&service, &bob, &page()).unwrap().decode()[0].text, "new in birds");
    let first = reasons();
    assert_eq!(first.decode()[0].text, "because you viewed “An owl”");
    assert!(Arc::ptr_eq(&first, &reasons()));
    like(&service, &ann, &owls[1]);
    followed(&service);
    let second = reasons();
    assert_eq!(second.decode()[0].text, "because you liked “Another owl”");
    let page = newsfeed::with_own_likes(&service, &ann, page()).unwrap();
    assert!(Arc::ptr_eq(&second, &of_page(&service, &ann, &page).unwrap()), "other counts change nothing");
    service.clock().advance(HOLD_MS);
    assert!(!Arc::ptr_eq(&second, &of_page(&service, &ann, &page).unwrap()));
}

#[test]
fn posts_that_were_not_ranked_for_the_member_are_counted_apart() {
    let rows = (0..5).map(|key| index::tests::row(key, NOW - key, "birds")).collect();
    let index = FeedIndex::next(None, rows, &[], None, index::tests::as_of_now(), &Feed::default());
    let guests = &index.recommended_feed.order;
    let order = Order::personal(MemberKey::new(1), posts([3, 4]), guests, posts([0]));
    let ranked = |order, at, limit| index.page(order, at, limit, NOW).ranked();
    assert_eq!([(0, 1), (0, 4), (1, 4), (2, 4)].map(|(at, limit)| ranked(&order, at, limit)), [1, 2, 1, 0]);
    assert_eq!(ranked(guests, 0, 4), 0);
}

/// Returns what these signals add, and 0 for the others.
fn values(parts: &[(Signal, f32)]) -> Values {
    let mut values = [0.0; SIGNALS];
    for (signal, part) in parts {
        values[*signal as usize] = *part;
    }
    values
}

#[test]
fn the_sentence_is_of_the_largest_group_of_signals_and_its_largest_part() {
    let chosen = |parts: &[(Signal, f32)]| {
        reason(&values(parts), |signal| (signal != Signal::Word).then(|| format!("{signal:?}"))).text
    };
    let (topic, tag, recent) = ((Signal::Topic, 0.3), (Signal::Tag, 0.2), (Signal::Recent, 0.4));
    assert_eq!(chosen(&[topic, recent]), "Recent");
    assert_eq!(chosen(&[topic, tag, recent]), "Topic");
    assert_eq!(chosen(&[topic, tag, (Signal::Word, 0.25), recent]), "Tag", "words have no sentence here");
    assert_eq!(chosen(&[topic, tag, (Signal::CoVisits, 0.4), recent]), "CoVisits");
    assert_eq!(chosen(&[topic, (Signal::Popular, 0.5), recent]), "Popular");
    assert_eq!(chosen(&[(Signal::Word, 0.5)]), "Recent", "nothing else has a share");
}

#[test]
fn shares_are_rounded_to_a_sum_of_one() {
    let of = |parts: &[(Signal, f32)]| shares(&values(parts));
    let thirds =
        of(&[(Signal::Topic, 1.0), (Signal::Near, 1.0), (Signal::CoVisits, 1.0), (Signal::Meaning, -5.0)]);
    let expected = SignalShares { topic: 0.334, near: 0.333, together: 0.333, ..SignalShares::default() };
    assert_eq!(thirds, expected);
    assert_eq!(of(&[(Signal::Meaning, -1.0)]), SignalShares::default());
}

#[test]
fn a_post_that_has_left_the_feeds_since_the_page_still_has_a_reason() {
    let rows = (0..3).map(|key| index::tests::row(key, NOW - key, "birds")).collect();
    let index = FeedIndex::next(None, rows, &[], None, index::tests::as_of_now(), &Feed::default());
    let page = index.recommended_feed.first.clone();
    let empty = FeedIndex::next(None, Vec::new(), &[], None, index::tests::as_of_now(), &Feed::default());
    let facts = PublicFacts::new(&empty, NOW);
    let Why { text, shares } = facts.why(FeedKind::Recommended, &page.items()[0]);
    assert_eq!((text.as_str(), shares.recent), ("new in birds", 1.0));
}
