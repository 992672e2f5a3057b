//! Tests of the sessions that gave a code, of enrolment codes, and of the records of changes.

use super::*;

fn strict() -> Service {
    service_with(Config { require_otp: true, ..Config::default() })
}

fn strict_from_now_on(service: &Service) -> Tidings {
    let config = Config { require_otp: true, ..service.config().clone() };
    Tidings::builder(service.location()).config(config).clock(service.clock().clone()).open().unwrap()
}

fn rights(service: &Tidings, caller: &Caller) -> String {
    service
        .call(&again(caller), admin::Check {})
        .map_or_else(|error| error.problem().code.to_string(), |()| "yes".into())
}

fn works(service: &Tidings, caller: &Caller) -> bool {
    service.call(&again(caller), GetOtp {}).is_ok()
}

fn trail(service: &Service) -> Vec<String> {
    let records = service.trail().into_iter().rev();
    records.map(|record| format!("{} {}", record.actor, record.action)).collect()
}

#[test]
fn administrators_have_their_rights_in_sessions_that_gave_a_code() {
    let service = strict();
    let ann = service.admin("ann");
    let (phone, codes) = enable(&service, &again(&ann), "ann");
    let with_code = signed_in(&service, "ann", Some(&phone.code(&service)));
    let with_recovery_code = signed_in(&service, "ann", Some(&codes[0]));
    for caller in [&ann, &with_code, &with_recovery_code] {
        assert_eq!(rights(&service, caller), "yes");
    }
    // A new password keeps the rights of the session that gave it.
    let (new_pw, new_pw_check) = ("a new password".into(), "a new password".into());
    let new = ChangePassword { pw: PW.into(), new_pw, new_pw_check };
    let changed = service.call(&again(&with_code), new).unwrap();
    assert_eq!(rights(&service, &Caller::token(changed.access_token)), "yes");
    // The operator needs none.
    service.call(&Caller::Operator, admin::GetBlacklist {}).unwrap();
    service.call(&Caller::Member("ann".into()), admin::GetBlacklist {}).unwrap();
}

#[test]
fn a_session_that_is_older_than_the_second_factor_gets_no_rights() {
    let service = service();
    let ann = service.admin("ann");
    enable(&service, &ann, "ann");
    // Until now, sessions did not record codes.
    service.run("UPDATE session SET otp = NULL");
    let strict = strict_from_now_on(&service);
    assert_eq!((works(&strict, &ann), rights(&strict, &ann)), (true, "second_factor_needed".into()));
}

#[test]
fn each_change_ends_the_other_sessions_and_is_recorded() {
    let service = service();
    let ann = service.member("ann");
    let generation = service.number("SELECT generation FROM member");
    let bare = Caller::token(service.account().keys.sign("ann", generation, None, service.now()).unwrap());
    let other = |otp: Option<&str>| signed_in(&service, "ann", otp);
    let before = other(None);
    assert!(works(&service, &before) && works(&service, &bare));
    let (phone, codes) = enable(&service, &ann, "ann");
    assert_eq!([&ann, &before, &bare].map(|caller| works(&service, caller)), [true, false, false]);
    let second = other(Some(&codes[0]));
    let renewed = renew(&service, &ann, &phone.code(&service), NOBODY).unwrap();
    assert_eq!([&ann, &second].map(|caller| works(&service, caller)), [true, false]);
    let third = other(Some(&renewed[0]));
    disable(&service, &ann, PW, &renewed[1], NOBODY).unwrap();
    assert_eq!([&ann, &third].map(|caller| works(&service, caller)), [true, false]);
    assert!(!works(&service, &bare), "it stays revoked");
    // The operator in the name of the member.
    enable(&service, &Caller::Member("ann".into()), "ann");
    assert!(!works(&service, &ann));
    assert_eq!(
        trail(&service),
        [
            // The operator, who has no name here.
            " member.otp_code",
            "ann member.otp_enable",
            "ann member.otp_renew",
            "ann member.otp_disable",
            " member.otp_code",
            "as ann member.otp_enable",
        ]
    );
}

#[test]
fn disabling_it_ends_the_rights_of_the_session_where_it_is_required() {
    let service = strict();
    let ann = service.admin("ann");
    let (phone, _) = enable(&service, &ann, "ann");
    assert_eq!(rights(&service, &ann), "yes");
    disable(&service, &ann, PW, &phone.code(&service), NOBODY).unwrap();
    assert_eq!((works(&service, &ann), rights(&service, &ann)), (true, "second_factor_needed".into()));
}

#[test]
fn where_it_is_required_setting_it_up_needs_the_latest_code_of_somebody_else_once() {
    let service = strict();
    let (ann, boss) = (service.admin("ann"), service.admin("boss"));
    let begin = |code: &str| text(begun(&service, &ann, PW, Some(code)));
    let missing = begun(&service, &ann, PW, None).map(drop).unwrap_err();
    assert_eq!((missing.to_string().as_str(), missing.problem()), ("otp required", enrolment::NEEDED));
    assert_eq!(begin(" "), "otp required");
    assert_eq!(begin("0000-0000-0000-0000"), "incorrect otp");
    assert_eq!(text(issue(&service, &ann, "Ann")), "Not admin");
    enable(&service, &boss, "boss");
    let (first, second) =
        (issue(&service, &Caller::Operator, "Ann").unwrap(), issue(&service, &boss, "Ann").unwrap());
    assert_eq!(begin(&first), "incorrect otp", "a later one was issued");
    assert_eq!(text(begun(&service, &ann, "another password", Some(&second))), "incorrect pw");
    assert_eq!(begin(&second.to_uppercase().replace('-', " ")), "success");
    assert_eq!(begin(&second), "incorrect otp", "it works once");
    let third = issue(&service, &boss, "Ann").unwrap();
    service.clock().advance(60 * 60 * SECOND_MS);
    assert_eq!(begin(&third), "incorrect otp", "it has expired");
    assert_eq!(service.texts("SELECT hash FROM code"), [hash(&third)], "only the hash is stored");
    assert!(trail(&service).contains(&"boss member.otp_code".to_owned()), "{:?}", trail(&service));
}

#[test]
fn administrators_issue_no_code_to_themselves_but_the_operator_does_in_their_name() {
    let service = service();
    let boss = service.admin("boss");
    assert_eq!(text(issue(&service, &boss, "BOSS")), "bad request");
    assert_eq!(text(issue(&service, &Caller::Member("boss".into()), "boss")), "success");
    enable(&service, &boss, "boss");
    assert_eq!(text(issue(&service, &Caller::Operator, "boss")), "bad request", "it is enabled");
}

#[test]
fn a_secret_that_was_begun_without_a_code_is_not_enabled_where_one_is_needed() {
    let service = service();
    let ann = service.admin("ann");
    let phone = begun_phone(&service, &ann, "ann", None);
    let strict = strict_from_now_on(&service);
    let enable = |phone: &Phone| text(enabled(&strict, &again(&ann), &phone.code(&service)));
    assert_eq!(enable(&phone), "bad request");
    // Nor an hour after it was begun with one.
    let code = issue(&strict, &Caller::Operator, "ann").unwrap();
    let phone = begun_phone(&strict, &again(&ann), "ann", Some(&code));
    service.clock().advance(60 * 60 * SECOND_MS);
    assert_eq!(enable(&phone), "bad request");
}
