use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use crate::account::Caller;
use crate::record::error::Outcome;
use crate::testing::{NOW, Service, service};

mod drafts;
mod placement;
mod reads;

fn draft(title: &str, post: &str) -> Draft {
    Draft { title: Some(title.into()), post: Some(post.into()), ..Draft::default() }
}

fn activation(activation: i64) -> Draft {
    Draft { activation: Some(activation), ..Draft::default() }
}

fn insert(tidings: &Tidings, caller: &Caller, draft: &Draft) -> Result<String> {
    Ok(tidings.call(caller, Insert { draft: draft.clone() })?.id.to_string())
}

fn insert_as_operator(tidings: &Tidings, draft: &Draft) -> String {
    insert(tidings, &Caller::Operator, draft).unwrap()
}

fn update(tidings: &Tidings, caller: &Caller, id: &str, draft: &Draft) -> Result<()> {
    tidings.call(caller, Update { notice_obi: id.into(), draft: draft.clone() })
}

fn remove(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    tidings.call(caller, Remove { notice_obi: id.into() })
}

fn get(tidings: &Tidings, caller: &Caller, id: &str) -> Result<Notice> {
    Ok(tidings.call(caller, Get { notice_obi: id.into(), html: None })?.notice_list)
}

/// Reads a notice as a guest, and returns its views.
fn read(tidings: &Tidings, id: &str) -> i64 {
    get(tidings, &Caller::Guest, id).unwrap().view
}

fn list(tidings: &Tidings, caller: &Caller) -> NoticeList {
    tidings.call(caller, List::default()).unwrap()
}

fn titles(tidings: &Tidings, caller: &Caller) -> Vec<String> {
    list(tidings, caller).notices().iter().map(|notice| notice.title.to_string()).collect()
}

/// Returns the notices in the database, as another process reads them.
fn stored(service: &Service) -> Vec<Notice> {
    list(&another_process(service), &Caller::Operator).notices().to_vec()
}

fn another_process(service: &Service) -> Tidings {
    Tidings::builder(service.location()).clock(service.clock().clone()).open().unwrap()
}

/// Commits the deferred writes.
fn flush(tidings: &Tidings) {
    tidings.store().flush().wait().unwrap();
}

#[test]
fn everybody_reads_notices_newest_first() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    insert(&service, &ann, &draft("cafe\u{301} 🦀", "one\n\ttwo\r\n")).unwrap();
    insert(&service, &ann, &draft("same moment", "b")).unwrap();
    service.clock().advance(1_000);
    insert_as_operator(&service, &draft(&"한".repeat(200), &"한".repeat(20_000)));
    for caller in [&Caller::Guest, &Caller::token("forged"), &ben, &ann] {
        assert_eq!(titles(&service, caller), [&*"한".repeat(200), "same moment", "café 🦀"]);
    }
    let list = list(&service, &Caller::Guest);
    assert_eq!(list.answer().json(), &answer::success(&list));
}

#[test]
fn a_notice_that_becomes_visible_late_is_listed() {
    let service = service();
    let insert = |title: &str| {
        service.clock().advance(1_000);
        insert_as_operator(&service, &draft(title, "b"));
    };
    insert("first");
    assert_eq!(titles(&service, &Caller::Guest), ["first"]);
    let late = service.store().hold_horizon();
    insert("second");
    assert_eq!(titles(&service, &Caller::Guest), ["second", "first"]);
    service.store().write_late(late, || insert("late"));
    assert_eq!(titles(&service, &Caller::Guest), ["late", "second", "first"]);
    service.store().release_horizon();
    assert_eq!(titles(&service, &Caller::Guest), ["late", "second", "first"]);
}

#[test]
fn invalid_notices_are_refused_and_nothing_is_written() {
    let service = service();
    let ann = service.admin("ann");
    let id = insert_as_operator(&service, &draft(&"t".repeat(200), "p"));
    let before = stored(&service);
    let titles = ["", " \u{3000}", "t\n", "t\0", &"한".repeat(201)].map(|title| draft(title, "p"));
    let posts = ["", " \n", "p\0", "p\u{1b}", &"한".repeat(20_001)].map(|post| draft("t", post));
    let others = [activation(2), activation(-1), Draft::default()];
    for draft in titles.iter().chain(&posts).chain(&others) {
        assert!(matches!(insert(&service, &ann, draft), Err(Error::BadRequest(_))), "{draft:?}");
        assert!(matches!(update(&service, &ann, &id, draft), Err(Error::BadRequest(_))), "{draft:?}");
    }
    for draft in [activation(1), Draft { post: None, ..draft("t", "") }] {
        assert!(matches!(insert(&service, &ann, &draft), Err(Error::BadRequest(_))), "{draft:?}");
    }
    assert_eq!(stored(&service), before);
}

#[test]
fn who_may_not_change_notices_learns_neither_their_rules_nor_their_ids() {
    let service = service();
    let (ben, id) = (service.member("ben"), insert_as_operator(&service, &draft("t", "p")));
    for caller in [&Caller::Guest, &ben] {
        for refused in [
            insert(&service, caller, &Draft::default()).map(drop),
            update(&service, caller, &id, &Draft::default()),
            update(&service, caller, "no id", &draft("new", "new")),
            remove(&service, caller, "no id"),
        ] {
            assert!(matches!(refused, Err(Error::Documented(Outcome::NotAdmin, _))), "{caller:?}");
        }
    }
}

#[test]
fn an_update_changes_the_given_fields_but_not_the_date_and_the_views() {
    let service = service();
    let (ann, id) = (service.admin("ann"), insert_as_operator(&service, &draft("t", "p")));
    read(&service, &id);
    flush(&service);
    service.clock().advance(1_000);
    let steps = [
        (Draft { title: Some("new".into()), ..Draft::default() }, ("new", "p", 1)),
        (Draft { post: Some("text".into()), ..Draft::default() }, ("new", "text", 1)),
        (activation(0), ("new", "text", 0)),
        (Draft { activation: Some(1), ..draft("t", "p") }, ("t", "p", 1)),
    ];
    for (draft, (title, post, activation)) in steps {
        update(&service, &ann, &id.to_uppercase(), &draft).unwrap();
        let activation = Visibility::from_activation(activation).unwrap();
        let expected = Notice {
            id: ObjectId::parse(&id).unwrap(),
            title: title.into(),
            post: post.into(),
            view: 1,
            date: NOW,
            activation,
            html: None,
        };
        assert_eq!(stored(&service), list(&service, &ann).notices());
        assert_eq!(stored(&service), [expected]);
    }
}

#[test]
fn an_unknown_notice_is_not_found() {
    let service = service();
    let (ann, id) = (service.admin("ann"), insert_as_operator(&service, &draft("t", "p")));
    remove(&service, &ann, &id).unwrap();
    assert_eq!(stored(&service), []);
    for id in [id.as_str(), "65f0a0000000000000000000", "", "no id", "%00", "../../etc/passwd"] {
        assert!(matches!(get(&service, &ann, id), Err(Error::NotFound)), "{id}");
        assert!(matches!(try_get(&service, id), Some(Err(Error::NotFound))), "{id}");
        assert!(matches!(update(&service, &ann, id, &activation(0)), Err(Error::NotFound)), "{id}");
        let removed = remove(&service, &ann, id);
        assert!(matches!(removed, Err(Error::Documented(Outcome::NotFound, _))), "{id}");
    }
}

#[test]
fn only_administrators_see_hidden_notices() {
    let service = service();
    let (ann, ben, _) = (service.admin("ann"), service.member("ben"), service.admin("root"));
    let hidden = insert_as_operator(&service, &Draft { activation: Some(0), ..draft("hidden", "p") });
    let shown = insert_as_operator(&service, &draft("shown", "p"));
    for caller in [&Caller::Guest, &Caller::token("forged"), &ben] {
        assert_eq!(titles(&service, caller), ["shown"]);
        assert!(matches!(get(&service, caller, &hidden), Err(Error::NotFound)));
        get(&service, caller, &shown).unwrap();
    }
    assert!(matches!(try_get(&service, &hidden), Some(Err(Error::NotFound))));
    assert_eq!(try_list(&service).unwrap().notices().len(), 1);
    for caller in [&ann, &Caller::Operator] {
        assert_eq!(titles(&service, caller), ["shown", "hidden"]);
        get(&service, caller, &hidden).unwrap();
    }
    // Only the reads of administrators counted as views.
    let views: Vec<i64> = list(&service, &ann).notices().iter().map(|notice| notice.view).collect();
    assert_eq!(views, [3, 2]);
    service.call(&Caller::Operator, crate::admin::Revoke { user_id: "ann".into() }).unwrap();
    assert_eq!(titles(&service, &ann), ["shown"], "a former administrator");
    update(&service, &Caller::Operator, &hidden, &activation(1)).unwrap();
    assert_eq!(titles(&service, &Caller::Guest), ["shown", "hidden"]);
}

#[test]
fn reads_from_memory_return_only_current_notices() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    assert!(try_list(&service).is_none() && try_get(&service, &id).is_none());
    list(&service, &Caller::Guest);
    assert_eq!(try_list(&service).unwrap().notices().len(), 1);
    assert_eq!(try_get(&service, &id).unwrap().unwrap().notice_list.view, 1);
    update(&service, &Caller::Operator, &id, &draft("new", "new")).unwrap();
    assert!(try_list(&service).is_none() && try_get(&service, &id).is_none());
    assert_eq!(titles(&service, &Caller::Guest), ["new"]);
    // Writes of other slices and views do not invalidate the cache.
    service.member("ben");
    flush(&service);
    assert_eq!(try_list(&service).unwrap().notices()[0].view, 1);
}

#[test]
fn the_encoded_list_is_shared_until_a_view_is_counted() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    let encoded = || Arc::clone(list(&service, &Caller::Guest).answer());
    let first = encoded();
    assert!(Arc::ptr_eq(&first, &encoded()));
    read(&service, &id);
    let second = encoded();
    assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &encoded()));
    let has_views = |json: &[u8], views: &str| str::from_utf8(json).unwrap().contains(views);
    assert!(has_views(first.json(), r#""view":0"#) && has_views(second.json(), r#""view":1"#));
}

#[test]
fn views_are_written_soon_or_with_the_next_commit() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    assert_eq!([(); 3].map(|()| read(&service, &id)), [1, 2, 3]);
    flush(&service);
    assert_eq!(stored(&service)[0].view, 3);
    read(&service, &id);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while stored(&service)[0].view < 4 && std::time::Instant::now() < until {
        thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(stored(&service)[0].view, 4);
}

#[test]
fn views_of_two_processes_add_up_and_stopping_loses_none() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    let other = another_process(&service);
    // Both processes have read the notices before any view is written.
    assert_eq!(titles(&service, &Caller::Guest), titles(&other, &Caller::Guest));
    assert_eq!((read(&service, &id), read(&other, &id), read(&other, &id)), (1, 1, 2));
    drop(other);
    // Without background work, the views of the other process appear after a change of a notice; pending views here are
    // neither lost nor counted twice.
    assert_eq!(read(&service, &id), 2);
    update(&service, &Caller::Operator, &id, &draft("new", "p")).unwrap();
    assert_eq!(read(&service, &id), 5);
    update(&service, &Caller::Operator, &id, &draft("newer", "p")).unwrap();
    assert_eq!((read(&service, &id), read(&service, &id)), (6, 7));
    flush(&service);
    assert_eq!(stored(&service)[0].view, 7);
}

#[test]
fn concurrent_views_changes_and_commits_count_each_view_once() {
    const READERS: usize = 4;
    const READS: usize = 1_000;
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    let (tidings, id, done) = (&service.tidings, id.as_str(), &AtomicBool::new(false));
    let mut views: Vec<i64> = thread::scope(|scope| {
        let change = scope.spawn(move || {
            // At least once, even if the thread starts late.
            for changes in 0.. {
                update(tidings, &Caller::Operator, id, &draft(&changes.to_string(), "p")).unwrap();
                flush(tidings);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let load = scope.spawn(move || {
            // Reads the notices continuously, so that some reads happen between a flush and its commit.
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let snapshot = tidings.notice().cache.reload(tidings.store());
                let views = snapshot.list(&Reader::Guest, tidings.now()).notices()[0].view;
                assert!(views >= last, "{views} after {last}");
                last = views;
            }
        });
        let reads = move || (0..READS).map(|_| read(tidings, id)).collect::<Vec<_>>();
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(reads)).collect();
        let views: Vec<_> = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        change.join().unwrap();
        load.join().unwrap();
        views
    });
    views.sort_unstable();
    views.dedup();
    assert_eq!(views.len(), READERS * READS, "no two reads returned the same count");
    flush(tidings);
    let reloaded = tidings.notice().cache.reload(tidings.store()).list(&Reader::Guest, tidings.now());
    assert_eq!([reloaded.notices()[0].view, stored(&service)[0].view], [4_000; 2]);
}

#[test]
fn notices_of_another_process_appear_soon() {
    let service = service();
    assert_eq!(titles(&service, &Caller::Guest), Vec::<String>::new());
    let other = another_process(&service);
    let id = insert_as_operator(&other, &draft("from there", "p"));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while titles(&service, &Caller::Guest).is_empty() && std::time::Instant::now() < until {
        thread::yield_now();
    }
    assert_eq!(read(&service, &id), 1);
}
