use super::*;

fn guess(service: &Service, id: &str, client: u8) -> String {
    text(try_in(service, id, Some("12345"), Some(from(client))))
}

#[test]
fn guessing_codes_from_many_clients_is_slowed_per_account() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let (phone, codes) = enable(&service, &ann, "ann");
    enable(&service, &ben, "ben");
    let answers: Vec<_> = (0..200).map(|n| guess(&service, "ann", n)).collect();
    assert!(answers[..11].iter().all(|answer| answer == "incorrect otp"), "{answers:?}");
    assert!(answers[11..].iter().all(|answer| answer == "too many requests"), "{answers:?}");
    // Every route that checks a code waits, also for right ones.
    let elsewhere = Some(from(250));
    for answer in [
        text(try_in(&service, "ann", Some(&codes[0]), elsewhere)),
        text(disable(&service, &ann, PW, &codes[0], elsewhere)),
        text(renew(&service, &ann, &codes[0], elsewhere)),
    ] {
        assert_eq!(answer, "too many requests");
    }
    // Strangers see nothing of it, nobody else waits, and nothing else does.
    assert_eq!(text(sign_in(&service, "ann", "another password", elsewhere)), "incorrect pw");
    assert_eq!(text(sign_in(&service, "ann", PW, elsewhere)), "otp required");
    assert_eq!(guess(&service, "ben", 251), "incorrect otp");
    service.call(&ann, GetOtp {}).unwrap();
    service.clock().advance(60 * SECOND_MS);
    assert_eq!(text(try_in(&service, "ann", Some(&phone.code(&service)), elsewhere)), "success");
    assert_eq!(guess(&service, "ann", 252), "incorrect otp", "a right code clears the count");
}

#[test]
fn strangers_who_do_not_know_the_password_make_nobody_wait() {
    let service = service();
    let ann = service.member("ann");
    let (phone, _) = enable(&service, &ann, "ann");
    let wrong = || SignIn { id: "ann".into(), pw: "another password".into(), otp: Some("12345".into()) };
    for n in 0..200 {
        assert_eq!(text(wrong().run_for(&service, &Caller::Guest, Some(from(n)).into())), "incorrect pw");
        assert_eq!(text(disable(&service, &ann, "another password", "1", Some(from(n)))), "incorrect pw");
    }
    assert_eq!(text(try_in(&service, "ann", Some(&phone.code(&service)), Some(from(250)))), "success");
}

#[test]
fn a_password_change_does_not_excuse_wrong_codes() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    enable(&service, &ann, "ann");
    let change = |caller: &Caller, id: &str, new: &str, client: u8| {
        let (pw, new_pw, new_pw_check) = (format!("password of {id}"), new.to_owned(), new.to_owned());
        text(ChangePassword { pw, new_pw, new_pw_check }.run_for(&service, caller, Some(from(client)).into()))
    };
    for _ in 0..6 {
        assert_eq!(guess(&service, "ann", 1), "incorrect otp");
        service.clock().advance(SECOND_MS);
    }
    // With an invalid new password, and with a valid one.
    assert_eq!(change(&ann, "ann", "short", 1), "wrong user info");
    assert_eq!(guess(&service, "ann", 1), "incorrect otp");
    assert_eq!(guess(&service, "ann", 1), "too many requests");
    service.clock().advance(2 * SECOND_MS);
    assert_eq!(change(&ann, "ann", PW, 1), "success");
    assert_eq!(guess(&service, "ann", 1), "incorrect otp");
    assert_eq!(guess(&service, "ann", 1), "too many requests", "the eighth failure");
    // Nor does an invalid one excuse wrong passwords.
    let wrong = || text(sign_in(&service, "ben", "another password", Some(from(2))));
    assert!((0..5).all(|_| wrong() == "incorrect pw"));
    assert_eq!(change(&ben, "ben", "short", 2), "wrong user info");
    assert_eq!((wrong(), wrong()), ("incorrect pw".into(), "too many requests".into()));
}

#[test]
fn an_enrolment_code_is_not_guessed_either() {
    let service = service_with(Config { require_otp: true, ..Config::default() });
    let ann = service.member("ann");
    let begin = |n: u8| {
        let form = BeginOtp { pw: PW.into(), enrolment_code: Some("0000".into()) };
        text(form.run_for(&service, &ann, Some(from(n)).into()))
    };
    let answers: Vec<String> = (0..20).map(begin).collect();
    assert!(answers[..11].iter().all(|answer| answer == "incorrect otp"), "{answers:?}");
    assert!(answers[11..].iter().all(|answer| answer == "too many requests"), "{answers:?}");
}

#[test]
fn codes_are_accepted_as_authenticators_show_and_people_type_them() {
    let service = service();
    let ann = service.member("ann");
    let phone = begun_phone(&service, &ann, "ann", None);
    let full =
        |code: &str| code.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect::<String>();
    let cut = |code: &str, between: &str| format!("{}{between}{}", &code[..3], &code[3..]);
    let fresh = || {
        service.clock().advance(STEP_MS);
        phone.code(&service)
    };
    let try_with = |otp: &str| text(try_in(&service, "ann", Some(otp), NOBODY));
    enabled(&service, &ann, &cut(&fresh(), " ")).unwrap();
    for between in [" ", "-", "\u{a0}", "\u{3000}", "\u{2011}", "\u{2212}", "－", "\u{200b}", "\t"] {
        assert_eq!(try_with(&cut(&fresh(), between)), "success", "{between:?}");
    }
    assert_eq!(try_with(&format!(" {} ", full(&fresh()))), "success");
    renew(&service, &ann, &full(&fresh()), NOBODY).unwrap();
    for (wrong, answer) in [
        ("", "otp required"),
        (" - ", "otp required"),
        ("12.345", "incorrect otp"),
        ("1234567", "incorrect otp"),
    ] {
        assert_eq!(try_with(wrong), answer, "{wrong:?}");
    }
    disable(&service, &ann, PW, &cut(&fresh(), "-"), NOBODY).unwrap();
}
