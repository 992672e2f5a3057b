use std::net::Ipv4Addr;

use data_encoding::BASE32_NOPAD;

use super::*;
use crate::account::{AccessToken, ChangePassword, SignIn};
use crate::base::client::Client;
use crate::base::config::Config;
use crate::mail::tests::{Mailing, config, text};
use crate::testing::{RunFor as _, Service, again, service, service_with, sign_in};
use crate::{Caller, Tidings, admin};

mod guessing;
mod sessions;

const NOBODY: Option<Client> = None;
const PW: &str = "password of ann";

fn from(n: u8) -> Client {
    Client::v4(Ipv4Addr::new(192, 0, 2, n))
}

pub(in crate::account) struct Phone(Vec<u8>);

impl Phone {
    pub(in crate::account) fn code(&self, service: &Service) -> String {
        one_time(&self.0, step(service.now()))
    }
}

fn begun(service: &Tidings, caller: &Caller, pw: &str, code: Option<&str>) -> Result<OtpSecret> {
    service.call(caller, BeginOtp { pw: pw.to_owned(), enrolment_code: code.map(str::to_owned) })
}

fn begun_phone(service: &Tidings, caller: &Caller, id: &str, code: Option<&str>) -> Phone {
    let secret = begun(service, caller, &format!("password of {id}"), code).unwrap().secret;
    Phone(BASE32_NOPAD.decode(secret.as_bytes()).unwrap())
}

fn enabled(service: &Tidings, caller: &Caller, otp: &str) -> Result<RecoveryCodes> {
    service.call(caller, EnableOtp { otp: otp.into() })
}

fn issue(service: &Tidings, admin: &Caller, id: &str) -> Result<String> {
    service.call(admin, IssueOtp { user_id: id.into() }).map(|issued| issued.enrolment_code)
}

/// Enables the second factor of a member, with an enrolment code where one is needed.
pub(in crate::account) fn enable(service: &Service, caller: &Caller, id: &str) -> (Phone, Vec<String>) {
    let code = issue(service, &Caller::Operator, id).unwrap();
    let phone = begun_phone(service, caller, id, Some(&code));
    let codes = enabled(service, caller, &phone.code(service)).unwrap();
    service.clock().advance(STEP_MS);
    (phone, codes.recovery_codes)
}

fn try_in(service: &Tidings, id: &str, otp: Option<&str>, client: Option<Client>) -> Result<AccessToken> {
    let form = SignIn { id: id.into(), pw: format!("password of {id}"), otp: otp.map(str::to_owned) };
    form.run_for(service, &Caller::Guest, client.into())
}

fn signed_in(service: &Tidings, id: &str, otp: Option<&str>) -> Caller {
    Caller::token(try_in(service, id, otp, NOBODY).unwrap().access_token)
}

fn status(service: &Service, caller: &Caller) -> (u8, i64) {
    let OtpStatus { enabled, recovery_codes } = service.call(&again(caller), GetOtp {}).unwrap();
    (enabled, recovery_codes)
}

fn disable(service: &Service, caller: &Caller, pw: &str, otp: &str, client: Option<Client>) -> Result<()> {
    DisableOtp { pw: pw.into(), otp: otp.into() }.run_for(service, caller, client.into())
}

fn renew(service: &Service, caller: &Caller, otp: &str, client: Option<Client>) -> Result<Vec<String>> {
    let form = RenewRecoveryCodes { pw: PW.into(), otp: otp.into() };
    form.run_for(service, caller, client.into()).map(|renewed| renewed.recovery_codes)
}

#[test]
fn a_sign_in_needs_a_code_once_the_second_factor_is_enabled_and_each_code_works_once() {
    let service = service();
    let ann = service.member("ann");
    let (phone, codes) = enable(&service, &ann, "ann");
    let try_with = |otp: &str| text(try_in(&service, "ann", Some(otp), NOBODY));
    assert_eq!(text(try_in(&service, "ann", None, NOBODY)), "otp required");
    let code = phone.code(&service);
    for (otp, answer) in [
        (" ", "otp required"),
        ("12345", "incorrect otp"),
        (&code, "success"),
        (&code, "incorrect otp"),
        (&codes[3], "success"),
        (&codes[3], "incorrect otp"),
    ] {
        assert_eq!(try_with(otp), answer, "{otp}");
    }
    assert_eq!(status(&service, &ann), (1, 9));
    // A wrong password tells nothing about the second factor, and other members never see it.
    assert_eq!(text(sign_in(&service, "ann", "another password", NOBODY)), "incorrect pw");
    service.member("ben");
    assert_eq!(text(try_in(&service, "ben", Some("12345"), NOBODY)), "success");
}

#[test]
fn a_secret_counts_only_after_the_authenticator_has_shown_a_code() {
    let service = service();
    let ann = service.member("ann");
    assert_eq!(text(enabled(&service, &ann, "12345")), "bad request");
    assert_eq!(text(begun(&service, &ann, "another password", None)), "incorrect pw");
    let first = begun(&service, &ann, PW, None).unwrap();
    assert_eq!(*first.uri, format!("otpauth://totp/tidings:ann?secret={}&issuer=tidings", *first.secret));
    assert_eq!(status(&service, &ann), (0, 0));
    assert_eq!(text(sign_in(&service, "ann", PW, NOBODY)), "success");
    assert_eq!(text(enabled(&service, &ann, "12345")), "incorrect otp");
    // Another secret replaces the first one.
    let (phone, _) = enable(&service, &ann, "ann");
    assert_ne!(BASE32_NOPAD.encode(&phone.0), *first.secret);
    let problem = begun(&service, &ann, PW, None).map(drop).unwrap_err().problem();
    assert_eq!(problem.code, Code::NotPossible);
    assert!(enabled(&service, &ann, &phone.code(&service)).is_err());
}

#[test]
fn it_is_disabled_and_recovery_codes_are_renewed_with_password_and_code() {
    let service = service();
    let ann = service.member("ann");
    let (phone, codes) = enable(&service, &ann, "ann");
    for (pw, otp, refused) in [
        ("another password", phone.code(&service), "incorrect pw"),
        (PW, "12345".into(), "incorrect otp"),
        (PW, String::new(), "incorrect otp"),
    ] {
        assert_eq!(text(disable(&service, &ann, pw, &otp, NOBODY)), refused);
    }
    let renewed = renew(&service, &ann, &phone.code(&service), NOBODY).unwrap();
    assert!(renewed.len() == 10 && !renewed.contains(&codes[0]));
    assert_eq!(text(try_in(&service, "ann", Some(&codes[0]), NOBODY)), "incorrect otp");
    disable(&service, &ann, PW, &renewed[0], NOBODY).unwrap();
    assert_eq!(status(&service, &ann), (0, 0));
    assert_eq!(text(sign_in(&service, "ann", PW, NOBODY)), "success");
    let again = disable(&service, &ann, PW, "12345", NOBODY).unwrap_err();
    assert_eq!(again.problem(), NOT_ENABLED);
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
fn a_mail_tells_the_member_about_each_change_of_what_a_sign_in_needs() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.member_at("ann", "ann@example.org");
    let told = |mailing: &mut Mailing| mailing.only().subject == "How you sign in to Campus has changed";
    let (_, codes) = enable(&mailing.service, &ann, "ann");
    assert!(told(&mut mailing));
    let ann = signed_in(&mailing.service, "ann", Some(&codes[0]));
    disable(&mailing.service, &ann, PW, &codes[1], NOBODY).unwrap();
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
