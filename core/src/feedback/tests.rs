use tidings_cluster::only_on_sqlite;

use super::*;
use crate::account::Caller;
use crate::notice;
use crate::record::error::Error;
use crate::record::error::Outcome;
use crate::store::{Isolation, StoreError, Tx};
use crate::testing::{NOW, Service, service};

fn draft(kind: Option<&str>, post: &str) -> Message {
    Message { kind: kind.map(str::to_owned), post: Some(post.to_owned()), feedback: None }
}

fn send(service: &Service, caller: &Caller, notice: Option<&str>, message: Message) -> Result<()> {
    match notice {
        Some(notice) => service.call(caller, SendOnNotice { notice_obi: notice.into(), message }),
        None => service.call(caller, SendGeneral { message }),
    }
}

fn notice(service: &Service, activation: i64) -> String {
    let (title, post) = (Some("t".to_owned()), Some("p".to_owned()));
    let draft = notice::Draft { title, post, activation: Some(activation), ..notice::Draft::default() };
    service.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
}

fn all(service: &Service) -> Vec<Feedback> {
    service.call(&Caller::Operator, ListAll {}).unwrap().feedback_list
}

#[test]
fn administrators_read_feedback_newest_first() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("Ben"));
    let on = notice(&service, 1);
    service
        .call(
            &ben,
            SendOnNotice {
                notice_obi: (&on.to_uppercase()).into(),
                message: draft(Some("bug"), "cafe\u{301}\nis closed"),
            },
        )
        .unwrap();
    service.clock().advance(1_000);
    service.call(&ann, SendGeneral { message: draft(None, &"한".repeat(5_000)) }).unwrap();
    let found = service.call(&ann, ListAll {}).unwrap().feedback_list;
    assert_eq!(found.len(), 2);
    let expected = Feedback {
        id: found[0].id.clone(),
        kind: "general".into(),
        post: "한".repeat(5_000),
        author: "ann".into(),
        date: NOW + 1_000,
        notice: String::new(),
        activation: FeedbackState::Open,
    };
    assert_eq!(found[0], expected);
    let id = &found[1].id;
    assert!(ObjectId::parse(id).is_some());
    let expected = format!(
        r#"{{"_id":"{id}","type":"bug","post":"café\nis closed","author":"Ben","date":"2026-11-20T08:36:00.000Z","notice":"{on}","activation":1}}"#
    );
    assert_eq!(serde_json::to_string(&found[1]).unwrap(), expected);
}

#[test]
fn callers_who_are_not_members_send_no_feedback() {
    let service = service();
    let gone = service.member("gone");
    service.call(&gone, crate::profile::Remove {}).unwrap();
    for caller in [&Caller::Guest, &Caller::token("forged"), &gone, &Caller::Operator] {
        for (notice, draft) in [(None, draft(None, "p")), (Some("no id"), Message::default())] {
            let refused = send(&service, caller, notice, draft.clone());
            assert!(matches!(refused, Err(Error::Documented(Outcome::BadRequest, _))), "{caller:?}");
        }
    }
    assert_eq!(all(&service), []);
}

#[test]
fn invalid_feedback_fails_and_is_not_stored() {
    let service = service();
    let (ben, on) = (service.member("ben"), notice(&service, 1));
    let (long_kind, long_post) = ("k".repeat(51), "p".repeat(5_001));
    let missing = Message { kind: Some("bug".into()), ..Message::default() };
    let texts = [
        (Some(""), "p"),
        (Some(" "), "p"),
        (Some("k\n"), "p"),
        (Some("k\0"), "p"),
        (Some(long_kind.as_str()), "p"),
        (None, ""),
        (None, " \n"),
        (None, "p\0"),
        (None, "p\u{1b}"),
        (None, long_post.as_str()),
    ];
    let drafts = texts.map(|(kind, post)| draft(kind, post)).into_iter().chain([missing]);
    for draft in drafts {
        for notice in [None, Some(on.as_str())] {
            let refused = send(&service, &ben, notice, draft.clone());
            assert!(matches!(refused, Err(Error::Documented(Outcome::Fail, _))), "{draft:?}");
        }
    }
    assert_eq!(all(&service), []);
}

#[test]
fn feedback_is_on_a_notice_that_the_member_may_see() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let (hidden, gone) = (notice(&service, 0), notice(&service, 1));
    service.call(&ann, notice::Remove { notice_obi: gone.clone() }).unwrap();
    for id in [hidden.as_str(), &gone, "", "no id", "65f0a0000000000000000000"] {
        let refused = service.call(&ben, SendOnNotice { notice_obi: id.into(), message: draft(None, "p") });
        assert!(matches!(refused, Err(Error::Documented(Outcome::Fail, _))), "{id}");
    }
    service.call(&ann, SendOnNotice { notice_obi: hidden.clone(), message: draft(None, "p") }).unwrap();
    assert_eq!(all(&service)[0].notice, hidden);
    assert_eq!(all(&service).len(), 1);
    // The feedback remains when its notice is removed.
    service.call(&ann, notice::Remove { notice_obi: hidden.clone() }).unwrap();
    assert_eq!(all(&service)[0].notice, hidden);
}

#[test]
fn feedback_of_a_removed_member_remains_without_their_id() {
    let service = service();
    let ben = service.member("ben");
    service.call(&ben, SendGeneral { message: draft(None, "p") }).unwrap();
    service.call(&Caller::Operator, crate::member::Remove { user_id: "ben".into() }).unwrap();
    service.member("ben");
    assert_eq!(all(&service)[0].author, "removed");
}

#[test]
fn administrators_mark_feedback_as_done_or_open() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.call(&ben, SendGeneral { message: draft(None, "one") }).unwrap();
    service.call(&ben, SendGeneral { message: draft(None, "two") }).unwrap();
    let (two, one) = (all(&service)[0].id.clone(), all(&service)[1].id.clone());
    let activations = || all(&service).iter().map(|f| f.activation.activation()).collect::<Vec<_>>();
    service.call(&ann, Mark { feedback_obi: one.clone(), activation: 0 }).unwrap();
    service.call(&ann, Mark { feedback_obi: one.clone(), activation: 0 }).unwrap();
    assert_eq!(activations(), [1, 0]);
    service.call(&ann, Mark { feedback_obi: one.clone(), activation: 1 }).unwrap();
    service
        .call(&Caller::Operator, Mark { feedback_obi: (&two.to_uppercase()).into(), activation: 0 })
        .unwrap();
    assert_eq!(activations(), [0, 1]);

    for activation in [2, -1, i64::MAX] {
        let refused = service.call(&ann, Mark { feedback_obi: one.clone(), activation });
        assert!(matches!(refused, Err(Error::BadRequest(_))));
    }
    for id in ["", "no id", "65f0a0000000000000000000"] {
        assert!(
            matches!(
                service.call(&ann, Mark { feedback_obi: id.into(), activation: 0 }),
                Err(Error::NotFound)
            ),
            "{id}"
        );
    }
    for caller in [&Caller::Guest, &Caller::token("forged")] {
        assert!(matches!(service.call(caller, ListAll {}), Err(Error::BadToken)));
        assert!(matches!(
            service.call(caller, Mark { feedback_obi: one.clone(), activation: 2 }),
            Err(Error::BadToken)
        ));
    }
    assert!(matches!(service.call(&ben, ListAll {}), Err(Error::Forbidden)));
    assert!(matches!(
        service.call(&ben, Mark { feedback_obi: "no id".into(), activation: 0 }),
        Err(Error::Forbidden)
    ));
    assert_eq!(activations(), [0, 1]);
}

#[test]
fn the_newest_thousand_are_listed() {
    let service = service();
    let ben = service.member("ben");
    service.call(&ben, SendGeneral { message: draft(None, "oldest") }).unwrap();
    let copy = |tx: &mut dyn Tx| -> Result<u64, StoreError> {
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                   INSERT INTO feedback (id, type, post, member, notice, activation, date)
                   SELECT 'copy ' || n.i, type, 'p', member, notice, activation, date FROM feedback, n";
        tx.run(sql, &[])
    };
    service.store().write(Isolation::Alone, move |tx| copy(tx)).unwrap();
    let found = all(&service);
    assert_eq!((found.len(), found[0].id.as_str()), (1_000, "copy 1000"));
    assert!(found.iter().all(|feedback| feedback.post != "oldest"));
}

#[test]
fn open_feedback_is_paged_among_feedback_that_is_done() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    service.call(&ben, SendGeneral { message: draft(None, "oldest") }).unwrap();
    let copy = |tx: &mut dyn Tx| -> Result<u64, StoreError> {
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
                   INSERT INTO feedback (id, type, post, member, notice, activation, date)
                   SELECT 'copy ' || n.i, type, 'p', member, notice, n.i % 2, date FROM feedback, n";
        tx.run(sql, &[])
    };
    service.store().write(Isolation::Alone, move |tx| copy(tx)).unwrap();
    let pages = |all: bool| {
        let (mut sizes, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = service
                .call(&ann, List { all: Some(i64::from(all)), limit: Some(LIST_MAX), after: after.clone() })
                .unwrap();
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
    assert!(matches!(
        service.call(&ann, List { all: Some(1), limit: Some(LIST_MAX), after: Some("x".into()) }),
        Err(Error::NotFound)
    ));
    let small = |limit| service.call(&ann, List { limit, ..List::default() });
    assert_eq!((small(None).unwrap().feedback.len(), small(Some(7)).unwrap().feedback.len()), (100, 7));
    for limit in [0, -1, 1_001] {
        assert_eq!(small(Some(limit)).unwrap_err().problem().field, Some("limit"));
    }
    assert!(matches!(
        service.call(&ben, List { all: Some(1), limit: Some(LIST_MAX), after: None }),
        Err(Error::Forbidden)
    ));
    assert!(matches!(
        service.call(&Caller::Guest, List { all: Some(1), limit: Some(LIST_MAX), after: None }),
        Err(Error::BadToken)
    ));
}

#[test]
fn a_failing_store_is_answered_with_fail() {
    let service = service();
    let ben = service.member("ben");
    service.store().write(Isolation::Alone, |tx| tx.run("DROP TABLE feedback", &[])).unwrap();
    let failed = service.call(&ben, SendGeneral { message: draft(None, "p") });
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
    let service = crate::testing::service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let wait = |member: &Caller| match service.call(member, SendGeneral { message: draft(None, "text") }) {
        Ok(()) => 0,
        Err(Error::TooManyRequests { retry_after_s }) => retry_after_s,
        Err(error) => panic!("{error:?}"),
    };
    let insert = |count: i64, sql: &str| {
        let sql = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO feedback (id, type, post, member, notice, activation, date) {sql}"
        );
        service.store().write::<_, StoreError>(Isolation::Alone, move |tx| tx.run(&sql, &[])).unwrap();
    };
    assert_eq!(wait(&ann), 0);
    insert(58, "SELECT 'copy ' || i, type, post, member, notice, 0, date FROM feedback, n");
    service.clock().advance(1_000);
    assert_eq!((wait(&ann), wait(&ann)), (0, 3_600), "the second that has begun counts");
    assert_eq!(wait(&ben), 0);
    let text = service.call(&ann, SendGeneral { message: draft(None, "") }).unwrap_err();
    assert_eq!(text.to_string(), "fail", "a text that breaks its rule is told first");
    service.clock().advance(3_600_000);
    insert(
        197,
        "SELECT 'open ' || i, 'general', 'text', (SELECT min(key) FROM member WHERE id = 'ann'), '', 1, 0 FROM n",
    );
    assert_eq!(wait(&ann), 0);
    assert_eq!(wait(&ann), 3_600, "a fiftieth of all that is open is this member's");
    let open = all(&service).into_iter().find(|feedback| feedback.author == "ann").unwrap();
    service.call(&Caller::Operator, Mark { feedback_obi: open.id.clone(), activation: 0 }).unwrap();
    assert_eq!(wait(&ann), 0);
    insert(10_000, "SELECT 'all ' || i, 'general', 'text', NULL, '', 1, 0 FROM n");
    assert_eq!(wait(&service.member("cid")), 3_600);
}

#[test]
fn without_limits_of_clients_a_member_sends_any_number() {
    let config = crate::base::config::Config { client_limits: false, ..Default::default() };
    let service = crate::testing::service_with(config);
    let ann = service.member("ann");
    for _ in 0..61 {
        service.call(&ann, SendGeneral { message: draft(None, "text") }).unwrap();
    }
}

#[test]
fn feedback_is_removed_some_days_after_it_was_done() {
    let config = crate::base::config::Config { feedback_days: 10, ..crate::base::config::Config::default() };
    let service = crate::testing::service_with(config);
    let ann = service.member("ann");
    for text in ["open", "done", "reopened", "earlier"] {
        service.call(&ann, SendGeneral { message: draft(None, text) }).unwrap();
    }
    let texts = || all(&service).into_iter().map(|feedback| feedback.post).rev().collect::<Vec<_>>();
    let mark = |text: &str, activation| {
        let found = all(&service).into_iter().find(|feedback| feedback.post == text).unwrap();
        service.call(&Caller::Operator, Mark { feedback_obi: found.id.clone(), activation }).unwrap();
    };
    service.clock().advance(100 * crate::base::clock::DAY_MS);
    mark("done", 0);
    mark("reopened", 0);
    mark("reopened", 1);
    // As an earlier version has marked it.
    let earlier = |tx: &mut dyn Tx| tx.run("UPDATE feedback SET activation = 0 WHERE post = 'earlier'", &[]);
    service.store().write::<_, StoreError>(Isolation::Alone, earlier).unwrap();
    crate::service::retention::delete_expired(&service);
    assert_eq!(texts(), ["open", "done", "reopened", "earlier"]);
    service.clock().advance(5 * crate::base::clock::DAY_MS);
    mark("done", 0);
    service.clock().advance(5 * crate::base::clock::DAY_MS + 1);
    crate::service::retention::delete_expired(&service);
    assert_eq!(texts(), ["open", "reopened"], "marking again does not keep it longer");
}
