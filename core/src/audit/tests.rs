//! Tests of the audit trail.

use std::ops::ControlFlow;

use serde_json::Value;

use super::*;
use crate::account::key::{self, Scope};
use crate::base::clock::DAY_MS;
use crate::testing::{NOW, Service, service};
use crate::{Surface, admin, feedback, main_info, member, notice, post, profile};

fn all(service: &Service) -> Vec<AuditRecord> {
    let query = List { limit: Some(RECORDS_MAX), ..List::default() };
    service.call(&Caller::Operator, query.clone()).unwrap().audit
}

/// Returns who did what to what, earliest first.
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

/// Changes the database as somebody who can write the file.
fn tamper(service: &Service, sql: &'static str) {
    let written = service.store().write(crate::store::Isolation::Alone, move |tx| tx.run(sql, &[]));
    assert!(written.unwrap() > 0, "{sql}");
}

fn notices(service: &Service, count: usize) {
    for n in 0..count {
        let (title, post) = (Some(format!("Notice {n}")), Some("Text".into()));
        service
            .call(
                &Caller::Operator,
                notice::Insert { draft: notice::Draft { title, post, ..notice::Draft::default() } },
            )
            .unwrap();
    }
}

#[test]
fn every_act_of_an_administrator_an_operator_and_a_key_is_recorded() {
    let service = service();
    let (ann, ben) = (service.admin("Ann"), service.member("ben"));
    let tidings = service.tidings.clone().through(Surface::Http);
    let draft = |title: &str| notice::Draft {
        title: Some(title.into()),
        post: Some("도서관".into()),
        ..notice::Draft::default()
    };
    let id = tidings.call(&ann, notice::Insert { draft: draft("One") }).unwrap().id.to_string();
    let hidden = notice::Draft { activation: Some(0), title: Some("Two".into()), ..notice::Draft::default() };
    tidings.call(&ann, notice::Update { notice_obi: id.clone(), draft: hidden.clone() }).unwrap();
    tidings.call(&ann, notice::Remove { notice_obi: id.clone() }).unwrap();
    let post =
        post::Draft { title: Some("T".into()), url: Some("https://a.example".into()), ..Default::default() };
    let post_id = tidings.call(&ann, post::Insert { draft: post.clone() }).unwrap().id.to_string();
    tidings
        .call(
            &ann,
            post::Update {
                post_obi: post_id.clone(),
                draft: post::Draft { title: Some("U".into()), ..Default::default() },
            },
        )
        .unwrap();
    tidings
        .call(
            &ann,
            post::Update {
                post_obi: post_id.clone(),
                draft: post::Draft { title: Some("U".into()), ..Default::default() },
            },
        )
        .unwrap();
    tidings.call(&ann, post::Remove { post_obi: post_id.clone() }).unwrap();
    let line = br#"{"title": "T", "url": "https://b.example"}"#;
    post::import(&tidings, &ann, &line[..], &mut crate::import::to_the_end).unwrap();
    let first = main_info::Draft { new_info_1: Some("Hello".into()), new_info_2: None };
    tidings.call(&ann, main_info::Update { draft: first.clone() }).unwrap();
    let text = feedback::Message { kind: None, post: Some("Thanks".into()), feedback: None };
    tidings.call(&ben, feedback::SendGeneral { message: text.clone() }).unwrap();
    let sent = tidings.call(&ann, feedback::ListAll {}).unwrap().feedback_list[0].id.clone();
    tidings.call(&ann, feedback::Mark { feedback_obi: sent.clone(), activation: 0 }).unwrap();
    for _ in 0..2 {
        tidings.call(&ann, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    }
    tidings.call(&Caller::Member("ann".into()), admin::PopBlacklist { user_id: "ben".into() }).unwrap();
    let scopes = vec![Scope::Members.name().into()];
    let made = tidings.call(&ann, key::Add { name: "cleaner".into(), scopes, expires: None }).unwrap();
    tidings
        .call(
            &Caller::Operator,
            crate::member::SetPassword { user_id: "ben".into(), new_pw: "another password".into() },
        )
        .unwrap();
    tidings.call(&Caller::token(made.key.as_str()), crate::member::Remove { user_id: "BEN".into() }).unwrap();
    tidings.call(&ann, key::Revoke { key_obi: "cleaner".into() }).unwrap();
    // What members do with their own accounts is not part of it, nor what failed.
    let cid = service.member("cid");
    service.call(&cid, profile::Remove {}).unwrap();
    service.call(&ann, crate::member::Remove { user_id: "ann".into() }).unwrap_err();
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
    let verified = service.call(&Caller::Operator, Verify { head: None }).unwrap();
    assert_eq!((verified.fault, verified.records, verified.seq), (None, 17, 17));
    assert_eq!(verified.hash, all(&service)[0].hash);
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
    service.call(&Caller::Operator, crate::member::Remove { user_id: "ben".into() }).unwrap();
    let shown = lines(&service).join("\n");
    assert!(shown.contains("member.blacklist removed") && !shown.contains("ben"), "{shown}");
    assert_eq!(fault(&service), None);
    let mut exported = Vec::new();
    ExportTrail {}
        .export(&service, &Caller::Operator)
        .pass_to(&service, &mut |lines, _| {
            exported.extend_from_slice(lines);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!String::from_utf8(exported).unwrap().contains("ben"));
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
    let head: Head = {
        let verified = service.call(&Caller::Operator, Verify { head: None }).unwrap();
        assert!(verified.intact);
        format!("{}:{}", verified.seq, verified.hash).parse().unwrap()
    };
    let with_head =
        || service.call(&Caller::Operator, Verify { head: Some(head.to_string()) }).unwrap().fault;
    notices(&service, 1);
    assert_eq!(with_head(), None);
    let cases = [
        (
            "UPDATE audit SET new_value = 'Other' WHERE seq = 3",
            "UPDATE audit SET new_value = 'Notice 1 (shown, 4 characters)' WHERE seq = 3",
            3,
        ),
        (
            "UPDATE audit SET actor = 'key' WHERE seq = 4",
            "UPDATE audit SET actor = 'operator' WHERE seq = 4",
            4,
        ),
        (
            "UPDATE audit SET date = date + 1 WHERE seq = 7",
            "UPDATE audit SET date = date - 1 WHERE seq = 7",
            7,
        ),
        ("UPDATE member SET id = 'eve' WHERE id = 'ann'", "UPDATE member SET id = 'ann' WHERE id = 'eve'", 1),
        ("UPDATE audit SET seq = 99 WHERE seq = 5", "UPDATE audit SET seq = 5 WHERE seq = 99", 5),
        ("UPDATE audit SET seq = 99 WHERE seq = 1", "UPDATE audit SET seq = 1 WHERE seq = 99", 1),
        ("UPDATE audit_chain SET head_seq = 9", "UPDATE audit_chain SET head_seq = 7", 8),
    ];
    for (edit, undo, seq) in cases {
        tamper(&service, edit);
        let found = fault(&service);
        assert_eq!(found.as_ref().map(|fault| fault.seq), Some(seq), "{edit}: {found:?}");
        tamper(&service, undo);
        assert_eq!(fault(&service), None, "{undo}");
    }
    // Somebody who removes the end and its trace is found by the head that was noted elsewhere.
    tamper(&service, "DELETE FROM audit WHERE seq > 5");
    assert_eq!(fault(&service).unwrap().seq, 6);
    tamper(
        &service,
        "UPDATE audit_chain SET head_seq = 5, head_hash = (SELECT hash FROM audit WHERE seq = 5)",
    );
    assert_eq!((fault(&service), with_head().unwrap().seq), (None, 6));
    // Nobody may remove the beginning without a record of it.
    tamper(
        &service,
        "UPDATE audit_chain SET removed_seq = 1, removed_hash = (SELECT hash FROM audit WHERE seq = 1)",
    );
    assert_eq!(
        fault(&service),
        Some(Fault {
            seq: 2,
            reason: "the earlier records are missing, and no record says that they expired".into()
        })
    );
}

#[test]
fn expired_records_are_removed_from_the_beginning_and_the_rest_stays_verifiable() {
    let service = service();
    notices(&service, 4);
    let noted: Head = format!("2:{}", all(&service)[2].hash).parse().unwrap();
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
    let kept: Head = format!("3:{}", shown[3].rsplit(':').next().unwrap()).parse().unwrap();
    let verified = service.call(&Caller::Operator, Verify { head: Some(kept.to_string()) }).unwrap();
    assert_eq!((verified.fault, verified.records, verified.seq), (None, 4, 7));
    let mut export = ExportTrail {}.export(&service, &Caller::Operator);
    let (part, _) = export.next(&service).unwrap().expect("there are records");
    assert_eq!(String::from_utf8(part).unwrap().lines().count(), 4, "without that of the export");
    assert!(export.next(&service).unwrap().is_none());
    // A head whose record is gone proves nothing.
    let fault =
        service.call(&Caller::Operator, Verify { head: Some(noted.to_string()) }).unwrap().fault.unwrap();
    assert_eq!(fault.seq, 2);
    assert!(fault.reason.starts_with("the record of the given head was removed"), "{}", fault.reason);
}

/// Replaces the whole trail with a new one that begins after a record with this number and hash, as somebody who can write the
/// database can.
fn forge(service: &Service, seq: i64, hash: &str) {
    let (removed, now) = (format!("{seq}:{hash}"), service.now());
    let written = service.store().write(crate::store::Isolation::Alone, move |tx| {
        let (seq, hash) = removed.split_once(':').unwrap();
        tx.run("DELETE FROM audit", &[])?;
        let sql = "UPDATE audit_chain SET removed_seq = $1, removed_hash = $2, head_seq = $1, head_hash = $2";
        tx.run(sql, &[seq.parse::<i64>().unwrap().into(), hash.into()])?;
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
    let written = service.store().write(crate::store::Isolation::Alone, move |tx| {
        tx.run("DELETE FROM audit WHERE seq <= 3", &[])?;
        let hash = told.split_once(':').unwrap().1;
        tx.run("UPDATE audit_chain SET removed_seq = 3, removed_hash = $1", &[hash.into()])?;
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
    let head: Head = format!("4:{fourth}").parse().unwrap();
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
        let verified = service.call(&Caller::Operator, Verify { head: Some(head.to_string()) }).unwrap();
        assert_eq!(verified.fault.map(|fault| fault.seq), found, "{seq}:{hash}");
    }
}

#[test]
fn a_beginning_that_no_trail_has_is_a_fault_with_a_number() {
    let service = service();
    notices(&service, 3);
    for (edit, undo, seq) in [
        (
            "UPDATE audit_chain SET removed_hash = replace(removed_hash, '0', '1')",
            "UPDATE audit_chain SET removed_hash = replace(removed_hash, '1', '0')",
            1,
        ),
        ("UPDATE audit_chain SET removed_seq = -1", "UPDATE audit_chain SET removed_seq = 0", 1),
        (
            "INSERT INTO audit SELECT -5, date, surface, actor, actor_name, actor_member, actor_proof, action, subject,
             subject_member, subject_proof, old_value, new_value, hash FROM audit WHERE seq = 1",
            "DELETE FROM audit WHERE seq = -5",
            1,
        ),
        ("UPDATE audit_chain SET removed_seq = 2", "UPDATE audit_chain SET removed_seq = 0", 3),
    ] {
        tamper(&service, edit);
        assert_eq!(fault(&service).map(|fault| fault.seq), Some(seq), "{edit}");
        tamper(&service, undo);
        assert_eq!(fault(&service), None, "{undo}");
    }
    // Of an empty trail too.
    tamper(&service, "DELETE FROM audit");
    tamper(&service, "UPDATE audit_chain SET head_seq = 0, head_hash = removed_hash");
    let verified = |head: &str| {
        service
            .call(&Caller::Operator, Verify { head: Some(head.to_string()) })
            .unwrap()
            .fault
            .map(|fault| fault.seq)
    };
    assert_eq!(verified(&format!("0:{}", "0".repeat(64))), None);
    assert_eq!(verified(&format!("0:{}", "a".repeat(64))), Some(1));
    assert_eq!(verified(&format!("3:{}", "a".repeat(64))), Some(3));
}

#[test]
fn reading_about_many_members_is_recorded_once_an_hour() {
    let service = service();
    let (ann, _) = (service.admin("ann"), service.member("ben"));
    let scopes = [Scope::MembersRead, Scope::AnalyticsRead].map(|scope| scope.name().into()).into();
    let made = service.call(&ann, key::Add { name: "sync".into(), scopes, expires: None }).unwrap();
    let key = Caller::token(made.key.as_str());
    let list = |caller: &Caller, after: Option<&str>, limit: i64| {
        let page = (Some(limit), after.map(str::to_owned));
        let (limit, after) = page.clone();
        service.call(caller, member::List { limit, after, ..member::List::default() }).unwrap();
        let (limit, after) = page;
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
    assert_eq!(
        lines(&service)[before + 8..],
        ["member ann library feed.learn too few acts", "member ann library audit.export"]
    );
    // Members read their own lines.
    let own =
        crate::analysis::GetLog { member: Some("ben".into()), limit: Some(1_000), ..Default::default() };
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
        let page = service.call(&ann, query.clone()).unwrap();
        (page.audit.iter().map(|record| record.seq).collect::<Vec<_>>(), page.next)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(page(List { limit: Some(2), ..Default::default() }), (vec![5, 4], Some(4)));
    assert_eq!(page(List { before: Some(4), ..Default::default() }), (vec![3, 2, 1], None));
    assert_eq!(page(List { action: text("notice"), ..Default::default() }).0, [4, 3, 2]);
    assert_eq!(page(List { action: text("member.blacklist"), ..Default::default() }).0, [5]);
    assert_eq!(page(List { actor: text("ANN"), ..Default::default() }).0, [5]);
    assert_eq!(page(List { actor: text("operator"), ..Default::default() }).0, [4, 3, 2, 1]);
    assert_eq!(page(List { subject: text("ben"), ..Default::default() }).0, [5]);
    assert_eq!(page(List { subject: text("nobody"), ..Default::default() }).0, [0; 0]);
    for (query, field) in [
        (List { limit: Some(-1), ..Default::default() }, "limit"),
        (List { before: Some(-1), ..Default::default() }, "before"),
        (List { action: text("notic"), ..Default::default() }, "action"),
    ] {
        assert_eq!(service.call(&ann, query.clone()).unwrap_err().problem().field, Some(field));
    }
}

#[test]
fn only_administrators_and_keys_with_the_scope_read_it() {
    let service = service();
    let (ann, ben) = (service.admin("ann"), service.member("ben"));
    let query = List::default();
    let mut take = |_: &[u8], _| ControlFlow::Continue(());
    for (caller, allowed) in [
        (Caller::Guest, false),
        (ben, false),
        (service.key(Scope::Members), false),
        (service.key(Scope::AuditRead), true),
        (ann, true),
        (Caller::Operator, true),
    ] {
        assert_eq!(service.call(&caller, query.clone()).is_ok(), allowed, "{caller:?}");
        assert_eq!(service.call(&caller, Verify { head: None }).is_ok(), allowed, "{caller:?}");
        assert_eq!(
            ExportTrail {}.export(&service, &caller).pass_to(&service, &mut take).is_ok(),
            allowed,
            "{caller:?}"
        );
    }
}

#[test]
fn an_exported_line_has_the_stored_fields_of_the_hash() {
    let service = service();
    service.admin("ann");
    let mut text = Vec::new();
    let exported = ExportTrail {}.export(&service, &Caller::Operator).pass_to(&service, &mut |lines, _| {
        text.extend_from_slice(lines);
        ControlFlow::Continue(())
    });
    assert_eq!(exported.unwrap(), 1);
    let line: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&line["seq"], &line["subject"]), (&1.into(), &"ann".into()));
    assert_eq!(line["stored"]["actor"], "operator");
    assert_eq!(line["stored"]["subject_proof"].as_str().unwrap().len(), 64);
    assert_eq!(line["stored"]["subject"], Value::Null);
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
