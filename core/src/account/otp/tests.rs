//! Tests of the second factor.

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::Caller;
use crate::Tidings;
use crate::account::SignIn;
use crate::admin;
use crate::base::client::Client;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::mail::tests::{Mailing, config};
use crate::record::scope::Scope;
use crate::testing::{RunFor as _, Service, service, service_with, sign_in};
use data_encoding::BASE32_NOPAD;

mod guessing;
mod sessions;

const NOBODY: Option<Client> = None;

fn refusal<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

/// An authenticator.
pub(in crate::account) struct Phone(Vec<u8>);

impl Phone {
    pub(in crate::account) fn code(&self, service: &Service) -> String {
        one_time(&self.0, step(service.now()))
    }
}

/// Begins to set up a second factor.
fn begun(service: &Service, caller: &Caller, pw: &str, code: Option<&str>) -> Result<OtpSecret> {
    let form = BeginOtp { pw: pw.to_owned(), enrolment_code: code.map(str::to_owned) };
    form.clone().run_for(service, caller, NOBODY.into())
}

/// Enables the second factor of a member, with an enrolment code where one is needed.
pub(in crate::account) fn enable(service: &Service, caller: &Caller, id: &str) -> (Phone, Vec<String>) {
    let code = service
        .call(&Caller::Operator, crate::member::IssueOtp { user_id: id.into() })
        .unwrap()
        .enrolment_code;
    let secret = begun(service, caller, &format!("password of {id}"), Some(&code)).unwrap();
    let phone = Phone(BASE32_NOPAD.decode(secret.secret.as_bytes()).unwrap());
    let codes =
        EnableOtp { otp: (&phone.code(service)).into() }.run_for(service, caller, NOBODY.into()).unwrap();
    service.clock().advance(STEP_MS);
    (phone, codes.recovery_codes)
}

/// Returns the caller of another request with the same token.
fn again(caller: &Caller) -> Caller {
    let Caller::Token(token) = caller else { unreachable!("it is a token") };
    Caller::token(token.text())
}

fn signed_in(service: &Tidings, id: &str, otp: Option<&str>) -> Caller {
    Caller::token(form(id, otp).run_for(service, &Caller::Guest, NOBODY.into()).unwrap().access_token)
}

fn disable_otp(
    service: &Service,
    caller: &Caller,
    pw: &str,
    otp: &str,
    client: Option<Client>,
) -> Result<()> {
    DisableOtp { pw: pw.into(), otp: otp.into() }.run_for(service, caller, client.into())
}

fn renew_recovery_codes(
    service: &Service,
    caller: &Caller,
    pw: &str,
    otp: &str,
    client: Option<Client>,
) -> Result<RecoveryCodes> {
    RenewRecoveryCodes { pw: pw.into(), otp: otp.into() }.run_for(service, caller, client.into())
}

fn form(id: &str, otp: Option<&str>) -> SignIn {
    SignIn { id: id.into(), pw: format!("password of {id}"), otp: otp.map(str::to_owned) }
}

#[test]
fn a_sign_in_needs_a_code_once_the_second_factor_is_enabled_and_each_code_works_once() {
    let service = service();
    let ann = service.member("ann");
    let (phone, codes) = enable(&service, &ann, "ann");
    assert_eq!(
        service.call(&ann, crate::account::GetOtp {}).unwrap(),
        OtpStatus { enabled: 1, recovery_codes: 10 }
    );
    let try_with =
        |otp: Option<&str>| form("ann", otp).run_for(&service, &Caller::Guest, NOBODY.into()).map(drop);
    assert_eq!(refusal(sign_in(&service, "ann", "password of ann", NOBODY)), "otp required");
    assert_eq!(refusal(try_with(Some(" "))), "otp required");
    assert_eq!(refusal(try_with(Some("12345"))), "incorrect otp");
    let code = phone.code(&service);
    try_with(Some(&format!(" {code} "))).unwrap();
    assert_eq!(refusal(try_with(Some(&code))), "incorrect otp", "each code works once");
    service.clock().advance(STEP_MS);
    try_with(Some(&phone.code(&service))).unwrap();
    // A recovery code, as people type it.
    try_with(Some(&codes[3].to_uppercase().replace('-', " ").replace('0', "O"))).unwrap();
    assert_eq!(refusal(try_with(Some(&codes[3]))), "incorrect otp");
    assert_eq!(service.call(&ann, crate::account::GetOtp {}).unwrap().recovery_codes, 9);
    // A wrong password tells nothing about the second factor, and other members never see it.
    let wrong = SignIn { pw: "another password".into(), ..form("ann", Some(&phone.code(&service))) };
    assert_eq!(refusal(wrong.clone().run_for(&service, &Caller::Guest, NOBODY.into())), "incorrect pw");
    service.member("ben");
    form("ben", Some("12345")).run_for(&service, &Caller::Guest, NOBODY.into()).unwrap();
}

#[test]
fn a_secret_counts_only_after_the_authenticator_has_shown_a_code() {
    let service = service();
    let ann = service.member("ann");
    assert_eq!(
        refusal(EnableOtp { otp: "12345".into() }.run_for(&service, &ann, NOBODY.into())),
        "bad request"
    );
    assert_eq!(refusal(begun(&service, &ann, "another password", None)), "incorrect pw");
    let first = begun(&service, &ann, "password of ann", None).unwrap();
    assert_eq!(*first.uri, format!("otpauth://totp/tidings:ann?secret={}&issuer=tidings", *first.secret));
    assert_eq!(
        service.call(&ann, crate::account::GetOtp {}).unwrap(),
        OtpStatus { enabled: 0, recovery_codes: 0 }
    );
    sign_in(&service, "ann", "password of ann", NOBODY).unwrap();
    assert_eq!(
        refusal(EnableOtp { otp: "12345".into() }.run_for(&service, &ann, NOBODY.into())),
        "incorrect otp"
    );
    // Another secret replaces the first one.
    let (phone, _) = enable(&service, &ann, "ann");
    assert_ne!(BASE32_NOPAD.encode(&phone.0), *first.secret);
    let problem = begun(&service, &ann, "password of ann", None).map(drop).unwrap_err().problem();
    assert_eq!(problem.code, Code::NotPossible);
    assert!(
        EnableOtp { otp: (&phone.code(&service)).into() }.run_for(&service, &ann, NOBODY.into()).is_err()
    );
}

#[test]
fn it_is_disabled_and_recovery_codes_are_renewed_with_password_and_code() {
    let service = service();
    let ann = service.member("ann");
    let (phone, codes) = enable(&service, &ann, "ann");
    assert_eq!(
        refusal(disable_otp(&service, &ann, "another password", &phone.code(&service), NOBODY)),
        "incorrect pw"
    );
    assert_eq!(refusal(disable_otp(&service, &ann, "password of ann", "12345", NOBODY)), "incorrect otp");
    assert_eq!(refusal(disable_otp(&service, &ann, "password of ann", "", NOBODY)), "incorrect otp");
    let renewed =
        renew_recovery_codes(&service, &ann, "password of ann", &phone.code(&service), NOBODY).unwrap();
    assert!(renewed.recovery_codes.len() == 10 && !renewed.recovery_codes.contains(&codes[0]));
    let with = |otp: &str| form("ann", Some(otp)).run_for(&service, &Caller::Guest, NOBODY.into()).map(drop);
    assert_eq!(refusal(with(&codes[0])), "incorrect otp");
    disable_otp(&service, &ann, "password of ann", &renewed.recovery_codes[0], NOBODY).unwrap();
    assert_eq!(
        service.call(&ann, crate::account::GetOtp {}).unwrap(),
        OtpStatus { enabled: 0, recovery_codes: 0 }
    );
    sign_in(&service, "ann", "password of ann", NOBODY).unwrap();
    let again = disable_otp(&service, &ann, "password of ann", "12345", NOBODY).unwrap_err();
    assert_eq!(again.problem(), NOT_ENABLED);
}

#[test]
fn administrators_reset_a_lost_second_factor() {
    let service = service();
    let (ann, boss) = (service.member("ann"), service.admin("boss"));
    enable(&service, &ann, "ann");
    assert_eq!(refusal(service.call(&ann, crate::member::ResetOtp { user_id: "ann".into() })), "Not admin");
    assert_eq!(
        refusal(
            service.call(&service.key(Scope::Members), crate::member::ResetOtp { user_id: "ann".into() })
        ),
        "Not admin"
    );
    assert_eq!(
        refusal(service.call(&Caller::Operator, crate::member::ResetOtp { user_id: "nobody".into() })),
        "Not found"
    );
    assert_eq!(
        refusal(service.call(&Caller::Operator, crate::member::ResetOtp { user_id: "boss".into() })),
        "bad request"
    );
    for caller in [&Caller::Operator, &boss] {
        service.call(caller, crate::member::ResetOtp { user_id: "ANN".into() }).unwrap();
        assert_eq!(refusal(service.call(&ann, crate::account::GetOtp {})), "bad token", "the sessions end");
        let ann = signed_in(&service, "ann", None);
        enable(&service, &ann, "ann");
    }
}

#[test]
fn guessing_codes_is_slowed_like_guessing_passwords_and_a_right_password_does_not_help() {
    let service = service();
    let ann = service.member("ann");
    let (phone, _) = enable(&service, &ann, "ann");
    let client = Some(Client::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))));
    for _ in 0..5 {
        assert_eq!(
            refusal(form("ann", None).run_for(&service, &Caller::Guest, client.into())),
            "otp required"
        );
        assert_eq!(
            refusal(form("ann", Some("12345")).run_for(&service, &Caller::Guest, client.into())),
            "incorrect otp"
        );
    }
    form("ann", Some("12345")).run_for(&service, &Caller::Guest, client.into()).map(drop).unwrap_err();
    assert_eq!(
        refusal(form("ann", Some("12345")).run_for(&service, &Caller::Guest, client.into())),
        "too many requests"
    );
    assert_eq!(
        refusal(form("ann", None).run_for(&service, &Caller::Guest, client.into())),
        "too many requests"
    );
    let other = Some(Client::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))));
    service.clock().advance(SECOND_MS * 60);
    form("ann", Some(&phone.code(&service))).run_for(&service, &Caller::Guest, other.into()).unwrap();
}

#[test]
fn recovery_codes_are_easy_to_read_and_forgiving() {
    let codes = generate().recovery_codes;
    assert_eq!(codes.len(), RECOVERY_CODES);
    for code in &codes {
        assert_eq!(code.split('-').map(str::len).collect::<Vec<_>>(), [4, 4, 4, 4], "{code}");
        assert!(!code.contains(['i', 'l', 'o', 'u']), "{code}");
    }
    assert_eq!(hash("0123-abcd"), hash(" O1 23abCD "));
    assert_eq!(hash("0123-abcd"), hash("０１２３－ａｂｃｄ"));
    assert_eq!(hash("1"), hash("l"));
    assert_ne!(hash("0123"), hash("0124"));
}

#[test]
fn a_second_factor_goes_with_its_member() {
    let service = service();
    let ann = service.member("ann");
    enable(&service, &ann, "ann");
    service.call(&Caller::Operator, crate::member::Remove { user_id: "ann".into() }).unwrap();
    service.clock().advance(DAY_MS);
    service.member("ann");
    sign_in(&service, "ann", "password of ann", NOBODY).unwrap();
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        service.store().read(|tx| tx.one(&sql, &[])?.take::<i64>(0)).unwrap()
    };
    assert_eq!((count("second_factor"), count("recovery_code")), (0, 0));
}

#[test]
fn a_mail_tells_the_member_about_each_change_of_what_a_sign_in_needs() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.member_at("ann", "ann@example.org");
    let told = |mailing: &mut Mailing| mailing.only().subject == "How you sign in to Campus has changed";
    let (_, codes) = enable(&mailing.service, &ann, "ann");
    assert!(told(&mut mailing));
    let ann = Caller::token(crate::testing::sign_in_with(&mailing.service, "ann", &codes[0]));
    let form = DisableOtp { pw: "password of ann".into(), otp: codes[1].clone() };
    mailing.call(&ann, form).unwrap();
    assert!(told(&mut mailing));
}

#[test]
fn codes_are_those_of_the_rfc() {
    // RFC 6238, appendix B: the last six of the eight digits.
    let secret = b"12345678901234567890";
    for (seconds, digits) in [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ] {
        let at = Timestamp::from_millis(seconds * SECOND_MS);
        assert_eq!(one_time(secret, step(at)), digits, "{seconds}");
        assert_eq!(matching(secret, digits, at, 0), Some(step(at)));
        assert_eq!(matching(secret, digits, at, step(at)), None, "each code works once");
        assert_eq!(matching(secret, digits, at + STEP_MS, 0), Some(step(at)), "a clock may be late");
        assert_eq!(matching(secret, digits, at + 2 * STEP_MS, 0), None);
        assert_eq!(matching(secret, digits, at + -STEP_MS, 0), Some(step(at)), "or early");
        assert_eq!(matching(secret, digits, at + -2 * STEP_MS, 0), None);
    }
    for other in ["", "28708", "2870822", "000000", "한"] {
        assert_eq!(matching(secret, other, Timestamp::from_millis(59 * SECOND_MS), 0), None, "{other:?}");
    }
}
