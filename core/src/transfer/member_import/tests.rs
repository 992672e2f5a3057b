use serde_json::{Value, json};

use super::*;
use crate::account::credential::password::stored::tests::FOREIGN;
use crate::import::About;
use crate::import::to_the_end;
use crate::record::answer::LineError;
use crate::testing::sign_in;
use crate::testing::{self, NOW, Service};
use crate::{member, profile};

fn import(service: &Service, members: &[Value]) -> Report {
    let lines: String = members.iter().map(|member| member.to_string() + "\n").collect();
    import_members(service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap()
}

fn report(inserted: u64, skipped: u64, errors: &[(u64, &str)]) -> Report {
    let error = |(line, reason): &(u64, &str)| LineError { line: *line, reason: (*reason).to_owned() };
    let about = About { left_out: errors.len() as u64, ..About::default() };
    let errors = errors.iter().map(error).collect();
    Report { inserted, updated: None, skipped, errors, warnings: vec![], about }
}

fn password(service: &Service, id: &str) -> (String, i64) {
    let of = |column: &str| format!("SELECT {column} FROM member WHERE folded = '{id}'");
    (service.texts(&of("password")).remove(0), service.number(&of("generation")))
}

#[test]
fn an_imported_member_signs_in_with_their_password_and_gets_our_hash() {
    let service = testing::service();
    for (n, hash) in FOREIGN.iter().enumerate() {
        let id = format!("Ann{n}");
        assert_eq!(import(&service, &[json!({"id": id, "password_hash": hash})]), report(1, 0, &[]));
        let folded = fold(&id);
        let (kept, generation) = password(&service, &folded);
        assert_eq!(&kept, hash);
        let token = sign_in(&service, &id, "correct horse", None).unwrap();
        let (kept, same) = password(&service, &folded);
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_eq!(same, generation, "tokens stay");
        sign_in(&service, &id, "correct horse", None).unwrap();
        assert_eq!(password(&service, &folded).0, kept);
        let info = service.call(&Caller::token(token.access_token), profile::Get {}).unwrap().fields();
        assert_eq!((info.user_id, info.nickname), (id.clone(), id));
    }
}

#[test]
fn verified_names_and_sign_up_dates_are_imported() {
    let service = testing::service();
    let ann = json!({
        "id": "Ann", "nickname": "Annie", "name": "김안나", "major": "CS", "date": "2024-02-29T12:00:00+09:00",
        "password_hash": null, "unknown": [1],
    });
    let long = "이름이 아주 긴 학생".repeat(4);
    let ben = json!({"id": "ben", "name": long, "password_hash": ""});
    let cid = json!({"id": "cid", "name": "", "major": ""});
    assert_eq!(import(&service, &[ann, ben, cid]), report(3, 0, &[]));
    let columns =
        "nickname || ', ' || coalesce(name, 'null') || ', ' || coalesce(major, 'null') || ', ' || date";
    let rows = service.texts(&format!("SELECT {columns} FROM member ORDER BY key"));
    let date = Timestamp::parse("2024-02-29T03:00:00Z").unwrap().as_millis();
    let (cut, now): (String, _) = (long.chars().take(30).collect(), NOW.as_millis());
    let expected = [
        format!("Annie, 김안나, CS, {date}"),
        format!("{cut}, {long}, , {now}"),
        format!("cid, null, null, {now}"),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn existing_members_are_skipped_without_regard_to_case() {
    let service = testing::service();
    service.member("Ann");
    let before = password(&service, "ann");
    let lines = [json!({"id": "aNN", "nickname": "Other"}), json!({"id": "ben"}), json!({"id": "BEN"})];
    assert_eq!(import(&service, &lines), report(1, 2, &[]));
    assert_eq!(import(&service, &lines), report(0, 3, &[]));
    assert_eq!(password(&service, "ann"), before);
    let form = testing::sign_up_form("Ben");
    assert_eq!(service.call(&Caller::Guest, form).err().unwrap().to_string(), "already id");
}

#[test]
fn each_bad_line_is_reported_with_its_reason_and_the_others_are_imported() {
    let service = testing::service();
    let id_rule =
        "id is 3 to 30 ASCII letters, digits, _ - or ., a letter or digit first, and not guest or removed";
    let hash =
        "password_hash is an Argon2 PHC string, a bcrypt hash, or as Werkzeug writes pbkdf2 and scrypt";
    let bad = [
        (json!({"nickname": "no id"}), id_rule),
        (json!({"id": "an"}), id_rule),
        (json!({"id": "Guest"}), id_rule),
        (json!({"id": 5}), "id is not a text in quotes"),
        (
            json!({"id": "ann", "nickname": " "}),
            "nickname is 1 to 30 visible characters on one line; leave it out to have the name, or the id",
        ),
        (json!({"id": "ann", "password_hash": "secret"}), hash),
        (json!({"id": "ann", "name": "a\nb"}), NAME_RULE),
        (json!({"id": "ann", "name": "a", "major": "b".repeat(101)}), MAJOR_RULE),
        (json!({"id": "ann", "major": "CS"}), MAJOR_ALONE),
        (json!({"id": "ann", "date": "yesterday"}), DATE_RULE),
        (json!({"id": "ann", "date": "2026-11-20T08:36:00.001Z"}), DATE_RULE),
        (
            json!(["ann"]),
            "it is not a JSON object: a member is written as {\"id\": …, \"nickname\": …, \
                          \"password_hash\": …}",
        ),
    ];
    let lines: Vec<Value> = bad.iter().map(|(line, _)| line.clone()).chain([json!({"id": "ben"})]).collect();
    let errors: Vec<(u64, &str)> = (1..).zip(bad.iter().map(|(_, reason)| *reason)).collect();
    assert_eq!(import(&service, &lines), report(1, 0, &errors));
}

#[test]
fn members_are_read_from_csv_with_the_same_names() {
    let service = testing::service();
    let input = "\u{feff}ID,Nickname,password_hash,name,major,date,Room\r\n\
        ann,\"Lee, Ann\",,Ann Lee,Physics,2024-03-01T09:00:00Z,7\r\ncid,Cid,,,,2999-01-01,\r\n";
    let report = import_members(&service, &Caller::Operator, input.as_bytes(), &mut to_the_end).unwrap();
    assert_eq!((report.inserted, report.about.unknown_columns), (1, vec!["Room".to_owned()]));
    assert_eq!((report.errors[0].line, &*report.errors[0].reason), (3, DATE_RULE));
    let info = service.call(&Caller::Operator, member::Get { user_id: "ann".into() }).unwrap().fields();
    assert_eq!((&*info.nickname, &*info.user_name, &*info.user_major), ("Lee, Ann", "Ann Lee", "Physics"));
}

#[test]
fn a_file_of_another_name_or_first_line_is_read_as_json() {
    let service = testing::service();
    let import = |is_csv: bool, input: &[u8]| {
        ImportMembers { is_csv }.import(&service, &Caller::Operator, input, &mut to_the_end).unwrap()
    };
    assert_eq!(import(false, b"nothing\n{\"id\": \"ann\"}\n").inserted, 1);
    assert_eq!(import(true, b"name\nAnn\n").errors[0].reason, COLUMNS.missing);
    let media = |is_csv: bool, head: &[u8]| ImportMembers { is_csv }.media_type(head);
    assert_eq!([media(false, b"[{"), media(false, b"{\"id\": 1}"), media(true, b"")], [JSON, NDJSON, CSV]);
    // UTF-16.
    assert_eq!(media(false, b"\xff\xfei\0d\0;\0n\0\r\0\n\0"), CSV);
}
