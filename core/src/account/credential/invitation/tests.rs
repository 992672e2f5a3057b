use std::net::Ipv4Addr;
use std::sync::Barrier;

use super::*;
use crate::Caller;
use crate::Tidings;
use crate::base::client::Client;
use crate::base::config::Registration;
use crate::mail::tests::{Mailing, config, text};
use crate::testing::{NOW, RunFor as _, Service, service_with, sign_in, sign_up_form as form};
use crate::{admin, member};

fn closed() -> Service {
    service_with(Config { sign_up: Registration::Closed, ..Config::default() })
}

fn boss(service: &Service, id: &str) -> Caller {
    let token = service.call(&Caller::Operator, form(id)).unwrap().access_token;
    service.call(&Caller::Operator, admin::Grant { user_id: id.into() }).unwrap();
    Caller::token(token)
}

fn invite(service: &Service, admin: &Caller, add: Add) -> Result<String> {
    service.call(admin, add).map(|new| new.code.unwrap())
}

fn uses(uses: i64) -> Add {
    Add { uses: Some(uses), ..Add::default() }
}

fn sign_up(service: &Service, id: &str, code: &str) -> String {
    text(service.call(&Caller::Guest, SignUpInvited { form: form(id), code: code.into() }))
}

fn list(service: &Service) -> Vec<Invitation> {
    service.call(&Caller::Operator, List {}).unwrap().invitations
}

/// Returns the number of uses that are left of each invitation, and whether it works, the latest first.
fn left(service: &Service) -> Vec<(i64, u8)> {
    list(service).into_iter().map(|invitation| (invitation.uses, invitation.open)).collect()
}

fn members(service: &Service) -> usize {
    service.call(&Caller::Operator, member::List::default()).unwrap().members.len()
}

#[test]
fn an_invited_person_signs_up_where_others_may_not_and_gets_the_role() {
    let service = closed();
    let boss = boss(&service, "boss");
    assert_eq!(text(service.call(&Caller::Guest, form("ann"))), "sign_up fail");
    let scopes = Some(vec!["feedback".into(), "notices".into()]);
    let add = Add { scopes, note: Some(" the library's team ".into()), ..Add::default() };
    let new = service.call(&boss, add).unwrap();
    let listed = list(&service).remove(0);
    assert_eq!((listed.note.as_deref(), listed.expires), (Some("the library's team"), NOW + 7 * DAY_MS));
    let code = new.code.unwrap();
    // As people type it.
    let typed = format!(" {}\n", code.to_uppercase().replace('-', " "));
    let invited = SignUpInvited { form: form("ann"), code: typed };
    let ann = Caller::token(service.call(&Caller::Guest, invited).unwrap().access_token);
    assert_eq!(text(service.call(&ann, crate::feedback::ListAll {})), "success");
    assert_eq!(text(service.call(&ann, member::List::default())), "Not admin");
    assert_eq!(sign_up(&service, "ben", &code), "incorrect code");

    let second = invite(&service, &Caller::Operator, Add::default()).unwrap();
    assert_eq!(left(&service), [(1, 1)], "the used one is deleted");
    assert_eq!(sign_up(&service, "ben", &second), "success");
    let role = service.call(&boss, member::GetRole { user_id: "ben".into() }).unwrap();
    assert_eq!(role.scopes, [], "an invitation without scopes");

    let trail = service.trail().into_iter().rev().filter(|record| record.action.starts_with("invitation."));
    let shown: Vec<_> =
        trail.map(|record| [record.action, record.actor, record.subject, record.after].join(" ")).collect();
    let id = new.id.to_string();
    let added = format!("invitation.add boss {id} notices feedback");
    let used = format!("invitation.use ann ann {id} notices feedback");
    assert_eq!((shown.len(), &shown[..2]), (4, &[added, used][..]));
    assert!(!shown.concat().contains(&code));
}

#[test]
fn an_invitation_works_as_often_as_its_limit_and_a_refused_sign_up_uses_nothing() {
    let service = closed();
    let code = invite(&service, &Caller::Operator, uses(2)).unwrap();
    assert_eq!(sign_up(&service, "ann", &code), "success");
    assert_eq!(sign_up(&service, "ANN", &code), "already id");
    assert_eq!(sign_up(&service, "a", &code), "wrong user info");
    let refused =
        |form: SignUp| text(service.call(&Caller::Guest, SignUpInvited { form, code: code.clone() }));
    assert_eq!(refused(SignUp { pw: "short".into(), ..form("ben") }), "wrong user info");
    assert_eq!(refused(SignUp { nickname: String::new(), ..form("ben") }), "wrong user info");
    assert_eq!(refused(SignUp { pw_check: "another".into(), ..form("ben") }), "check pw");
    assert_eq!(left(&service), [(1, 1)]);
    assert_eq!(sign_up(&service, "ben", &code), "success");
    assert_eq!(sign_up(&service, "cat", &code), "incorrect code");
    assert_eq!((left(&service), members(&service)), (vec![(0, 0)], 2));
    assert_eq!(text(sign_in(&service, "ben", "password of ben", None)), "success");
}

#[test]
fn two_people_cannot_both_be_the_last_one() {
    let service = closed();
    let code = invite(&service, &Caller::Operator, uses(1)).unwrap();
    let beside = service.beside();
    let both = Barrier::new(2);
    let run = |tidings: &Tidings, id: &str| {
        let invited = SignUpInvited { form: form(id), code: code.clone() };
        both.wait();
        text(tidings.call(&Caller::Guest, invited))
    };
    let mut answers = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(&service, "ann"));
        let two = scope.spawn(|| run(&beside, "ben"));
        [one.join().unwrap(), two.join().unwrap()]
    });
    answers.sort_unstable();
    assert_eq!(answers, ["incorrect code", "success"]);
    assert_eq!((left(&service), members(&service)), (vec![(0, 0)], 1));
}

#[test]
fn an_invitation_ends_when_it_expires_or_is_removed() {
    let service = closed();
    let boss = boss(&service, "boss");
    let code = invite(&service, &boss, Add { days: Some(2), ..uses(5) }).unwrap();
    service.clock().advance(2 * DAY_MS - 1);
    assert_eq!(sign_up(&service, "ann", &code), "success");
    service.clock().advance(1);
    assert_eq!(sign_up(&service, "ben", &code), "incorrect code");
    assert_eq!(left(&service), [(4, 0)]);

    let new = service.call(&Caller::Operator, Add::default()).unwrap();
    assert_eq!(left(&service), [(1, 1)], "the expired one is deleted");
    let remove = Remove { invitation_obi: new.id.to_string() };
    assert_eq!(text(service.call(&boss, remove)), "success");
    assert_eq!(sign_up(&service, "ben", &new.code.unwrap()), "incorrect code");
    assert_eq!((left(&service), members(&service)), (vec![], 2));
}

#[test]
fn an_invitation_works_only_while_the_one_who_made_it_is_an_administrator() {
    let service = closed();
    let (boss, _) = (boss(&service, "boss"), boss(&service, "other"));
    let code = invite(&service, &boss, Add { scopes: Some(vec!["members".into()]), ..uses(9) }).unwrap();
    let operators = invite(&service, &Caller::Operator, uses(9)).unwrap();
    service.call(&Caller::Operator, admin::Revoke { user_id: "boss".into() }).unwrap();
    assert_eq!(sign_up(&service, "ann", &code), "incorrect code");
    assert_eq!(left(&service), [(9, 1), (9, 0)]);
    service.call(&Caller::Operator, admin::Grant { user_id: "boss".into() }).unwrap();
    assert_eq!(sign_up(&service, "ann", &code), "success");
    service.blacklist("boss");
    assert_eq!(sign_up(&service, "ben", &code), "incorrect code");
    service.remove_member("boss");
    assert_eq!(sign_up(&service, "ben", &code), "incorrect code");
    assert_eq!(left(&service), [(9, 1)], "it is deleted with its administrator");
    assert_eq!(sign_up(&service, "ben", &operators), "success");
}

#[test]
fn only_administrators_invite_and_others_learn_nothing() {
    let service = closed();
    let boss = boss(&service, "boss");
    let all = Scope::ALL.iter().map(ToString::to_string).collect();
    let code = invite(&service, &boss, Add { scopes: Some(all), ..Add::default() }).unwrap();
    let invited = SignUpInvited { form: form("ann"), code };
    let ann = Caller::token(service.call(&Caller::Guest, invited).unwrap().access_token);
    let id = service.call(&boss, Add::default()).unwrap().id.to_string();
    for id in [&id, "nothing"] {
        assert_eq!(text(service.call(&ann, Remove { invitation_obi: id.into() })), "Not admin");
    }
    assert_eq!(text(service.call(&ann, uses(0))), "Not admin", "before its fields are checked");
    let remove = |id: &str| text(service.call(&boss, Remove { invitation_obi: id.into() }));
    assert_eq!([remove("nothing"), remove(&id), remove(&id)], ["Not found", "success", "Not found"]);
    assert_eq!(left(&service), []);
}

#[test]
fn the_fields_of_an_invitation_keep_their_bounds() {
    let service = closed();
    let refused = |add: Add| service.call(&Caller::Operator, add).err().map(|error| error.problem().field);
    let add = Add::default;
    for wrong in [i64::MIN, -1, 0, 1_001, i64::MAX] {
        assert_eq!(refused(uses(wrong)), Some(Some("uses")), "{wrong}");
        let days = Some(if wrong == 1_001 { 91 } else { wrong });
        assert_eq!(refused(Add { days, ..add() }), Some(Some("days")), "{days:?}");
    }
    for wrong in ["a\nb".to_owned(), "\u{200b}".to_owned(), "n".repeat(101)] {
        assert_eq!(refused(Add { note: Some(wrong.clone()), ..add() }), Some(Some("note")), "{wrong}");
    }
    assert_eq!(refused(Add { scopes: Some(vec!["admin".into()]), ..add() }), Some(Some("scopes")));
    assert_eq!(left(&service), []);
    let note = Some("n".repeat(100));
    let most = Add { uses: Some(1_000), days: Some(90), scopes: Some(Vec::new()), note, ..add() };
    assert_eq!(refused(most), None);
    assert_eq!(refused(Add { note: Some("  ".into()), ..add() }), None);
    assert_eq!(list(&service)[0].note, None);
}

#[test]
fn there_are_a_thousand_invitations_at_most() {
    let service = closed();
    service.call(&Caller::Operator, Add { days: Some(1), ..Add::default() }).unwrap();
    service.run(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
         INSERT INTO invitation (id, hash, uses, date, expires)
         SELECT CAST(i AS TEXT), CAST(i AS TEXT), 1, 0, {} FROM n",
        INVITATIONS_MAX - 1,
        (NOW + 9 * DAY_MS).as_millis()
    ));
    let refused = service.call(&Caller::Operator, Add::default()).err().unwrap();
    assert_eq!((refused.result(), refused.problem().code), ("bad request", Code::NotPossible));
    service.clock().advance(DAY_MS);
    assert_eq!(text(service.call(&Caller::Operator, Add::default())), "success");
    assert_eq!(list(&service).len(), INVITATIONS_MAX);
}

#[test]
fn a_client_that_guesses_codes_is_slowed() {
    let service = closed();
    let code = invite(&service, &Caller::Operator, Add::default()).unwrap();
    let guess = |code: &str, network| {
        let client = Client::v4(Ipv4Addr::new(192, network, 2, 7));
        let invited = SignUpInvited { form: form("ann"), code: code.into() };
        text(invited.run_for(&service, &Caller::Guest, Some(client).into()))
    };
    let mut refused = (0..1_000).map(|n| guess(&format!("0000-0000-0000-{n:04}"), 0));
    assert_eq!(refused.find(|text| text != "incorrect code").as_deref(), Some("too many requests"));
    assert_eq!(guess(&code, 0), "too many requests");
    assert_eq!(guess(&code, 1), "success");
}

#[test]
fn a_mailed_code_is_shown_to_nobody_else_and_the_latest_mail_counts() {
    let mut mailing = Mailing::new(Config { sign_up: Registration::Closed, ..config() });
    let email = Some("ann@example.org".to_owned());
    let add = || Add { email: email.clone(), ..Add::default() };
    let new = mailing.call(&Caller::Operator, add()).unwrap();
    assert_eq!(new.code, None);
    let mail = mailing.only();
    assert_eq!(&*mail.to, "ann@example.org");
    let sign_up = |mailing: &Mailing, id: &str, code: &str| {
        text(mailing.call(&Caller::Guest, SignUpInvited { form: form(id), code: code.into() }))
    };
    assert_eq!(sign_up(&mailing, "ann", &mail.code()), "success");
    assert_eq!(sign_up(&mailing, "ben", &mail.code()), "incorrect code");
    // An invitation that was removed before is not mailed.
    let removed = mailing.call(&Caller::Operator, add()).unwrap();
    mailing.call(&Caller::Operator, Remove { invitation_obi: removed.id.to_string() }).unwrap();
    assert!(mailing.arrived().is_empty());
    // An address is stored no longer than its invitation works.
    let stored =
        |mailing: &Mailing| mailing.service.number("SELECT count(*) FROM mail WHERE address IS NOT NULL");
    let id = mailing.call(&Caller::Operator, add()).unwrap().id.to_string();
    mailing.call(&Caller::Operator, Remove { invitation_obi: id }).unwrap();
    assert_eq!(stored(&mailing), 0, "it was removed");
    mailing.call(&Caller::Operator, Add { days: Some(1), ..add() }).unwrap();
    mailing.service.clock().advance(DAY_MS);
    assert_eq!(stored(&mailing), 1);
    crate::service::retention::delete_expired(&mailing.service);
    assert_eq!(stored(&mailing), 0, "it has expired");
    for wrong in ["ann", "ann@", "a\nb@example.org"] {
        let refused = mailing.call(&Caller::Operator, Add { email: Some(wrong.into()), ..Add::default() });
        assert_eq!(refused.err().map(|error| error.problem().field), Some(Some("email")), "{wrong}");
    }
    assert_eq!(text(closed().call(&Caller::Operator, add())), "bad request", "this service sends no mail");
}
