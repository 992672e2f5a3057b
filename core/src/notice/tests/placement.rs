//! Tests of what callers see by time, topic and audience.

use super::*;
use crate::feedback;
use crate::record::operation::Operation as _;

fn at(ms: i64) -> String {
    (NOW + ms).to_string()
}

/// Returns the titles of [`ListFull`].
fn full(tidings: &Tidings, caller: &Caller, topic: Option<&str>) -> Vec<String> {
    let list = tidings.call(caller, ListFull { topic: topic.map(str::to_owned), html: None }).unwrap();
    list.notices().iter().map(|notice| notice.title.to_string()).collect()
}

fn problem<T: std::fmt::Debug>(result: Result<T>) -> Option<&'static str> {
    match result {
        Err(Error::BadRequest(problem)) => problem.field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_notice_is_visible_from_its_begin_and_not_at_its_end() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let dates =
        Draft { visible_from: Some(at(1_000)), visible_until: Some(at(2_000)), ..draft("dated", "p") };
    let id = insert_as_operator(&service, &dates);
    insert_as_operator(&service, &draft("always", "p"));
    let shown = |expected: &[&str]| {
        for caller in [&Caller::Guest, &Caller::token("forged"), &ben] {
            assert_eq!(titles(&service, caller), expected);
            assert_eq!(full(&service, caller, None), expected);
            assert_eq!(get(&service, caller, &id).is_ok(), expected.len() == 2);
        }
        assert_eq!(titles(&service, &ann), ["always", "dated"]);
        assert_eq!(full(&service, &ann, None), ["always", "dated"]);
        // From memory, without any write.
        assert_eq!(try_list(&service).unwrap().notices().len(), expected.len());
        assert_eq!(try_get(&service, &id).unwrap().is_ok(), expected.len() == 2);
        let message = feedback::Message { kind: None, post: Some("p".into()), feedback: None };
        let sent = service.call(&ben, feedback::SendOnNotice { notice_obi: id.clone(), message });
        assert_eq!(sent.is_ok(), expected.len() == 2);
    };
    let state = || service.call(&ann, ListFull::default()).unwrap().notices()[1].state(service.now());
    shown(&["always"]);
    assert_eq!(state(), State::Scheduled);
    service.clock().advance(999);
    shown(&["always"]);
    service.clock().advance(1);
    shown(&["always", "dated"]);
    assert_eq!(state(), State::Shown);
    service.clock().advance(999);
    shown(&["always", "dated"]);
    service.clock().advance(1);
    shown(&["always"]);
    assert_eq!(state(), State::Ended);
    // Clocks are also set back.
    service.clock().set_by(-1);
    shown(&["always", "dated"]);
    update(&service, &ann, &id, &activation(0)).unwrap();
    shown(&["always"]);
    assert_eq!(state(), State::Hidden);
}

#[test]
fn the_encoded_list_is_shared_until_a_notice_begins_or_ends() {
    let service = service();
    let (visible_from, visible_until) = (Some(at(5)), Some(at(10)));
    insert_as_operator(&service, &Draft { visible_from, visible_until, ..draft("dated", "p") });
    insert_as_operator(&service, &draft("always", "p"));
    let encoded = || Arc::clone(list(&service, &Caller::Guest).answer());
    let query = ListFull { topic: Some("no notice has it".into()), html: Some(1) };
    let all = || Arc::clone(service.call(&Caller::Guest, query.clone()).unwrap().answer());
    let (mut last, mut last_full) = (encoded(), all());
    for ms in 1..15 {
        service.clock().advance(1);
        assert_eq!(query.remembered(&service).is_some(), ![5, 10].contains(&ms), "{ms}");
        let (now, now_full) = (encoded(), all());
        assert_eq!(Arc::ptr_eq(&last, &now), ![5, 10].contains(&ms), "{ms}");
        assert_eq!(Arc::ptr_eq(&last_full, &now_full), ![5, 10].contains(&ms), "{ms}");
        (last, last_full) = (now, now_full);
    }
}

#[test]
fn only_members_see_a_notice_for_members() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let id = insert_as_operator(&service, &Draft { members_only: Some(1), ..draft("members", "p") });
    for caller in [&ann, &ben, &Caller::Operator, &Caller::Member("ben".into())] {
        assert_eq!(titles(&service, caller), ["members"]);
        assert_eq!(full(&service, caller, None), ["members"]);
        get(&service, caller, &id).unwrap();
    }
    let shared = || Arc::clone(list(&service, &ben).answer());
    assert!(Arc::ptr_eq(&shared(), &shared()), "members share an answer");
    service.call(&Caller::Operator, crate::admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    for caller in [&Caller::Guest, &Caller::token("forged"), &ben] {
        assert!(titles(&service, caller).is_empty() && full(&service, caller, None).is_empty());
        assert!(matches!(get(&service, caller, &id), Err(Error::NotFound)));
    }
    assert!(matches!(try_get(&service, &id), Some(Err(Error::NotFound))));
    update(&service, &ann, &id, &Draft { members_only: Some(0), ..Draft::default() }).unwrap();
    assert_eq!(titles(&service, &Caller::Guest), ["members"]);
}

#[test]
fn the_fields_of_a_placement_are_checked_and_an_empty_date_removes_it() {
    let service = service();
    let ann = service.admin("ann");
    let id = insert_as_operator(&service, &draft("t", "p"));
    let given = |change: fn(&mut Draft)| {
        let mut draft = Draft::default();
        change(&mut draft);
        update(&service, &ann, &id, &draft)
    };
    assert_eq!(problem(given(|d| d.visible_from = Some("soon".into()))), Some("visible_from"));
    assert_eq!(problem(given(|d| d.visible_until = Some("2026-13-01".into()))), Some("visible_until"));
    assert_eq!(problem(given(|d| d.pinned = Some(2))), Some("pinned"));
    assert_eq!(problem(given(|d| d.members_only = Some(-1))), Some("members_only"));
    assert_eq!(problem(given(|d| d.topic = Some("a\nb".into()))), Some("topic"));
    assert_eq!(problem(given(|d| d.topic = Some("a".repeat(101)))), Some("topic"));
    assert_eq!(problem(given(|_| ())), None);
    given(|d| d.visible_until = Some("2026-12-01T01:00:00+01:00".into())).unwrap();
    // The rule holds with what is stored, too.
    for from in ["2026-12-01", "2026-12-02"] {
        let draft = Draft { visible_from: Some(from.into()), ..Draft::default() };
        assert_eq!(problem(update(&service, &ann, &id, &draft)), Some("visible_until"));
        let both = Draft { visible_until: Some("2026-12-01".into()), ..draft };
        let both = Draft { title: Some("t".into()), post: Some("p".into()), ..both };
        assert_eq!(problem(insert(&service, &ann, &both)), Some("visible_until"));
    }
    let placement = || service.call(&ann, ListFull::default()).unwrap().notices()[0].placement.clone();
    let ended = Placement { visible_until: Timestamp::parse("2026-12-01"), ..Placement::default() };
    assert_eq!(placement(), ended);
    given(|d| d.visible_until = Some(String::new())).unwrap();
    assert_eq!(placement(), Placement::default());
}

#[test]
fn a_full_notice_has_the_fields_of_a_notice_and_of_its_placement() {
    let service = service();
    let draft = Draft {
        visible_from: Some(at(0)),
        visible_until: Some(at(1)),
        pinned: Some(1),
        topic: Some("Sea".into()),
        members_only: Some(1),
        ..draft("t", "*p*")
    };
    let id = insert_as_operator(&service, &draft);
    let query = ListFull { topic: None, html: Some(1) };
    let answer = service.call(&Caller::Operator, query).unwrap();
    let expected = format!(
        r#"{{"result":"success","notice_list":[{{"_id":"{id}","title":"t","post":"*p*","view":0,"date":"{NOW}","activation":1,"html":"<p><em>p</em></p>\n","visible_from":"{NOW}","visible_until":"{}","pinned":1,"topic":"Sea","members_only":1}}]}}"#,
        NOW + 1
    );
    assert_eq!(str::from_utf8(answer.answer().json()).unwrap(), expected);
    let one = service.call(&Caller::Operator, Get { notice_obi: id.clone(), html: Some(1) }).unwrap();
    assert_eq!(one.notice_list.html.as_deref(), Some("<p><em>p</em></p>\n"));
    // The documented operations have the documented fields.
    let json = serde_json::to_string(&get(&service, &Caller::Operator, &id).unwrap()).unwrap();
    assert!(json.ends_with(r#""activation":1}"#), "{json}");
}

#[test]
fn a_text_is_rendered_once_until_it_changes() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "one"));
    let html = || {
        let get = Get { notice_obi: id.clone(), html: Some(1) };
        service.call(&Caller::Guest, get).unwrap().notice_list.html.unwrap()
    };
    let first = html();
    insert_as_operator(&service, &draft("another", "p"));
    let change = |draft: Draft| update(&service, &Caller::Operator, &id, &draft).unwrap();
    change(Draft { title: Some("new".into()), ..Draft::default() });
    assert!(Arc::ptr_eq(&first, &html()));
    change(Draft { post: Some("two".into()), ..Draft::default() });
    assert_eq!(&*html(), "<p>two</p>\n");
}

#[test]
fn a_notice_of_a_topic_is_on_the_page_of_the_topic_and_pinned_ones_come_first() {
    let service = service();
    let ann = service.admin("ann");
    let of = |title: &str, topic: Option<&str>, pinned| {
        service.clock().advance(1);
        let draft = Draft { topic: topic.map(Into::into), pinned: Some(pinned), ..draft(title, "p") };
        insert_as_operator(&service, &draft)
    };
    of("old, pinned", None, 1);
    let sea = of("sea", Some(" Sea "), 0);
    of("land", Some("Land"), 0);
    of("new", None, 0);
    of("new sea, pinned", Some("Sea"), 1);
    for caller in [&Caller::Guest, &service.member("ben")] {
        assert_eq!(titles(&service, caller), ["new", "old, pinned"]);
        assert_eq!(full(&service, caller, None), ["old, pinned", "new"]);
        assert_eq!(full(&service, caller, Some("none")), ["old, pinned", "new"]);
        let expected = ["new sea, pinned", "old, pinned", "new", "sea"];
        assert_eq!(full(&service, caller, Some("Sea")), expected);
        assert_eq!(&*get(&service, caller, &sea).unwrap().title, "sea");
    }
    assert_eq!(titles(&service, &ann).len(), 5);
    assert_eq!(full(&service, &ann, None), ["new sea, pinned", "old, pinned", "new", "land", "sea"]);
    assert_eq!(full(&service, &ann, Some("Land")), ["old, pinned", "new", "land"]);
    update(&service, &ann, &sea, &Draft { topic: Some(String::new()), ..Draft::default() }).unwrap();
    assert_eq!(titles(&service, &Caller::Guest), ["new", "sea", "old, pinned"]);
}
