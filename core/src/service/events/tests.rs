use proptest::prelude::*;

use super::*;
use crate::account::Caller;
use crate::testing::{self, NOW, Service, draft, publish, service};
use crate::{notice, post};

const OPERATOR: Caller = Caller::Operator;

fn start(service: &Service) -> Follower {
    Follower::start(service).unwrap().0
}

fn told(news: &News) -> Vec<String> {
    let line = |event: &Event| match &event.content {
        Content::Notice(NoticeChange::Published { notice }) => format!("published {}", notice.title),
        Content::Notice(NoticeChange::Changed { notice }) => format!("changed {}", notice.title),
        Content::Notice(NoticeChange::Hidden { id }) => format!("hidden {id}"),
        Content::Post(post) => format!("post {} {:?}", post.post.title, post.topic),
        Content::Counts(counts) => format!("{} views", counts.today_view),
        Content::Reset { event } => format!("reset {}", event.name()),
    };
    news.events.iter().map(line).collect()
}

fn notice(title: &str, activation: i64) -> notice::Draft {
    notice::Draft { activation: Some(activation), ..testing::notice(title) }
}

fn insert_notice(service: &Service, title: &str, activation: i64) -> String {
    service.call(&OPERATOR, notice::Insert { draft: notice(title, activation) }).unwrap().id.to_string()
}

fn update_notice(service: &Service, id: &str, title: Option<&str>, activation: Option<i64>) {
    let draft = notice::Draft { title: title.map(Into::into), activation, ..notice::Draft::default() };
    service.call(&OPERATOR, notice::Update { notice_obi: id.into(), draft }).unwrap();
}

fn insert_posts(service: &Service, numbers: std::ops::Range<usize>) -> Vec<String> {
    let post = |n| draft(format!("Post {n}"), format!("https://a.example/{n}")).with_topic("news");
    numbers.map(|n| publish(service, post(n))).collect()
}

#[test]
fn notices_are_told_as_guests_see_them() {
    let service = service();
    insert_notice(&service, "Old", 1);
    let mut follower = start(&service);
    assert!(told(&follower.look()).is_empty());
    let id = insert_notice(&service, "Draft", 0);
    update_notice(&service, &id, Some("Better draft"), None);
    assert!(told(&follower.look()).is_empty(), "a hidden notice is told to nobody");
    update_notice(&service, &id, None, Some(1));
    assert_eq!(told(&follower.look()), ["published Better draft"]);
    update_notice(&service, &id, Some("Final"), None);
    assert_eq!(told(&follower.look()), ["changed Final"]);
    service.call(&Caller::Guest, notice::Get { notice_obi: id.clone(), html: None }).unwrap();
    assert!(told(&follower.look()).is_empty(), "a view is no change");
    update_notice(&service, &id, Some("Secret"), Some(0));
    let news = follower.look();
    assert_eq!(told(&news), [format!("hidden {id}")]);
    assert_eq!(news.withdrawn, [news.events[0].mark.subject.unwrap()]);
    update_notice(&service, &id, None, Some(1));
    assert_eq!(told(&follower.look()), ["published Secret"]);
    service.call(&OPERATOR, notice::Remove { notice_obi: id.clone() }).unwrap();
    assert_eq!(told(&follower.look()), [format!("hidden {id}")]);
}

#[test]
fn posts_are_told_once_and_removed_ones_are_withdrawn() {
    let service = service();
    let first = insert_posts(&service, 0..2);
    let (mut follower, before, news) = Follower::start(&service).unwrap();
    assert_eq!(told(&news), [r#"post Post 0 ["news"]"#, r#"post Post 1 ["news"]"#]);
    assert!(before.lacks(&news.events[0].mark) && !follower.place().lacks(&news.events[1].mark));
    assert!(news.events[0].mark.place.lacks(&news.events[1].mark));
    post::view(&service, &Caller::Guest, &first[0]).wait().unwrap();
    assert!(told(&follower.look()).is_empty(), "a view is no new post");
    insert_posts(&service, 2..3);
    assert_eq!(told(&follower.look()), [r#"post Post 2 ["news"]"#]);
    service.call(&OPERATOR, post::Remove { post_obi: (&first[1]).into() }).unwrap();
    let removed = follower.look();
    assert!(removed.events.is_empty());
    assert_eq!(removed.withdrawn, [news.events[1].mark.subject.unwrap()]);
    let ended = draft("Ended", "https://a.example/ended");
    publish(&service, post::Draft { end_date: Some(NOW.to_string()), ..ended });
    assert!(told(&follower.look()).is_empty());
}

#[test]
fn many_posts_at_once_are_a_reset() {
    let service = service();
    let mut follower = start(&service);
    insert_posts(&service, 0..POSTS_MAX);
    assert_eq!(follower.look().events.len(), POSTS_MAX);
    insert_posts(&service, POSTS_MAX..2 * POSTS_MAX + 1);
    let news = follower.look();
    assert_eq!(told(&news), ["reset post"]);
    assert_eq!(serde_json::json!(news.events[0].content), serde_json::json!({ "event": "post" }));
    insert_posts(&service, 2 * POSTS_MAX + 1..2 * POSTS_MAX + 2);
    assert_eq!(follower.look().events.len(), 1);
    // The last posts are told at the start; whoever lacks more is outside.
    let (follower, first, news) = Follower::start(&service).unwrap();
    assert_eq!(news.events.len(), POSTS_MAX);
    let (early, last) = (Place { notices: 0, moment: 0, posts: PostKey::from_stored(1) }, follower.last());
    assert!(!early.is_within(first, last, Kind::Post) && first.is_within(first, last, Kind::Post));
    assert!(!Place { posts: PostKey::MAX, ..last }.is_within(first, last, Kind::Post));
}

#[test]
fn changes_of_another_process_are_told_and_places_mean_the_same_there() {
    let service = service();
    let other = service.beside();
    let (mut here, mut there) = (start(&service), Follower::start(&other).unwrap().0);
    insert_notice(&service, "Library", 1);
    insert_posts(&service, 0..1);
    // Each kind has its own order, and a running transaction of the program itself can hold a place back.
    let all = |follower: &mut Follower| {
        let (mut events, begin) = (Vec::new(), std::time::Instant::now());
        while events.len() < 2 || follower.place() != follower.last() {
            assert!(begin.elapsed() < std::time::Duration::from_secs(30), "{events:?}");
            events.extend(told(&follower.look()));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        events.sort();
        events
    };
    assert_eq!(all(&mut here), all(&mut there));
    assert_eq!(here.place(), there.place());
    let (restarted, begin, _) = Follower::start(&other).unwrap();
    assert!(here.place().is_within(begin, restarted.last(), Kind::Notice), "nothing was missed");
    insert_notice(&service, "Another", 1);
    let (restarted, begin, _) = Follower::start(&service).unwrap();
    assert!(!here.place().is_within(begin, restarted.last(), Kind::Notice), "a notice was missed");
}

#[test]
fn a_listener_with_a_part_of_the_changes_of_one_look_gets_all_of_them_again() {
    let service = service();
    let mut follower = start(&service);
    insert_notice(&service, "One", 1);
    insert_notice(&service, "Two", 1);
    let news = follower.look();
    assert_eq!(told(&news), ["published One", "published Two"]);
    let [one, two] = [news.events[0].mark, news.events[1].mark];
    assert!(one.place.lacks(&one) && one.place.lacks(&two));
    assert!(!two.place.lacks(&one) && !two.place.lacks(&two));
    let mut place = one.place;
    place.pass(&one);
    assert!(!place.lacks(&two));
}

#[test]
fn counts_are_told_when_they_change() {
    let service = service();
    let mut follower = start(&service);
    let id = insert_posts(&service, 0..1).remove(0);
    assert!(follower.counts().unwrap().is_some());
    assert!(follower.counts().unwrap().is_none());
    post::view(&service, &Caller::Guest, &id).wait().unwrap();
    let Some(Event { content: Content::Counts(counts), .. }) = follower.counts().unwrap() else {
        panic!("the view is counted")
    };
    assert_eq!((counts.date.as_str(), counts.today_view), ("2026-11-20", 1));
    service.clock().advance(crate::base::clock::DAY_MS);
    assert!(follower.counts().unwrap().is_some(), "another day begins with zeros");
}

#[test]
fn a_notice_that_begins_or_ends_by_time_is_told() {
    let service = service();
    let at = |ms: i64| Some((NOW + ms).to_string());
    let dates = |title: &str, from, until, topic: Option<&str>, members_only| notice::Draft {
        visible_from: at(from),
        visible_until: at(until),
        topic: topic.map(Into::into),
        members_only: Some(members_only),
        ..notice(title, 1)
    };
    let insert = |draft| service.call(&OPERATOR, notice::Insert { draft }).unwrap().id;
    let id = insert(dates("Dated", 10, 20, None, 0));
    insert(dates("Of a topic", 12, 18, Some("sea"), 0));
    insert(dates("For members", 12, 18, None, 1));
    let mut follower = start(&service);
    let first = follower.place();
    service.clock().advance(9);
    assert!(told(&follower.look()).is_empty());
    service.clock().advance(1);
    let published = follower.look();
    assert_eq!(told(&published), ["published Dated"]);
    let begun = follower.place();
    assert!(follower.look().events.is_empty());
    service.clock().advance(5);
    assert!(told(&follower.look()).is_empty());
    service.clock().advance(5);
    let ended = follower.look();
    assert_eq!(told(&ended), [format!("hidden {id}")]);
    assert_eq!(ended.withdrawn, [published.events[0].mark.subject.unwrap()]);
    // A listener continues after what it was told, although the database has not changed.
    let (published, ended) = (published.events[0].mark, ended.events[0].mark);
    assert!(first.lacks(&published) && first.lacks(&ended));
    assert!(!begun.lacks(&published) && begun.lacks(&ended));
    assert!(!follower.place().lacks(&ended));
    // A server that starts later is at the same place, and knows that the first one lacks something.
    let (later, floor, _) = Follower::start(&service).unwrap();
    assert_eq!(later.place(), follower.place());
    assert!(!first.is_within(floor, later.last(), Kind::Notice));
    assert!(follower.place().is_within(floor, later.last(), Kind::Notice));
}

proptest! {
    #[test]
    fn a_place_is_read_as_it_is_written(notices in 0..i64::MAX, moment in 0..i64::MAX, posts in 0..i64::MAX) {
        let posts = PostKey::from_stored(posts);
        for moment in [0, moment] {
            let place = Place { notices, moment, posts };
            prop_assert_eq!(place.to_string().parse(), Ok(place));
        }
    }

    #[test]
    fn only_two_or_three_numbers_are_a_place(text in "[-0-9a+]{0,8}") {
        let is_number = |n: &str| n.parse::<i64>().is_ok() && n.bytes().all(|b| b.is_ascii_digit());
        let numbers: Vec<_> = text.split('-').map(is_number).collect();
        let is_place = (2..=3).contains(&numbers.len()) && numbers.iter().all(|is_number| *is_number);
        prop_assert_eq!(text.parse::<Place>().is_ok(), is_place);
    }
}
