//! Tests of guessed codes, and of codes as people type them.

use super::*;
use crate::Caller;
use crate::account::ChangePassword;
use data_encoding::BASE32_NOPAD;

fn from(n: u8) -> Client {
    Client::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)))
}

fn guess(service: &Service, id: &str, client: u8) -> String {
    let otp = Some("12345");
    form(id, otp).run_for(service, &Caller::Guest, Some(from(client)).into()).err().unwrap().to_string()
}

#[test]
fn guessing_codes_from_many_clients_is_slowed_per_account() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let (phone, codes) = enable(&service, &ann, "ann");
    enable(&service, &ben, "ben");
    let answered = (0..200).filter(|n| guess(&service, "ann", *n) == "incorrect otp").count();
    assert_eq!(answered, 11);
    // Every route that checks a code waits, also for right ones.
    let pw = "password of ann";
    let elsewhere = Some(from(250));
    assert_eq!(
        refusal(form("ann", Some(&codes[0])).run_for(&service, &Caller::Guest, elsewhere.into())),
        "too many requests"
    );
    assert_eq!(refusal(disable_otp(&service, &ann, pw, &codes[0], elsewhere)), "too many requests");
    assert_eq!(refusal(renew_recovery_codes(&service, &ann, pw, &codes[0], elsewhere)), "too many requests");
    // Strangers see nothing of it, nobody else waits, and nothing else does.
    assert_eq!(refusal(sign_in(&service, "ann", "another password", elsewhere)), "incorrect pw");
    assert_eq!(refusal(sign_in(&service, "ann", pw, elsewhere)), "otp required");
    assert_eq!(guess(&service, "ben", 251), "incorrect otp");
    service.call(&ann, crate::account::GetOtp {}).unwrap();
    service.clock().advance(60 * SECOND_MS);
    form("ann", Some(&phone.code(&service))).run_for(&service, &Caller::Guest, elsewhere.into()).unwrap();
    assert_eq!(guess(&service, "ann", 252), "incorrect otp", "a right code clears the count");
}

#[test]
fn strangers_who_do_not_know_the_password_make_nobody_wait() {
    let service = service();
    let ann = service.member("ann");
    let (phone, _) = enable(&service, &ann, "ann");
    for n in 0..200 {
        let wrong = SignIn { pw: "another password".into(), ..form("ann", Some("12345")) };
        assert_eq!(
            refusal(wrong.clone().run_for(&service, &Caller::Guest, Some(from(n)).into())),
            "incorrect pw"
        );
        assert_eq!(
            refusal(disable_otp(&service, &ann, "another password", "1", Some(from(n)))),
            "incorrect pw"
        );
    }
    form("ann", Some(&phone.code(&service)))
        .run_for(&service, &Caller::Guest, Some(from(250)).into())
        .unwrap();
}

#[test]
fn a_password_change_does_not_excuse_wrong_codes() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    enable(&service, &ann, "ann");
    let change = |caller: &Caller, id: &str, new: &str| {
        let form =
            ChangePassword { pw: format!("password of {id}"), new_pw: new.into(), new_pw_check: new.into() };
        form.run_for(&service, caller, Some(from(1)).into()).map(drop)
    };
    for _ in 0..6 {
        assert_eq!(guess(&service, "ann", 1), "incorrect otp");
        service.clock().advance(SECOND_MS);
    }
    // With an invalid new password, and with a valid one.
    assert_eq!(refusal(change(&ann, "ann", "short")), "wrong user info");
    assert_eq!(guess(&service, "ann", 1), "incorrect otp");
    assert_eq!(guess(&service, "ann", 1), "too many requests");
    service.clock().advance(2 * SECOND_MS);
    change(&ann, "ann", "password of ann").unwrap();
    assert_eq!(guess(&service, "ann", 1), "incorrect otp");
    assert_eq!(guess(&service, "ann", 1), "too many requests", "the eighth failure");
    // Nor does an invalid one excuse wrong passwords.
    let wrong = |n: usize| {
        let mut answer = String::new();
        for _ in 0..n {
            answer = refusal(sign_in(&service, "ben", "another password", Some(from(2))));
        }
        answer
    };
    assert_eq!(wrong(5), "incorrect pw");
    let invalid =
        ChangePassword { pw: "password of ben".into(), new_pw: "short".into(), new_pw_check: "short".into() };
    assert_eq!(refusal(invalid.run_for(&service, &ben, Some(from(2)).into())), "wrong user info");
    assert_eq!((wrong(1), wrong(1)), ("incorrect pw".into(), "too many requests".into()));
}

#[test]
fn an_enrolment_code_is_not_guessed_either() {
    let service = service_with(Config { require_otp: true, ..Config::default() });
    let ann = service.member("ann");
    let begin = |n: u8| {
        let form = BeginOtp { pw: "password of ann".into(), enrolment_code: Some("0000".into()) };
        refusal(form.clone().run_for(&service, &ann, Some(from(n)).into()))
    };
    let answers: Vec<String> = (0..20).map(begin).collect();
    assert!(answers[..11].iter().all(|answer| answer == "incorrect otp"), "{answers:?}");
    assert!(answers[11..].iter().all(|answer| answer == "too many requests"), "{answers:?}");
}

#[test]
fn codes_are_accepted_as_authenticators_show_and_people_type_them() {
    let service = service();
    let ann = service.member("ann");
    let secret = begun(&service, &ann, "password of ann", None).unwrap().secret;
    let phone = Phone(BASE32_NOPAD.decode(secret.as_bytes()).unwrap());
    let full =
        |code: &str| code.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect::<String>();
    let cut = |code: &str, between: &str| format!("{}{between}{}", &code[..3], &code[3..]);
    let fresh = || {
        service.clock().advance(STEP_MS);
        phone.code(&service)
    };
    EnableOtp { otp: (&cut(&fresh(), " ")).into() }.run_for(&service, &ann, NOBODY.into()).unwrap();
    for between in [" ", "-", "\u{a0}", "\u{3000}", "\u{2011}", "\u{2212}", "－", "\u{200b}", "\t"] {
        let typed = cut(&fresh(), between);
        form("ann", Some(&typed)).run_for(&service, &Caller::Guest, NOBODY.into()).map(drop).expect(&typed);
    }
    form("ann", Some(&format!(" {} ", full(&fresh()))))
        .run_for(&service, &Caller::Guest, NOBODY.into())
        .unwrap();
    let pw = "password of ann";
    let renewed = renew_recovery_codes(&service, &ann, pw, &full(&fresh()), NOBODY);
    assert!(renewed.is_ok());
    for wrong in ["", " - ", "12.345", "1234567"] {
        let expected =
            if wrong.trim_matches([' ', '-']).is_empty() { "otp required" } else { "incorrect otp" };
        assert_eq!(
            refusal(form("ann", Some(wrong)).run_for(&service, &Caller::Guest, NOBODY.into())),
            expected,
            "{wrong:?}"
        );
    }
    disable_otp(&service, &ann, pw, &cut(&fresh(), "-"), NOBODY).unwrap();
}
