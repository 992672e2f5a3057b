use tidings_cluster::only_on_sqlite;

use super::*;
use crate::account::Caller;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::notice;
use crate::record::error::Error;
use crate::record::error::Outcome;
use crate::service::retention;
use crate::testing::{self, Service, service, service_with};

fn draft(kind: Option<&str>, post: &str) -> Message {
    Message { kind: kind.map(str::to_owned), post: Some(post.to_owned()), feedback: None }
}

fn send(service: &Service, caller: &Caller, notice: Option<&str>, message: Message) -> Result<()> {
    match notice {
        Some(notice) => service.call(caller, SendOnNotice { notice_obi: notice.into(), message }),
        None => service.call(caller, SendGeneral { message }),
    }
}

fn mark(service: &Service, caller: &Caller, id: &str, activation: i64) -> Result<()> {
    service.call(caller, Mark { feedback_obi: id.into(), activation })
}

fn notice(service: &Service, activation: i64) -> String {
    let draft = notice::Draft { activation: Some(activation), ..testing::notice("t") };
    service.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
}

fn all(service: &Service) -> Vec<Feedback> {
    service.call(&Caller::Operator, ListAll {}).unwrap().feedback_list
}

fn insert_rows(service: &Service, count: i64, select: &str) {
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO feedback (id, type, post, member, notice, activation, date) {select}"
    );
    service.run(&sql);
}

#[test]
fn invalid_feedback_fails_and_is_not_stored() {
    let service = service();
    let (ben, on) = (service.member("ben"), notice(&service, 1));
    let (long_kind, long_post) = ("한".repeat(51), "한".repeat(5_001));
    let missing = Message { kind: Some("bug".into()), ..Message::default() };
    let kinds = ["", " ", "k\n", "k\0", &long_kind].map(|kind| (Some(kind), "p"));
    let texts = ["", " \n", "p\0", "p\u{1b}", &long_post].map(|post| (None, post));
    let drafts = kinds.into_iter().chain(texts).map(|(kind, post)| draft(kind, post)).chain([missing]);
    for draft in drafts {
        for notice in [None, Some(on.as_str())] {
            let refused = send(&service, &ben, notice, draft.clone());
            assert!(matches!(refused, Err(Error::Documented(Outcome::Fail, _))), "{draft:?}");
        }
    }
    // Who is no member does not learn the rules.
    for (caller, text) in [(Caller::Operator, "p"), (Caller::Guest, "")] {
        let refused = send(&service, &caller, None, draft(None, text));
        assert!(matches!(refused, Err(Error::Documented(Outcome::BadRequest, _))), "{caller:?}");
    }
    assert_eq!(all(&service), []);
    send(&service, &ben, None, draft(Some(&"한".repeat(50)), &"e\u{301}".repeat(5_000))).unwrap();
    assert_eq!(all(&service)[0].post, "é".repeat(5_000));
}

#[test]
fn feedback_is_on_a_notice_that_the_member_may_see() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let (hidden, gone) = (notice(&service, 0), notice(&service, 1));
    service.call(&ann, notice::Remove { notice_obi: gone.clone() }).unwrap();
    for id in [hidden.as_str(), &gone, "", "no id", "65f0a0000000000000000000"] {
        let refused = send(&service, &ben, Some(id), draft(None, "p"));
        assert!(matches!(refused, Err(Error::Documented(Outcome::Fail, _))), "{id}");
    }
    send(&service, &ann, Some(&hidden), draft(None, "p")).unwrap();
    assert_eq!((all(&service)[0].notice.as_str(), all(&service)[0].kind.as_str()), (&*hidden, "general"));
    assert_eq!(all(&service).len(), 1);
    // The feedback remains when its notice is removed.
    service.call(&ann, notice::Remove { notice_obi: hidden.clone() }).unwrap();
    assert_eq!(all(&service)[0].notice, hidden);
}

#[test]
fn the_newest_thousand_are_listed() {
    let service = service();
    let ben = service.member("ben");
    send(&service, &ben, None, draft(None, "oldest")).unwrap();
    let copies = "SELECT 'copy ' || n.i, type, 'p', member, notice, activation, date FROM feedback, n";
    insert_rows(&service, 1_000, copies);
    let found = all(&service);
    assert_eq!((found.len(), found[0].id.as_str()), (1_000, "copy 1000"));
    assert!(found.iter().all(|feedback| feedback.post != "oldest"));
}

#[test]
fn open_feedback_is_paged_among_feedback_that_is_done() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    send(&service, &ben, None, draft(None, "oldest")).unwrap();
    let copies = "SELECT 'copy ' || n.i, type, 'p', member, notice, n.i % 2, date FROM feedback, n";
    insert_rows(&service, 2_100, copies);
    let pages = |all: bool| {
        let (mut sizes, mut after) = (Vec::new(), None::<String>);
        loop {
            let list = List { all: Some(i64::from(all)), limit: Some(LIST_MAX), after: after.clone() };
            let page = service.call(&ann, list).unwrap();
            sizes.push(page.feedback.len());
            assert!(page.feedback.iter().all(|feedback| all || feedback.activation == FeedbackState::Open));
            after = page.next;
            if after.is_none() {
                break (sizes, page.feedback.last().unwrap().post.clone());
            }
        }
    };
    assert_eq!(pages(true), (vec![1_000, 1_000, 101], "oldest".to_owned()));
    assert_eq!(pages(false), (vec![1_000, 51], "oldest".to_owned()));
    let small = |limit| service.call(&ann, List { limit, ..List::default() });
    assert_eq!((small(None).unwrap().feedback.len(), small(Some(7)).unwrap().feedback.len()), (100, 7));
    for limit in [0, -1, 1_001] {
        assert_eq!(small(Some(limit)).unwrap_err().problem().field, Some("limit"));
    }
}

#[test]
fn a_failing_store_is_answered_with_fail() {
    let service = service();
    let ben = service.member("ben");
    service.run("DROP TABLE feedback");
    let failed = send(&service, &ben, None, draft(None, "p"));
    assert!(matches!(&failed, Err(Error::Failed { result: "fail", .. })), "{failed:?}");
}

#[test]
fn a_page_of_open_feedback_reads_only_open_feedback() {
    only_on_sqlite!("it reads SQLite's query plans");
    let service = service();
    let plan = |all: bool| {
        let sql = format!("EXPLAIN QUERY PLAN {}", sql::page(all));
        let rows = service.store().read(|tx| tx.rows(&sql, &[9.into(), 9.into()])).unwrap();
        rows.into_iter().map(|mut row| row.take::<String>(3).unwrap()).collect::<Vec<_>>().join("; ")
    };
    let (open, all) = (plan(false), plan(true));
    assert!(open.starts_with("SEARCH f USING INDEX feedback_open (activation=? AND key<?)"), "{open}");
    assert!(all.starts_with("SEARCH f USING INTEGER PRIMARY KEY (rowid<?)"), "{all}");
    assert!(![open, all].iter().any(|plan| plan.contains("TEMP B-TREE")));
}

#[test]
fn a_member_sends_so_much_in_an_hour_and_so_much_may_be_open() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let wait = |member: &Caller| match send(&service, member, None, draft(None, "text")) {
        Ok(()) => 0,
        Err(Error::TooManyRequests { retry_after_s }) => retry_after_s,
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(wait(&ann), 0);
    insert_rows(&service, 58, "SELECT 'copy ' || i, type, post, member, notice, 0, date FROM feedback, n");
    service.clock().advance(1_000);
    assert_eq!((wait(&ann), wait(&ann)), (0, 3_600), "the second that has begun counts");
    assert_eq!(wait(&ben), 0);
    let text = send(&service, &ann, None, draft(None, "")).unwrap_err();
    assert_eq!(text.to_string(), "fail", "a text that breaks its rule is told first");
    service.clock().advance(3_600_000);
    insert_rows(
        &service,
        197,
        "SELECT 'open ' || i, 'general', 'text', (SELECT min(key) FROM member WHERE id = 'ann'), '', 1, 0 FROM n",
    );
    assert_eq!(wait(&ann), 0);
    assert_eq!(wait(&ann), 3_600, "a fiftieth of all that is open is this member's");
    let open = all(&service).into_iter().find(|feedback| feedback.author == "ann").unwrap();
    mark(&service, &Caller::Operator, &open.id, 0).unwrap();
    assert_eq!(wait(&ann), 0);
    insert_rows(&service, 10_000, "SELECT 'all ' || i, 'general', 'text', NULL, '', 1, 0 FROM n");
    assert_eq!(wait(&service.member("cid")), 3_600);
}

#[test]
fn without_limits_of_clients_a_member_sends_any_number() {
    let service = service_with(Config { client_limits: false, ..Config::default() });
    let ann = service.member("ann");
    for _ in 0..61 {
        send(&service, &ann, None, draft(None, "text")).unwrap();
    }
}

#[test]
fn feedback_is_removed_some_days_after_it_was_done() {
    let service = service_with(Config { feedback_days: 10, ..Config::default() });
    let ann = service.member("ann");
    for text in ["open", "done", "reopened", "earlier"] {
        send(&service, &ann, None, draft(None, text)).unwrap();
    }
    let texts = || all(&service).into_iter().map(|feedback| feedback.post).rev().collect::<Vec<_>>();
    let mark = |text: &str, activation| {
        let found = all(&service).into_iter().find(|feedback| feedback.post == text).unwrap();
        self::mark(&service, &Caller::Operator, &found.id, activation).unwrap();
    };
    service.clock().advance(100 * DAY_MS);
    mark("done", 0);
    mark("reopened", 0);
    mark("reopened", 1);
    // As an earlier version has marked it.
    service.run("UPDATE feedback SET activation = 0 WHERE post = 'earlier'");
    retention::delete_expired(&service);
    assert_eq!(texts(), ["open", "done", "reopened", "earlier"]);
    service.clock().advance(5 * DAY_MS);
    mark("done", 0);
    service.clock().advance(5 * DAY_MS + 1);
    retention::delete_expired(&service);
    assert_eq!(texts(), ["open", "reopened"], "marking again does not keep it longer");
}
