use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::Value;
use tidings_cluster::only_on_sqlite;

use super::*;
use crate::account::key;
use crate::audit;
use crate::record::export::Take;
use crate::testing::{NOW, Service, draft, like, publish, service, sign_in};
use crate::{admin, post, profile};

/// The number of rows of a member in each table: more than one page of every list.
const ROWS: i64 = 1_100;

/// Inserts rows of a member whose texts contain `mark`, which no other text contains.
fn fill(service: &Service, id: &str, mark: &str) {
    const TABLES: [&str; 13] = [
        "settled_like (member, post, date) SELECT key, n * 2, n",
        "recent_like (member, post, date) SELECT key, n * 2 + 1, n",
        "viewed (member, post, date) SELECT key, n, n",
        "hidden (member, post, date) SELECT key, n, n",
        // Many of the same time.
        "searched (member, original, token, similar_words, date)
         SELECT key, $3 || ' 도서관 🦀 ' || n, '도서관', '책 열람실', n / 300",
        "opened (member, newsfeed, tag, date) SELECT key, $3, '[\"책\"]', n / 300",
        "moved_act (member, date, act) SELECT key, n / 300, n - 2",
        "feedback (id, type, post, member, notice, activation, date)
         SELECT $3 || n, 'general', $3 || ' says \"🦀\"', key, '', 1, n",
        "visitor (day, visitor, visits, hours, seen) SELECT 19000 + n, key, 2, 8388609, n",
        "term (revision, number, term, visitor, date) SELECT 0, n * 100 + key, $3, key, n",
        "request (key, method, path, hash, status, used, result)
         SELECT 9000000 + n * 100 + key, 'GET', '/' || $3 || n, 0, 200, 0, 'success'",
        "log (key, member, request) SELECT n * 16384 + key, key, 9000000 + n * 100 + key",
        "audit (seq, date, surface, actor, actor_member, action, subject_member, old_value, hash)
         SELECT 100 + n * 100 + key, n, 'http', 'member', CASE WHEN n % 2 = 0 THEN key END, 'admin.grant',
                CASE WHEN n % 3 > 0 THEN key END, $3, ''",
    ];
    for table in TABLES {
        let table = table.replace("$3", &format!("'{mark}'"));
        service.run(&format!(
            "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {ROWS})
             INSERT INTO {table} FROM number JOIN member ON id = '{id}' WHERE n <= {ROWS}"
        ));
    }
}

fn export(tidings: &Tidings, caller: &Caller, take: Take<'_>) -> Result<u64> {
    DataReader::new(tidings, caller).pass_to(tidings, take)
}

fn export_of(tidings: &Tidings, caller: &Caller, id: &str, take: Take<'_>) -> Result<u64> {
    DataReader::of(tidings, caller, id)?.pass_to(tidings, take)
}

fn object(export: impl FnOnce(Take<'_>) -> Result<u64>) -> (Value, u64) {
    let (mut whole, mut before) = (Vec::new(), 0);
    let exported = export(&mut |piece, entries| {
        assert!(piece.len() < 1 << 20 && entries >= before, "{} bytes", piece.len());
        before = entries;
        whole.extend_from_slice(piece);
        ControlFlow::Continue(())
    });
    let exported = exported.unwrap();
    assert_eq!(exported, before);
    (serde_json::from_slice(&whole).unwrap(), before)
}

fn own(service: &Service, caller: &Caller) -> Value {
    object(|take| export(service, caller, take)).0
}

fn count(data: &Value, list: &str) -> usize {
    data[list].as_array().unwrap().len()
}

#[test]
fn the_object_has_every_row_of_the_member_once_and_none_of_another() {
    let service = service();
    let (ann, _) = (service.member("Ann"), service.member("ben"));
    fill(&service, "Ann", "annmark");
    fill(&service, "ben", "benmark");
    let (data, entries) = object(|take| export(&service, &ann, take));
    let rows = usize::try_from(ROWS).unwrap();
    let lists = "views hidden_posts searches newsfeeds imported_acts feedback visits trend_searches log";
    for list in lists.split(' ') {
        let distinct: BTreeSet<_> = data[list].as_array().unwrap().iter().map(Value::to_string).collect();
        let has_equal_ones = matches!(list, "newsfeeds" | "imported_acts" | "searches");
        assert_eq!(count(&data, list), rows, "{list}");
        assert!(has_equal_ones || distinct.len() == rows, "{list}");
    }
    assert_eq!((count(&data, "sessions"), count(&data, "likes")), (1, 2 * rows));
    // Every sixth names the member neither as the one who acted nor as the subject.
    let audit = (1..=ROWS).filter(|n| n % 2 == 0 || n % 3 > 0).count();
    assert_eq!(count(&data, "audit"), audit);
    assert_eq!(entries, (9 * rows + 2 * rows + 1 + audit) as u64);
    let text = data.to_string();
    assert!(text.contains("annmark") && !text.contains("benmark") && !text.contains("\"ben\""));

    assert_eq!(data["searches"][0]["original"], "annmark 도서관 🦀 1");
    assert_eq!(data["searches"][0]["similarity_split"], serde_json::json!(["책", "열람실"]));
    assert_eq!(data["feedback"][rows - 1]["post"], "annmark says \"🦀\"");
    assert_eq!(data["feedback"][0]["author"], "Ann");
    let day = serde_json::json!({ "day": "2022-01-09", "visits": 2, "hours": [0, 23], "seen": "1970-01-01T00:00:00.001Z" });
    assert_eq!(data["visits"][0], day);
    let kinds = [0, 1, 2].map(|n| data["imported_acts"][n]["act"].as_str().unwrap());
    assert_eq!(kinds, ["other", "view", "like"]);
    assert_eq!(data["log"][0]["path"], "/annmark1");
    // The operator gets the same, with a record of the export.
    let (other, _) = object(|take| export_of(&service, &Caller::Operator, "ann", take));
    assert_eq!((count(&other, "audit"), &other["sessions"][0]["current"]), (audit + 1, &0.into()));
    assert_eq!(data["sessions"][0]["current"], 1);
}

#[test]
fn the_account_has_names_and_dates_and_no_secret() {
    let service = service();
    let ann = service.admin("ann");
    let posts =
        ["0", "1"].map(|n| publish(&service, draft(format!("책 {n}"), format!("https://example.com/{n}"))));
    like(&service, &ann, &posts);
    service.call(&Caller::Operator, post::Remove { post_obi: (&posts[0]).into() }).unwrap();
    service.clock().advance(5);
    service.call(&ann, profile::ResetMeasurement {}).unwrap();
    let issuer = format!("'https://login.example', '7f3', {}, 0", NOW.as_millis());
    for sql in [
        "UPDATE member SET name = '한 앤', major = 'Physics', scopes = 'notices'",
        "INSERT INTO second_factor (member, secret, enabled, last_step) SELECT key, 'SECRETSECRET', 7, 9 FROM member",
        "INSERT INTO recovery_code (member, hash) SELECT key, 'hashofacode' FROM member",
        "INSERT INTO member_email (member, address, folded) SELECT key, 'ann@example.org', 'ann@example.org' FROM member",
        "INSERT INTO code (kind, hash, member, data, expires) SELECT 3, 'hashofacode', key, '', 0 FROM member",
        &format!(
            "INSERT INTO oidc_identity (member, issuer, subject, date, names) SELECT key, {issuer} FROM member"
        ),
    ] {
        service.run(sql);
    }
    let data = own(&service, &ann);
    let account = serde_json::json!({
        "_id": "ann", "nickname": "ann", "name": "한 앤", "major": "Physics", "email": "ann@example.org", "pending_email": null,
        "single_sign_on": { "issuer": "https://login.example", "subject": "7f3", "date": NOW }, "passkeys": [], "date": NOW, "auto_login": 0, "admin": NOW,
        "scopes": ["notices"], "blacklisted": null, "measured_since": NOW + 6, "second_factor": "1970-01-01T00:00:00.007Z", "recovery_codes": 1,
        "sign_in_places": 0,
    });
    assert_eq!(data["account"], account);
    let urls: Vec<&str> =
        data["likes"].as_array().unwrap().iter().map(|like| like["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["", "https://example.com/1"], "a removed post is a like without a post");
    let secrets = service.texts(
        "SELECT password FROM member UNION ALL SELECT CAST(generation AS TEXT) FROM member
         UNION ALL SELECT salt FROM audit_identity",
    );
    assert_eq!(secrets.len(), 3);
    let text = data.to_string();
    for secret in secrets.iter().map(String::as_str).chain(["SECRETSECRET", "hashofacode"]) {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn each_page_checks_the_caller_again() {
    let service = service();
    let read_one = |caller: &Caller| {
        let mut reader = DataReader::new(&service, caller);
        reader.next(&service).unwrap().unwrap();
        reader
    };
    let ann = service.member("ann");
    let mut reader = read_one(&ann);
    sign_in(&service, "ann", "password of ann", None).unwrap();
    service.call(&ann, crate::account::SignOutAll {}).unwrap();
    assert!(matches!(reader.next(&service), Err(Error::BadToken)));

    // A new member with the id of a removed one has other data.
    let named = Caller::Member("ann".into());
    let mut reader = read_one(&named);
    let mut left = 3;
    let removed = export_of(&service, &Caller::Operator, "ann", &mut |_, _| {
        left -= 1;
        if left == 0 {
            service.remove_member("ann");
            service.member("ann");
        }
        ControlFlow::Continue(())
    });
    assert!(matches!(removed, Err(Error::NotFound)));
    assert!(matches!(reader.next(&service), Err(Error::BadToken)));
}

#[test]
fn members_export_their_own_data_and_administrators_that_of_others_with_a_record() {
    let service = service();
    let (ann, boss) = (service.member("ann"), service.admin("boss"));
    let mut ignored = |_: &[u8], _: u64| ControlFlow::Continue(());
    let key = service.named_key("script", key::Scope::ALL);
    for caller in [&Caller::Guest, &Caller::Operator, &Caller::token("forged"), &key] {
        assert!(matches!(export(&service, caller, &mut ignored), Err(Error::BadToken)), "{caller:?}");
    }
    for caller in [&ann, &Caller::Member("ann".into()), &key] {
        for id in ["ann", "nobody"] {
            let refused = export_of(&service, caller, id, &mut ignored);
            assert!(matches!(refused, Err(Error::Forbidden)), "{caller:?}");
        }
    }
    assert!(matches!(export_of(&service, &Caller::Guest, "ann", &mut ignored), Err(Error::BadToken)));
    // Each page checks the administrator again.
    service.admin("root");
    let mut reader = DataReader::of(&service, &boss, "ann").unwrap();
    assert!(reader.next(&service).unwrap().is_some());
    service.call(&Caller::Operator, admin::Revoke { user_id: "boss".into() }).unwrap();
    assert!(matches!(reader.next(&service), Err(Error::Forbidden)));
    assert!(matches!(export_of(&service, &Caller::Operator, "nobody", &mut ignored), Err(Error::NotFound)));
    let mut pieces = 0;
    let stopped = export_of(&service, &Caller::Operator, "ANN", &mut |_, _| {
        pieces += 1;
        ControlFlow::Break(())
    });
    assert_eq!((stopped.unwrap(), pieces), (0, 1));
    let exports = audit::List { action: Some("member.export".into()), ..audit::List::default() };
    let records = service.call(&Caller::Operator, exports).unwrap().audit.into_iter();
    let records = records.map(|record| format!("{} {}", record.actor_kind, record.subject));
    assert_eq!(records.collect::<Vec<_>>(), ["operator ann", "member ann"]);
}

/// A new table with rows of members fails this test: decide whether it is part of the object, and whether a removal deletes it.
#[test]
fn every_table_with_rows_of_members_is_decided() {
    only_on_sqlite!("it reads the schema of SQLite");
    let service = service();
    let sql = "SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
               WHERE t.type = 'table' AND (c.name LIKE '%member%' OR c.name IN ('visitor', 'actor', 'owner', 'author', 'folded'))
               ORDER BY 1";
    let found = service.texts(sql);
    // `lease.owner` is a random text that names a process.
    let decided = "audit.actor audit.actor_member audit.subject_member audit_identity.member code.member \
        feedback.member hidden.member invitation.member lease.owner log.member log.named_member mail.member \
        member.folded member_acts.member member_email.folded member_email.member moved_act.member \
        notice.members_only oidc_identity.member opened.member passkey.member recent_like.member \
        recovery_code.member request.named_member roster.folded searched.member second_factor.member \
        session.member settled_like.member sign_in_place.member term.visitor viewed.member visitor.visitor";
    assert_eq!(found, decided.split(' ').collect::<Vec<_>>());
}
