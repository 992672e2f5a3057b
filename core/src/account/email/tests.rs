//! Tests of addresses, and of codes for new passwords by mail.

use super::*;
use crate::account::{RequestReset, ResetPassword, SignUp};
use crate::audit;
use crate::mail::tests::{Mailing, config, text};
use crate::testing::sign_in;
use crate::{admin, member};

fn set(id: &str, email: &str) -> SetEmail {
    SetEmail { pw: format!("password of {id}"), email: email.into(), otp: None }
}

fn confirm(mailing: &Mailing, caller: &Caller, code: &str) -> String {
    text(mailing.call(caller, ConfirmEmail { code: code.into() }))
}

fn reset(mailing: &Mailing, code: &str) -> String {
    let new = || "a new sentence".to_owned();
    text(
        mailing.call(&Caller::Guest, ResetPassword { code: code.into(), new_pw: new(), new_pw_check: new() }),
    )
}

fn addresses(mailing: &Mailing, caller: &Caller) -> (Option<String>, Option<String>) {
    let EmailAddress { email, pending_email } = mailing.call(caller, GetEmail {}).unwrap();
    (email, pending_email)
}

fn form(id: &str, email: &str) -> SignUp {
    let pw = format!("password of {id}");
    SignUp { id: id.into(), pw: pw.clone(), pw_check: pw, nickname: id.into(), email: Some(email.into()) }
}

#[test]
fn an_address_counts_once_the_digits_or_the_link_of_its_mail_have_confirmed_it() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    assert_eq!(addresses(&mailing, &ann), (None, None));
    assert_eq!(
        text(mailing.call(&ann, SetEmail { pw: "wrong".into(), ..set("ann", "a@b.cd") })),
        "incorrect pw"
    );
    assert_eq!(text(mailing.call(&ann, set("ann", "not one"))), "bad request");
    mailing.call(&ann, set("ann", "Ann@Example.org")).unwrap();
    let mail = mailing.only();
    assert_eq!((&*mail.to, &*mail.subject), ("Ann@example.org", "Confirm your address for Campus"));
    assert_eq!(addresses(&mailing, &ann), (None, Some("Ann@example.org".into())));
    assert_eq!(mailing.ask("ann"), "success");
    assert!(mailing.arrived().is_empty(), "an address that is not confirmed gets no code");
    let ben = mailing.service.member("ben");
    assert_eq!(confirm(&mailing, &ben, &mail.code()), "incorrect code", "the digits are of one member");
    assert_eq!(confirm(&mailing, &Caller::Guest, &mail.code()), "incorrect code");
    let digits = mail.code();
    assert_eq!(confirm(&mailing, &ann, &format!(" {} {} ", &digits[..3], &digits[3..])), "success");
    assert_eq!(addresses(&mailing, &ann), (Some("Ann@example.org".into()), None));
    assert_eq!(confirm(&mailing, &ann, &digits), "incorrect code", "once");

    mailing.call(&ann, set("ann", "ann@other.example")).unwrap();
    let [told, mail] = mailing.two();
    assert_eq!(
        (&*told.to, &*told.subject),
        ("Ann@example.org", "Another address was given to your account of Campus")
    );
    assert_eq!(mail.to, "ann@other.example");
    assert_eq!(addresses(&mailing, &ann), (Some("Ann@example.org".into()), Some("ann@other.example".into())));
    assert_eq!(confirm(&mailing, &Caller::Guest, &mail.linked()), "success");
    let note = mailing.only();
    assert_eq!((&*note.to, &*note.subject), ("Ann@example.org", "Your address for Campus has changed"));
    mailing.call(&Caller::Member("ann".into()), set("ann", " ")).unwrap();
    assert_eq!(mailing.only().to, "ann@other.example");
    assert_eq!(addresses(&mailing, &ann), (None, None));
    let trail = mailing.call(&Caller::Operator, audit::List::default()).unwrap().audit;
    let shown: Vec<_> =
        trail.iter().map(|entry| (&*entry.action, &*entry.actor_kind, &*entry.actor)).collect();
    assert_eq!(
        shown[..2],
        [("member.email", "operator", "as ann"), ("member.email", "member", "ann")],
        "{trail:?}"
    );
}

#[test]
fn the_code_of_a_mail_sets_a_password_once_within_20_minutes_and_the_member_is_told() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    for asked in ["ANN", " Ann@Example.ORG ", "ann"] {
        assert_eq!(mailing.ask(asked), "success");
        assert_eq!(mailing.only().to, "ann@example.org");
    }
    assert_eq!((mailing.ask("ann"), mailing.ask("ann")), ("success".into(), "success".into()));
    let late = mailing.only();
    mailing.service.clock().advance(LASTS_MS);
    assert_eq!(reset(&mailing, &late.code()), "incorrect code");
    mailing.ask("ann@example.org");
    let code = mailing.only().code();
    mailing.service.clock().advance(LASTS_MS - 1);
    assert_eq!(reset(&mailing, &code), "success");
    let note = mailing.only();
    assert_eq!((&*note.to, &*note.subject), ("ann@example.org", "Your password for Campus has changed"));
    assert_eq!(reset(&mailing, &code), "incorrect code");
    assert!(sign_in(&mailing.service, "ann", "a new sentence", None).is_ok());
}

#[test]
fn nobody_learns_whether_a_member_or_an_address_exists() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    let ben = mailing.member_at("ben", "ben@example.org");
    let (boss, long) = (mailing.service.admin("boss"), "x".repeat(100_000));
    mailing.call(&boss, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    for asked in ["nobody", "nobody@example.org", "ben", "ben@example.org", "boss", "", "%", &long] {
        assert_eq!(mailing.ask(asked), "success", "{asked:.20}");
    }
    assert!(mailing.arrived().is_empty());
    assert_eq!(mailing.call(&Caller::Operator, crate::mail::List {}).unwrap().mails, []);
    drop(ben);

    // An address of another member is told about it, and nobody else.
    let token = mailing.call(&Caller::Guest, form("eve", "ANN@example.org")).unwrap().access_token;
    let mail = mailing.only();
    assert_eq!(
        (&*mail.to, &*mail.subject),
        ("ANN@example.org", "Your address was given to another account of Campus")
    );
    assert!(mail.text.contains("ann") && !mail.text.contains("eve"), "{}", mail.text);
    assert_eq!(confirm(&mailing, &Caller::token(token), "000000"), "incorrect code");
    mailing.ask("ann@example.org");
    assert!(mailing.only().text.contains("account ann of"));
}

#[test]
fn of_two_members_the_first_who_confirms_an_address_has_it() {
    let mut mailing = Mailing::new(config());
    let [ann, ben] = ["ann", "ben"].map(|id| mailing.service.member(id));
    for (id, caller) in [("ann", &ann), ("ben", &ben)] {
        mailing.call(caller, set(id, "shared@example.org")).unwrap();
    }
    let mails = mailing.arrived();
    let of = |id| mails.iter().find(|mail| mail.text.contains(&format!("account {id} of"))).unwrap();
    assert_eq!(confirm(&mailing, &ben, &of("ben").code()), "success");
    assert_eq!(confirm(&mailing, &ann, &of("ann").code()), "incorrect code");
    assert_eq!(confirm(&mailing, &ann, &of("ann").linked()), "incorrect code");
}

#[test]
fn codes_cannot_be_guessed_and_mail_is_limited() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    mailing.call(&ann, set("ann", "ann@example.org")).unwrap();
    let code = mailing.only().code();
    let wrong = |n: u32| format!("{:06}", (code.parse::<u32>().unwrap() + n) % 1_000_000);
    for n in 1..=5 {
        assert_eq!(confirm(&mailing, &ann, &wrong(n)), "incorrect code");
    }
    assert_eq!(confirm(&mailing, &ann, &code), "incorrect code", "after five wrong codes");
    for _ in 0..4 {
        mailing.call(&ann, set("ann", "ann@example.org")).unwrap();
    }
    assert_eq!(
        text(mailing.call(&ann, set("ann", "other@example.org"))),
        "too many requests",
        "of the member"
    );
    let code = mailing.only().code();
    assert_eq!(confirm(&mailing, &ann, &code), "success");
    for n in 0..8 {
        assert_eq!(
            text(mailing.call(&Caller::Guest, form(&format!("eve{n}"), "ann@example.org"))),
            "success"
        );
    }
    assert!(mailing.arrived().is_empty(), "the address has got five mails in an hour");
    let asked = (0..8).map(|_| (mailing.ask("ann"), mailing.arrived().len())).map(|(_, sent)| sent);
    assert_eq!(asked.sum::<usize>(), 5);
    mailing.ask("ann@example.org");
    assert!(mailing.arrived().is_empty(), "the same member by another name");
    mailing.service.clock().advance(60 * 60 * SECOND_MS);
    mailing.ask("ann");
    assert_eq!(mailing.arrived().len(), 1);
    let client = || SignInClient {
        client: Some(crate::account::Client::v4([10, 0, 0, 1].into())),
        ..SignInClient::default()
    };
    let ask = |n: u32| {
        let request = RequestReset { id: format!("nobody{n}") };
        text(request.run_for(&mailing.service, &Caller::Guest, client()))
    };
    let answers: Vec<_> = (0..31).map(ask).collect();
    assert!(answers[..30].iter().all(|answer| answer == "success") && answers[30] == "too many requests");
}

#[test]
fn addresses_are_nowhere_else_and_end_with_the_account() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    let boss = mailing.service.admin("boss");
    mailing.ask("ann");
    let trail = mailing.call(&boss, audit::List::default()).unwrap();
    assert!(trail.audit.iter().any(|entry| entry.action == "member.email" && entry.subject == "ann"));
    let members = mailing.call(&boss, member::List::default()).unwrap();
    let mails = mailing.call(&boss, crate::mail::List {}).unwrap();
    for answer in
        [serde_json::to_string(&trail), serde_json::to_string(&members), serde_json::to_string(&mails)]
    {
        let answer = answer.unwrap();
        assert!(!answer.contains("example.org"), "{answer}");
    }
    mailing.call(&boss, member::Remove { user_id: "ann".into() }).unwrap();
    let left = mailing.service.store().read(|tx| {
        let sql = "SELECT (SELECT count(*) FROM member_email) + (SELECT count(*) FROM mail WHERE member IS NOT NULL)";
        tx.one(sql, &[])?.take::<i64>(0)
    });
    assert_eq!(left.unwrap(), 0);
    assert!(mailing.arrived().is_empty());
}

#[test]
fn a_sign_up_can_need_an_address() {
    let mut with = config();
    with.mail.required = true;
    let mut mailing = Mailing::new(with);
    assert_eq!(
        text(mailing.call(&Caller::Guest, SignUp { email: None, ..form("ann", "") })),
        "wrong user info"
    );
    assert_eq!(text(mailing.call(&Caller::Guest, form("ann", "ann at home"))), "wrong user info");
    assert_eq!(text(mailing.call(&Caller::Guest, form("ann", "ann@example.org"))), "success");
    assert_eq!(mailing.only().to, "ann@example.org");
}
