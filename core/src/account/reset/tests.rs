//! Tests of codes for new passwords.

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::Caller;
use crate::base::client::Client;
use crate::testing::{RunFor as _, Service, service, sign_in};
use crate::{member, profile};

const NEW: &str = "a new sentence";

/// Issues a code, as an administrator does.
fn issue(service: &Service, admin: &Caller, id: &str) -> Result<String> {
    service.call(admin, IssueReset { user_id: id.into() }).map(|issued| issued.code)
}

fn form(code: &str, new_pw: &str) -> ResetPassword {
    ResetPassword { code: code.into(), new_pw: new_pw.into(), new_pw_check: new_pw.into() }
}

fn reset(service: &Service, code: &str, new_pw: &str) -> String {
    text(service.call(&Caller::Guest, form(code, new_pw)))
}

fn text<T>(result: Result<T>) -> String {
    result.err().map_or_else(|| "success".to_owned(), |error| error.to_string())
}

fn signs_in(service: &Service, id: &str, pw: &str) -> String {
    text(sign_in(service, id, pw, None))
}

#[test]
fn a_code_sets_a_new_password_once_and_signs_the_member_out() {
    let service = service();
    let (ann, boss) = (service.member("ann"), service.admin("boss"));
    let code = issue(&service, &boss, "ANN").unwrap();
    assert_eq!(text(service.call(&ann, profile::Get {})), "success", "a code alone changes nothing");
    assert_eq!(signs_in(&service, "ann", "password of ann"), "success");
    // As people type it.
    assert_eq!(reset(&service, &format!(" {}\n", code.to_uppercase().replace('-', " ")), NEW), "success");
    assert_eq!(signs_in(&service, "ann", NEW), "success");
    assert_eq!(signs_in(&service, "ann", "password of ann"), "incorrect pw");
    assert_eq!(text(service.call(&ann, profile::Get {})), "not found");
    assert_eq!(reset(&service, &code, "another sentence"), "incorrect code");
    let trail = service.call(&boss, crate::audit::List::default()).unwrap().audit;
    let shown: Vec<_> = trail.iter().map(|entry| (&*entry.action, &*entry.actor, &*entry.subject)).collect();
    assert_eq!(
        shown[..2],
        [("member.reset_password", "ann", "ann"), ("member.reset_code", "boss", "ann")],
        "{trail:?}"
    );
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
}

#[test]
fn what_replaces_the_password_or_signs_out_ends_a_code_and_a_sign_in_does_not() {
    let service = service();
    let (ann, boss) = (service.member("ann"), service.admin("boss"));
    let code = issue(&service, &boss, "ann").unwrap();
    assert_eq!(signs_in(&service, "ann", "password of ann"), "success");
    service.call(&boss, member::SetPassword { user_id: "ann".into(), new_pw: NEW.into() }).unwrap();
    assert_eq!(reset(&service, &code, NEW), "incorrect code");
    let code = issue(&service, &boss, "ann").unwrap();
    service.call(&boss, member::SignOut { user_id: "ann".into() }).unwrap();
    assert_eq!(reset(&service, &code, NEW), "incorrect code");
    let code = issue(&service, &boss, "ann").unwrap();
    drop(ann);
    service.call(&boss, member::Remove { user_id: "ann".into() }).unwrap();
    assert_eq!(reset(&service, &code, NEW), "incorrect code");
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
fn only_administrators_issue_codes_and_not_to_themselves() {
    let service = service();
    let (ann, boss) = (service.member("ann"), service.admin("boss"));
    let key = service.key(crate::record::scope::Scope::Members);
    assert_eq!(text(issue(&service, &ann, "boss")), "Not admin");
    assert_eq!(text(issue(&service, &key, "ann")), "Not admin");
    assert_eq!(text(issue(&service, &Caller::Guest, "ann")), "bad token");
    assert_eq!(text(issue(&service, &boss, "Boss")), "bad request");
    assert_eq!(text(issue(&service, &boss, "nobody")), "Not found");
    let rows = "SELECT count(*) FROM code";
    assert_eq!(service.store().read(|tx| tx.one(rows, &[])?.take::<i64>(0)).unwrap(), 0);
}

#[test]
fn the_second_factor_stays() {
    let service = service();
    service.member("ann");
    let enabled = "INSERT INTO second_factor (member, secret, enabled, last_step) SELECT key, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', 7, 9 FROM member";
    service.store().write(Isolation::Alone, move |tx| tx.run(enabled, &[])).unwrap();
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
    let client = Some(Client::from(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))));
    let guess = |code: &str| text(form(code, NEW).run_for(&service, &Caller::Guest, client.into()));
    let refused =
        (0..1_000).map(|n| guess(&format!("0000-0000-0000-{n:04}"))).find(|text| text != "incorrect code");
    assert_eq!(refused.as_deref(), Some("too many requests"));
    assert_eq!(guess(&code), "too many requests");
    let other = Some(Client::from(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7))));
    assert_eq!(text(form(&code, NEW).run_for(&service, &Caller::Guest, other.into())), "success");
}
