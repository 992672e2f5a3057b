//! Proof that nothing of a removed member is left in the database.

use super::*;
use crate::account::REMOVED;
use crate::base::clock::DAY_MS;
use crate::base::location::Location;
use crate::service::retention;
use crate::testing::{self, Service, draft, operator, publish, service, sign_in};
use crate::transfer::backup::{CancelFlag, backup_compact};
use crate::{admin, feedback, notice, post, profile, search, words};

/// The id, which other texts contain only if they name the member.
const ID: &str = "Wigglesworth77";
/// Texts that only rows of the member have.
const TEXTS: [&str; 10] = [
    "Snickerdoodle",
    "지우개 박사",
    "Zymurgyology",
    "quokkalike",
    "quokkasimilar",
    "feedofaxolotls",
    "tagofaxolotls",
    "PTERODACTYLSECRET",
    "hashofmyrecoverycode",
    "device of an okapi",
];
/// The text of the feedback, which stays with the author `removed`.
const FEEDBACK: &str = "The platypus door squeaks.";

/// Returns the rows of the database, and of no deleted row: the bytes of a compact backup.
fn bytes(service: &Service) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (file, location) = (directory.path().join("b.db"), Location::from(service.location()));
    backup_compact(operator(), &location, &file, &mut |_| {}, &CancelFlag::default()).unwrap();
    std::fs::read(file).unwrap()
}

fn found<'t>(bytes: &[u8], texts: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    let bytes = bytes.to_ascii_lowercase();
    let contains = |text: &&str| {
        let text = text.to_ascii_lowercase();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    texts.into_iter().filter(contains).collect()
}

fn fill(service: &Service) {
    for sql in [
            "UPDATE member SET nickname = 'Snickerdoodle', name = '지우개 박사', major = 'Zymurgyology' WHERE folded = 'wigglesworth77'",
            "INSERT INTO second_factor (member, secret, enabled, last_step) SELECT key, 'PTERODACTYLSECRET', 1, 1
             FROM member WHERE folded = 'wigglesworth77'",
            "INSERT INTO recovery_code (member, hash) SELECT key, 'hashofmyrecoverycode' FROM member WHERE folded = 'wigglesworth77'",
            "INSERT INTO opened (member, newsfeed, tag, date) SELECT key, 'feedofaxolotls', '[\"tagofaxolotls\"]', 1
             FROM member WHERE folded = 'wigglesworth77'",
            "INSERT INTO searched (member, original, token, similar_words, date)
             SELECT key, 'quokkalike', 'quokkalike', 'quokkasimilar', 1 FROM member WHERE folded = 'wigglesworth77'",
            "UPDATE session SET device = 'device of an okapi' WHERE member = (SELECT key FROM member WHERE folded = 'wigglesworth77')",
            "INSERT INTO moved_act (member, date, act) SELECT key, 1, 2 FROM member WHERE folded = 'wigglesworth77'",
    ] {
        service.run(sql);
    }
}

fn secrets(service: &Service) -> Vec<String> {
    service.texts(
        "SELECT password FROM member WHERE folded = 'wigglesworth77'
               UNION ALL SELECT s.id FROM session s JOIN member m ON m.key = s.member WHERE m.folded = 'wigglesworth77'
               UNION ALL SELECT i.salt FROM audit_identity i JOIN member m ON m.key = i.member WHERE m.folded = 'wigglesworth77'",
    )
}

#[test]
fn a_compact_backup_has_nothing_of_a_removed_member() {
    let service = service();
    let (boss, member) = (service.admin("boss"), service.admin(ID));
    let posts = [1, 2].map(|n| {
        let text = Some("도서관 library reading room ".repeat(20));
        let draft = draft(format!("도서관 {n}"), format!("https://example.com/{n}"));
        publish(&service, post::Draft { post: text, ..draft })
    });
    // As an administrator, and as the one on whom another administrator acts.
    service.call(&member, notice::Insert { draft: testing::notice("Closed") }).unwrap();
    service.call(&boss, admin::PushBlacklist { user_id: ID.into() }).unwrap();
    service.call(&boss, admin::PopBlacklist { user_id: ID.into() }).unwrap();
    let member =
        Caller::token(sign_in(&service, ID, &format!("password of {ID}"), None).unwrap().access_token);
    post::like(&service, &member, &posts[0]).wait().unwrap();
    post::view(&service, &member, &posts[1]).wait().unwrap();
    post::hide(&service, &member, &posts[1]).wait().unwrap();
    search::log(&service, &member, None, "quokkalike").wait().unwrap();
    let message = feedback::Message { kind: None, post: Some(FEEDBACK.into()), feedback: None };
    service.call(&member, feedback::SendGeneral { message }).unwrap();
    fill(&service);
    let secrets = secrets(&service);
    let session = service.call(&member, crate::account::ListSessions {}).unwrap().sessions[0].id.clone();
    assert!(secrets.len() == 3 && secrets.contains(&session), "{secrets:?}");
    for (template, path) in [
        ("/get_log_user/{user_id}/{limit}", format!("/get_log_user/{ID}/5")),
        ("/push_blacklist/{user_id}", "/push_blacklist/%57igglesworth77".to_owned()),
        ("/sign_out_session/{session_obi}", format!("/sign_out_session/{session}")),
        (
            "/sign_out_member_session/{user_id}/{session_obi}",
            format!("/sign_out_member_session/{ID}/{session}"),
        ),
    ] {
        service.communicate(&boss, 1, "GET", template, &path);
        service.communicate(&member, 2, "GET", template, &path);
    }
    service.settle();
    words::train(&service, &Caller::Operator, &mut |_| {}).unwrap();
    let all = || [ID].into_iter().chain(TEXTS).chain(secrets.iter().map(String::as_str));
    let before = found(&bytes(&service), all());
    assert_eq!(before, all().collect::<Vec<_>>(), "otherwise the search proves nothing");

    service.call(&member, profile::Remove {}).unwrap();
    // Searches count in trends for a day; then retention deletes them.
    service.clock().advance(2 * DAY_MS);
    retention::delete_expired(&service);
    // Requests of the member that were still running, or that name them.
    let path = format!("/get_log_user/{ID}/5");
    service.communicate(&member, 2, "GET", "/get_log_user/{user_id}/{limit}", &path);
    service.settle();
    let after = bytes(&service);
    assert_eq!(found(&after, all()), [""; 0]);
    assert_eq!(found(&after, [FEEDBACK]), [FEEDBACK]);
    let sent = service.call(&Caller::Operator, feedback::ListAll {}).unwrap().feedback_list;
    assert_eq!(sent[0].author, REMOVED);
    // The files beside the database: the word model and the key that signs tokens.
    let database = service.path();
    let files = std::fs::read_dir(database.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let others: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "words" || end == "key")).collect();
    for path in &others {
        assert_eq!(found(&std::fs::read(path).unwrap(), all()), [""; 0], "{path:?}");
    }
    assert!(!others.is_empty() || service.is_on_server());
    let verified = service.call(&Caller::Operator, crate::audit::Verify { head: None }).unwrap();
    assert!(verified.fault.is_none(), "the audit trail is intact");
}
