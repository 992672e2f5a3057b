use super::*;
use crate::account::Caller;
use crate::newsfeed::{ListPopular, Paging};
use crate::post::{self, Draft};
use crate::profile::{ChangeNickname, Get, GetLists, LIST_MAX, Lists, UserInfo};
use crate::search::{self, ListRecent};
use crate::testing::{Service, draft, publish, service};

fn insert(service: &Service, title: &str) -> String {
    publish(service, draft(title, format!("https://a.example/{title}")))
}

fn like(service: &Service, member: &Caller, post: &str) {
    service.clock().advance(1_000);
    post::like(service, member, post).wait().unwrap();
}

fn info(service: &Service, member: &Caller) -> (Arc<Encoded>, UserInfo) {
    let info = service.call(member, Get {}).unwrap();
    (Arc::clone(info.encoded()), info.fields())
}

fn lists(service: &Service, member: &Caller) -> (Arc<Encoded>, Lists) {
    let lists = service.call(member, GetLists { type_num: "0".into() }).unwrap();
    (Arc::clone(lists.encoded()), lists.fields())
}

fn favourites(service: &Service, member: &Caller) -> Vec<String> {
    info(service, member).1.user_fav_list.into_iter().map(|post| post.title).collect()
}

#[test]
fn an_answer_is_the_same_until_something_in_it_changes() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let posts = ["a", "b"].map(|title| insert(&service, title));
    for post in &posts {
        like(&service, &ann, post);
    }
    let answers = || (info(&service, &ann).0, lists(&service, &ann).0);
    let is_same = |(info, lists): &(Arc<Encoded>, Arc<Encoded>)| {
        let (info_now, lists_now) = answers();
        [Arc::ptr_eq(info, &info_now), Arc::ptr_eq(lists, &lists_now)]
    };
    let before = answers();
    like(&service, &ben, &posts[0]);
    post::view(&service, &ben, &posts[0]).wait().unwrap();
    insert(&service, "c");
    assert_eq!(is_same(&before), [true; 2], "others act, and a post is new");

    service.call(&ann, ChangeNickname { new_nickname: "Annie".into() }).unwrap();
    assert_eq!(is_same(&before), [false, true]);
    assert_eq!(info(&service, &ann).1.nickname, "Annie");

    let before = answers();
    let draft = Draft { title: Some("A better title".into()), ..Draft::default() };
    service.call(&Caller::Operator, post::Update { post_obi: posts[0].clone(), draft }).unwrap();
    assert_eq!(is_same(&before), [false; 2]);
    assert_eq!(favourites(&service, &ann), ["b", "A better title"]);

    let before = answers();
    search::log(&service, &ann, None, "A whale").wait().unwrap();
    assert_eq!(is_same(&before), [false; 2]);
    assert_eq!(lists(&service, &ann).1.search_list.unwrap()[0].original, "A whale");
    let lately = || service.call(&ann, ListRecent { num: 5 }).unwrap();
    assert!(Arc::ptr_eq(lately().encoded(), lately().encoded()));
    assert_eq!(lately().fields().lately_search_list.len(), 1);

    let before = answers();
    service.call(&Caller::Operator, post::Remove { post_obi: posts[1].clone() }).unwrap();
    assert_eq!(is_same(&before), [false; 2]);
    assert_eq!(favourites(&service, &ann), ["A better title"]);
    post::unlike(&service, &ann, &posts[0]).wait().unwrap();
    assert!(favourites(&service, &ann).is_empty());
    assert!(favourites(&service, &ben) == ["A better title"], "the answers are those of each member");
}

#[test]
fn removed_posts_take_no_place_in_a_list() {
    let service = service();
    let ann = service.member("ann");
    let lines =
        (0..LIST_MAX + 20).map(|n| format!("{{\"title\":\"{n}\",\"url\":\"https://a.example/{n}\"}}\n"));
    let lines: String = lines.collect();
    post::import(&service, &Caller::Operator, lines.as_bytes(), &mut crate::import::to_the_end).unwrap();
    let ids = service.texts("SELECT id FROM post ORDER BY key");
    for id in &ids {
        like(&service, &ann, id);
    }
    for id in &ids[ids.len() - 12..] {
        service.call(&Caller::Operator, post::Remove { post_obi: id.clone() }).unwrap();
    }
    let expected: Vec<String> = (8..LIST_MAX + 8).rev().map(|n| n.to_string()).collect();
    assert_eq!(favourites(&service, &ann), expected);
}

#[test]
fn the_newest_300_searches_are_listed() {
    let service = service();
    let ann = service.member("ann");
    for n in 0..305 {
        search::log(&service, &ann, None, &format!("term {n}")).wait().unwrap();
        service.clock().advance(1);
    }
    let searches = lists(&service, &ann).1.search_list.unwrap().into_iter().map(|search| search.original);
    let expected: Vec<_> = (5..305).rev().map(|n| format!("term {n}")).collect();
    assert_eq!(searches.collect::<Vec<_>>(), expected);
}

#[test]
fn an_answer_of_changes_beyond_the_horizon_is_not_kept() {
    let service = service();
    let ann = service.member("ann");
    let post = insert(&service, "a");
    like(&service, &ann, &post);
    service.store().hold_horizon();
    let draft = Draft { title: Some("b".into()), ..Draft::default() };
    service.call(&Caller::Operator, post::Update { post_obi: post, draft }).unwrap();
    let [first, second] = [(); 2].map(|()| info(&service, &ann).0);
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!((first.json(), favourites(&service, &ann)), (second.json(), vec!["b".to_owned()]));
}

#[test]
fn the_likes_that_a_feed_shows_are_current_also_of_a_member_with_too_many_to_keep() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let posts = ["a", "b"].map(|title| insert(&service, title));
    let liked = |member: &Caller| -> Vec<String> {
        let page = Paging { liked: Some(1), ..Paging::default() };
        let feed = service.call(member, ListPopular { page, format: None }).unwrap().fields();
        let liked = feed.newsfeed.into_iter().filter(|post| post.liked == Some(1));
        liked.map(|post| post.post.title).collect()
    };
    assert!(liked(&ann).is_empty());
    like(&service, &ann, &posts[0]);
    assert_eq!((liked(&ann), liked(&ben)), (vec!["a".to_owned()], vec![]));
    post::unlike(&service, &ann, &posts[0]).wait().unwrap();
    assert!(liked(&ann).is_empty());
    like(&service, &ann, &posts[1]);
    service.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1024)
         INSERT INTO settled_like (member, post, date)
         SELECT m.key, 1000000 + i, 1 FROM n, member m WHERE m.folded = 'ann'",
    );
    like(&service, &ann, &posts[0]);
    assert_eq!(liked(&ann), ["b", "a"]);
    post::unlike(&service, &ann, &posts[1]).wait().unwrap();
    assert_eq!((liked(&ann), liked(&ann)), (vec!["a".to_owned()], vec!["a".to_owned()]));
}
