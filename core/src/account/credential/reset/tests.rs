use std::net::Ipv4Addr;

use super::*;
use crate::Caller;
use crate::account::credential::otp;
use crate::base::client::Client;
use crate::mail::tests::text;
use crate::testing::{RunFor as _, Service, service, sign_in};

const NEW: &str = "a new sentence";

fn issue(service: &Service, admin: &Caller, id: &str) -> Result<String> {
    service.call(admin, IssueReset { user_id: id.into() }).map(|issued| issued.code)
}

fn form(code: &str, new_pw: &str) -> ResetPassword {
    ResetPassword { code: code.into(), new_pw: new_pw.into(), new_pw_check: new_pw.into() }
}

fn reset(service: &Service, code: &str, new_pw: &str) -> String {
    text(service.call(&Caller::Guest, form(code, new_pw)))
}

fn signs_in(service: &Service, id: &str, pw: &str) -> String {
    text(sign_in(service, id, pw, None))
}

#[test]
fn administrators_issue_themselves_no_code_and_a_code_is_read_as_people_type_it() {
    let service = service();
    let (_, boss) = (service.member("ann"), service.admin("boss"));
    assert_eq!(text(issue(&service, &boss, "Boss")), "bad request");
    let code = issue(&service, &boss, "ANN").unwrap();
    assert_eq!(reset(&service, &format!(" {}\n", code.to_uppercase().replace('-', " ")), NEW), "success");
}

#[test]
fn a_code_works_for_an_hour_and_only_the_latest() {
    let service = service();
    service.member("ann");
    let first = issue(&service, &Caller::Operator, "ann").unwrap();
    let second = issue(&service, &Caller::Operator, "ann").unwrap();
    assert_eq!(reset(&service, &first, NEW), "incorrect code");
    service.clock().advance(LASTS_MS);
    assert_eq!(reset(&service, &second, NEW), "incorrect code");
    let third = issue(&service, &Caller::Operator, "ann").unwrap();
    service.clock().advance(LASTS_MS - 1);
    assert_eq!(reset(&service, &third, NEW), "success");
    let last = issue(&service, &Caller::Operator, "ann").unwrap();
    service.remove_member("ann");
    assert_eq!(reset(&service, &last, NEW), "incorrect code", "it ends with its member");
}

#[test]
fn a_bad_password_keeps_the_code() {
    let service = service();
    service.admin("boss");
    let code = issue(&service, &Caller::Operator, "boss").unwrap();
    assert_eq!(reset(&service, &code, "short"), "wrong user info");
    assert_eq!(reset(&service, &code, "password1"), "wrong user info", "a common one of an administrator");
    let differs = ResetPassword { new_pw_check: "another".into(), ..form(&code, NEW) };
    let refused = service.call(&Caller::Guest, differs).err().unwrap();
    assert_eq!((refused.result(), refused.problem().field), ("check pw", Some("new_pw_check")));
    assert_eq!(reset(&service, &code, NEW), "success");
}

#[test]
fn the_second_factor_stays() {
    let service = service();
    otp::tests::enable(&service, &service.member("ann"), "ann");
    assert_eq!(signs_in(&service, "ann", "password of ann"), "otp required");
    let code = issue(&service, &Caller::Operator, "ann").unwrap();
    assert_eq!(reset(&service, &code, NEW), "success");
    assert_eq!(signs_in(&service, "ann", NEW), "otp required");
}

#[test]
fn a_client_that_guesses_codes_is_slowed() {
    let service = service();
    service.member("ann");
    let code = issue(&service, &Caller::Operator, "ann").unwrap();
    let guess = |code: &str, network| {
        let client = Client::v4(Ipv4Addr::new(network, 0, 2, 7));
        text(form(code, NEW).run_for(&service, &Caller::Guest, Some(client).into()))
    };
    let mut refused = (0..1_000).map(|n| guess(&format!("0000-0000-0000-{n:04}"), 192));
    assert_eq!(refused.find(|text| text != "incorrect code").as_deref(), Some("too many requests"));
    assert_eq!(guess(&code, 192), "too many requests");
    assert_eq!(guess(&code, 198), "success");
}
