use std::ops::ControlFlow;

use serde_json::Value;

use super::*;
use crate::account::key::{self, Scope};
use crate::base::clock::DAY_MS;
use crate::testing::{self, NOW, Service, service};
use crate::{Surface, admin, feedback, main_info, member, notice, post, profile};

fn all(service: &Service) -> Vec<AuditRecord> {
    let query = List { limit: Some(RECORDS_MAX), ..List::default() };
    service.call(&Caller::Operator, query).unwrap().audit
}

fn lines(service: &Service) -> Vec<String> {
    let line = |r: AuditRecord| {
        let texts = [&r.actor_kind, &r.actor, &r.surface, &r.action, &r.subject, &r.before, &r.after];
        texts.into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(" ")
    };
    all(service).into_iter().rev().map(line).collect()
}

fn fault(service: &Service) -> Option<Fault> {
    service.call(&Caller::Operator, Verify { head: None }).unwrap().fault
}

fn tamper(service: &Service, sql: &str) {
    assert!(service.run(sql) > 0, "{sql}");
}

fn assert_found(service: &Service, seq: i64, edit: &str, undo: &str) {
    tamper(service, edit);
    let found = fault(service);
    assert_eq!(found.as_ref().map(|fault| fault.seq), Some(seq), "{edit}: {found:?}");
    tamper(service, undo);
    assert_eq!(fault(service), None, "{undo}");
}

fn notices(service: &Service, count: usize) {
    for n in 0..count {
        let draft = testing::notice(format!("Notice {n}"));
        service.call(&Caller::Operator, notice::Insert { draft }).unwrap();
    }
}

/// Verifies the trail with a head that was noted elsewhere.
fn verify(service: &Service, head: &impl ToString) -> Verification {
    service.call(&Caller::Operator, Verify { head: Some(head.to_string()) }).unwrap()
}

fn exported(service: &Service) -> (String, u64) {
    let mut text = Vec::new();
    let exported = ExportTrail {}.export(service, &Caller::Operator).pass_to(service, &mut |lines, _| {
        text.extend_from_slice(lines);
        ControlFlow::Continue(())
    });
    (String::from_utf8(text).unwrap(), exported.unwrap())
}

#[test]
fn every_act_of_an_administrator_an_operator_and_a_key_is_recorded() {
    let service = service();
    let (ann, ben) = (service.admin("Ann"), service.member("ben"));
    let tidings = service.tidings.clone().through(Surface::Http);
    let draft = notice::Draft { post: Some("도서관".into()), ..testing::notice("One") };
    let id = tidings.call(&ann, notice::Insert { draft }).unwrap().id.to_string();
    let draft = notice::Draft { activation: Some(0), title: Some("Two".into()), ..notice::Draft::default() };
    tidings.call(&ann, notice::Update { notice_obi: id.clone(), draft }).unwrap();
    tidings.call(&ann, notice::Remove { notice_obi: id.clone() }).unwrap();
    let draft = testing::draft("T", "https://a.example");
    let post_id = tidings.call(&ann, post::Insert { draft }).unwrap().id.to_string();
    for _ in 0..2 {
        let draft = post::Draft { title: Some("U".into()), ..Default::default() };
        tidings.call(&ann, post::Update { post_obi: post_id.clone(), draft }).unwrap();
    }
    tidings.call(&ann, post::Remove { post_obi: post_id.clone() }).unwrap();
    let line = br#"{"title": "T", "url": "https://b.example"}"#;
    post::import(&tidings, &ann, &line[..], &mut crate::import::to_the_end).unwrap();
    let draft = main_info::Draft { new_info_1: Some("Hello".into()), new_info_2: None };
    tidings.call(&ann, main_info::Update { draft }).unwrap();
    let message = feedback::Message { kind: None, post: Some("Thanks".into()), feedback: None };
    tidings.call(&ben, feedback::SendGeneral { message }).unwrap();
    let sent = tidings.call(&ann, feedback::ListAll {}).unwrap().feedback_list[0].id.clone();
    tidings.call(&ann, feedback::Mark { feedback_obi: sent.clone(), activation: 0 }).unwrap();
    for _ in 0..2 {
        tidings.call(&ann, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    }
    tidings.call(&Caller::Member("ann".into()), admin::PopBlacklist { user_id: "ben".into() }).unwrap();
    let cleaner = key::Add { name: "cleaner".into(), scopes: vec!["members".into()], expires: None };
    let cleaner = Caller::token(tidings.call(&ann, cleaner).unwrap().key.as_str());
    let password = member::SetPassword { user_id: "ben".into(), new_pw: "another password".into() };
    tidings.call(&Caller::Operator, password).unwrap();
    tidings.call(&cleaner, member::Remove { user_id: "BEN".into() }).unwrap();
    tidings.call(&ann, key::Revoke { key_obi: "cleaner".into() }).unwrap();
    // What members do with their own accounts is not part of it, nor what failed.
    let cid = service.member("cid");
    service.call(&cid, profile::Remove {}).unwrap();
    service.call(&ann, member::Remove { user_id: "ann".into() }).unwrap_err();
    let expected = [
        "operator library admin.grant Ann".to_owned(),
        format!("member Ann http notice.insert {id} One (shown, 3 characters)"),
        format!("member Ann http notice.update {id} One (shown, 3 characters) Two (hidden, 3 characters)"),
        format!("member Ann http notice.remove {id} Two (hidden, 3 characters)"),
        format!("member Ann http post.insert {post_id} T"),
        format!("member Ann http post.update {post_id} T U (changed: title)"),
        format!("member Ann http post.remove {post_id} U"),
        "member Ann http post.import began".into(),
        "member Ann http post.import inserted 1, updated 0, skipped 0".into(),
        "member Ann http front.update  |  Hello | ".into(),
        format!("member Ann http feedback.update {sent} done"),
        "member Ann http member.blacklist removed".into(),
        "operator as Ann http member.unblacklist removed".into(),
        "member Ann http key.add cleaner members".into(),
        "operator http member.password removed".into(),
        "key cleaner http member.remove removed".into(),
        "member Ann http key.revoke cleaner".into(),
    ];
    assert_eq!(lines(&service), expected);
    let verified = verify(&service, &format!("17:{}", all(&service)[0].hash));
    assert_eq!((verified.fault, verified.records, verified.seq), (None, 17, 17));
}

#[test]
fn the_operator_has_the_name_of_their_account() {
    let database = tidings_cluster::Scratch::new();
    let tidings =
        Tidings::builder(database.location()).operator("root").open().unwrap().through(Surface::Cli);
    let service = Service { tidings, database };
    service.admin("ann");
    assert_eq!(lines(&service), ["operator root cli admin.grant ann"]);
}

#[test]
fn a_removed_member_is_shown_as_removed_and_the_chain_stays_intact() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.admin("ben"));
    notices(&service, 1);
    service.call(&ann, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    let before = all(&service);
    service.remove_member("ben");
    let shown = lines(&service).join("\n");
    assert!(shown.contains("member.blacklist removed") && !shown.contains("ben"), "{shown}");
    assert!(!exported(&service).0.contains("ben"));
    // A new member with the id is not the one who was recorded.
    service.member("ben");
    assert_eq!(lines(&service).join("\n"), format!("{shown}\noperator library audit.export"));
    assert_eq!((fault(&service), all(&service)[2].hash.clone()), (None, before[0].hash.clone()));
}

#[test]
fn an_edit_a_gap_and_a_missing_end_show() {
    let service = service();
    service.admin("ann");
    notices(&service, 5);
    let head = format!("6:{}", all(&service)[0].hash);
    let with_head = || verify(&service, &head).fault;
    notices(&service, 1);
    assert_eq!(with_head(), None);
    for (seq, column, other, before) in [
        (3, "new_value", "'Other'", "'Notice 1 (shown, 4 characters)'"),
        (4, "actor", "'key'", "'operator'"),
        (7, "date", "date + 1", "date - 1"),
    ] {
        let set = |to: &str| format!("UPDATE audit SET {column} = {to} WHERE seq = {seq}");
        assert_found(&service, seq, &set(other), &set(before));
    }
    for (seq, edit, undo) in [
        (1, "UPDATE member SET id = 'eve' WHERE id = 'ann'", "UPDATE member SET id = 'ann' WHERE id = 'eve'"),
        (5, "UPDATE audit SET seq = 99 WHERE seq = 5", "UPDATE audit SET seq = 5 WHERE seq = 99"),
        (1, "UPDATE audit SET seq = 99 WHERE seq = 1", "UPDATE audit SET seq = 1 WHERE seq = 99"),
        (8, "UPDATE audit_chain SET head_seq = 9", "UPDATE audit_chain SET head_seq = 7"),
    ] {
        assert_found(&service, seq, edit, undo);
    }
    // Somebody who removes the end and its trace is found by the head that was noted elsewhere.
    tamper(&service, "DELETE FROM audit WHERE seq > 5");
    assert_eq!(fault(&service).unwrap().seq, 6);
    let set = |part: &str, seq: i64| {
        let hash = format!("{part}_hash = (SELECT hash FROM audit WHERE seq = {seq})");
        tamper(&service, &format!("UPDATE audit_chain SET {part}_seq = {seq}, {hash}"));
    };
    set("head", 5);
    assert_eq!((fault(&service), with_head().unwrap().seq), (None, 6));
    // Nobody may remove the beginning without a record of it.
    set("removed", 1);
    let reason = "the earlier records are missing, and no record says that they expired".into();
    assert_eq!(fault(&service), Some(Fault { seq: 2, reason }));
}

#[test]
fn expired_records_are_removed_from_the_beginning_and_the_rest_stays_verifiable() {
    let service = service();
    notices(&service, 4);
    let noted = format!("2:{}", all(&service)[2].hash);
    service.clock().advance(10 * DAY_MS);
    notices(&service, 2);
    let (now, store) = (service.now(), service.store());
    let prune = |before| {
        store.write(crate::store::Isolation::Alone, move |tx| chain::prune(tx, now, before, 3)).unwrap()
    };
    assert!(prune(NOW + 1) && !prune(NOW + 1) && !prune(NOW + 1));
    let shown = lines(&service);
    assert_eq!(shown.len(), 4, "one that has expired shows that the others had: {shown:?}");
    assert!(shown[3].starts_with("service library audit.retention 1-3 3:"), "{shown:?}");
    let verified = verify(&service, &format!("3:{}", shown[3].rsplit(':').next().unwrap()));
    assert_eq!((verified.fault, verified.records, verified.seq), (None, 4, 7));
    assert_eq!(exported(&service).1, 4, "without that of the export");
    // A head whose record is gone proves nothing.
    let fault = verify(&service, &noted).fault.unwrap();
    assert_eq!(fault.seq, 2);
    assert!(fault.reason.starts_with("the record of the given head was removed"), "{}", fault.reason);
}

/// Replaces the whole trail with a new one that begins after a record with this number and hash, as somebody who can write the
/// database can.
fn forge(service: &Service, seq: i64, hash: &str) {
    let (removed, now) = (format!("{seq}:{hash}"), service.now());
    service.run("DELETE FROM audit");
    let both = ["removed", "head"].map(|part| format!("{part}_seq = {seq}, {part}_hash = '{hash}'"));
    service.run(&format!("UPDATE audit_chain SET {}", both.join(", ")));
    let written = service.store().write(crate::store::Isolation::Alone, move |tx| {
        append(tx, now - 2 * DAY_MS, Entry::new(Action::AuditExport))?;
        append(tx, now, Entry::new(Action::AuditRetention).on("1").after(&removed))
    });
    written.unwrap();
}

fn append(tx: &mut dyn Tx, at: Timestamp, entry: Entry<'_>) -> Result<(), StoreError> {
    let origin = trail::Origin { at, surface: Surface::Library, operator: None };
    trail::append(tx, &trail::Actor::Service, &origin, entry)
}

#[test]
fn a_record_of_retention_hides_no_records_that_had_not_expired() {
    let service = service();
    notices(&service, 6);
    let told = format!("3:{}", all(&service)[3].hash);
    service.clock().advance(DAY_MS - 1);
    let now = service.now();
    tamper(&service, "DELETE FROM audit WHERE seq <= 3");
    let hash = told.split_once(':').unwrap().1;
    tamper(&service, &format!("UPDATE audit_chain SET removed_seq = 3, removed_hash = '{hash}'"));
    let written = service.store().write(crate::store::Isolation::Alone, move |tx| {
        append(tx, now, Entry::new(Action::AuditRetention).on("1-3").after(&told))
    });
    written.unwrap();
    assert_eq!(fault(&service).map(|fault| fault.seq), Some(7));
    // Earlier programs left no record whose date shows it.
    tamper(&service, "UPDATE audit_chain SET unwitnessed = 3");
    assert_eq!(fault(&service), None);
}

#[test]
fn a_chain_that_was_made_anew_is_no_continuation_of_a_kept_head() {
    let service = service();
    notices(&service, 6);
    let hash = |seq: i64| all(&service).into_iter().find(|record| record.seq == seq).unwrap().hash;
    let (third, fourth, other) = (hash(3), hash(4), "ab".repeat(32));
    let head = format!("4:{fourth}");
    // Before the head, the next record must be known; after it, nothing is proved.
    for (seq, hash, found) in [
        (2, &other, Some(4)),
        (3, &third, Some(4)),
        (4, &other, Some(4)),
        (4, &fourth, None),
        (5, &other, Some(4)),
        (900, &other, Some(4)),
    ] {
        forge(&service, seq, hash);
        assert_eq!(fault(&service), None, "nothing shows without a head");
        assert_eq!(verify(&service, &head).fault.map(|fault| fault.seq), found, "{seq}:{hash}");
    }
}

#[test]
fn a_beginning_that_no_trail_has_is_a_fault_with_a_number() {
    let service = service();
    notices(&service, 3);
    let replaced = |from: char, to: char| {
        format!("UPDATE audit_chain SET removed_hash = replace(removed_hash, '{from}', '{to}')")
    };
    assert_found(&service, 1, &replaced('0', '1'), &replaced('1', '0'));
    let fields = "date, surface, actor, actor_name, actor_member, actor_proof, action, subject, \
        subject_member, subject_proof, old_value, new_value, hash";
    let insert = format!("INSERT INTO audit SELECT -5, {fields} FROM audit WHERE seq = 1");
    assert_found(&service, 1, &insert, "DELETE FROM audit WHERE seq = -5");
    for (removed, seq) in [(-1, 1), (2, 3)] {
        let set = |seq| format!("UPDATE audit_chain SET removed_seq = {seq}");
        assert_found(&service, seq, &set(removed), &set(0));
    }
    // Of an empty trail too.
    tamper(&service, "DELETE FROM audit");
    tamper(&service, "UPDATE audit_chain SET head_seq = 0, head_hash = removed_hash");
    for (seq, digit, found) in [(0, "0", None), (0, "a", Some(1)), (3, "a", Some(3))] {
        let verified = verify(&service, &format!("{seq}:{}", digit.repeat(64)));
        assert_eq!(verified.fault.map(|fault| fault.seq), found, "{seq}:{digit}");
    }
}

#[test]
fn reading_about_many_members_is_recorded_once_an_hour() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.member("ben"));
    let key = service.named_key("sync", &[Scope::MembersRead, Scope::AnalyticsRead]);
    let list = |caller: &Caller, after: Option<&str>, limit: i64| {
        let (limit, after) = (Some(limit), after.map(str::to_owned));
        let members = member::List { limit, after: after.clone(), ..member::List::default() };
        service.call(caller, members).unwrap();
        service.call(caller, member::ListRoster { limit, after }).unwrap();
        service.call(caller, crate::analysis::GetLog { limit, ..Default::default() }).unwrap();
    };
    let before = lines(&service).len();
    list(&ann, None, 100);
    assert_eq!(lines(&service).len(), before, "a page is no mass reading");
    list(&ann, Some("a"), 1);
    list(&key, None, 1_000);
    list(&key, None, 1_000);
    let expected = [
        "member ann library member.list",
        "member ann library roster.list",
        "key sync library member.list",
        "key sync library roster.list",
        "key sync library log.read",
    ];
    assert_eq!(lines(&service)[before..], expected);
    service.clock().advance(61 * 60 * 1_000);
    list(&key, None, 1_000);
    assert_eq!(lines(&service).len(), before + 8);
    // Nobody learns weights or copies the trail without a trace, also if they do not wait for the end.
    service.call(&ann, crate::newsfeed::LearnWeights {}).unwrap();
    ExportTrail {}.export(&service, &key).next(&service).unwrap_err();
    assert!(ExportTrail {}.export(&service, &ann).next(&service).unwrap().is_some());
    let read = ["member ann library feed.learn too few acts", "member ann library audit.export"];
    assert_eq!(lines(&service)[before + 8..], read);
    // Members read their own lines.
    let (own, limit) = (Some("ben".into()), Some(1_000));
    let own = crate::analysis::GetLog { member: own, limit, ..Default::default() };
    service.call(&Caller::Member("ben".into()), own).unwrap();
    assert_eq!(lines(&service).len(), before + 10);
}

#[test]
fn a_page_is_filtered_and_continued() {
    let service = service();
    let ann = service.admin("ann");
    service.member("ben");
    notices(&service, 3);
    service.call(&ann, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    let page = |query: List| {
        let page = service.call(&ann, query).unwrap();
        (page.audit.iter().map(|record| record.seq).collect::<Vec<_>>(), page.next)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(page(List { limit: Some(2), ..Default::default() }), (vec![5, 4], Some(4)));
    for (query, found) in [
        (List { before: Some(4), ..Default::default() }, &[3, 2, 1][..]),
        (List { action: text("notice"), ..Default::default() }, &[4, 3, 2]),
        (List { action: text("member.blacklist"), ..Default::default() }, &[5]),
        (List { actor: text("ANN"), ..Default::default() }, &[5]),
        (List { actor: text("operator"), ..Default::default() }, &[4, 3, 2, 1]),
        (List { subject: text("ben"), ..Default::default() }, &[5]),
        (List { subject: text("nobody"), ..Default::default() }, &[]),
    ] {
        assert_eq!(page(query), (found.to_vec(), None));
    }
    for (query, field) in [
        (List { limit: Some(-1), ..Default::default() }, "limit"),
        (List { before: Some(-1), ..Default::default() }, "before"),
        (List { action: text("notic"), ..Default::default() }, "action"),
    ] {
        assert_eq!(service.call(&ann, query).unwrap_err().problem().field, Some(field));
    }
}

#[test]
fn an_exported_line_has_the_stored_fields_of_the_hash() {
    let service = service();
    service.admin("ann");
    let line: Value = serde_json::from_str(&exported(&service).0).unwrap();
    assert_eq!((&line["subject"], &line["stored"]["subject"]), (&"ann".into(), &Value::Null));
    assert_eq!(line["stored"]["subject_proof"].as_str().unwrap().len(), 64);
}

#[test]
fn a_head_is_a_number_and_a_hash() {
    let hash = "ab".repeat(32);
    let head: Head = format!("12:{}", hash.to_uppercase()).parse().unwrap();
    assert_eq!(head.to_string(), format!("12:{hash}"));
    for other in ["", "12", "12:", "12:ab", &format!(":{hash}"), &format!("-1:{hash}"), &format!("x:{hash}")]
    {
        assert_eq!(other.parse::<Head>(), Err(InvalidHead), "{other}");
    }
}
