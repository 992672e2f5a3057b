use super::*;
use crate::account::credential::otp;
use crate::account::{
    Caller, ChangePassword, ConfirmEmail, GetEmail, ListSessions, ResetPassword, SetEmail, SignOutAll,
    SignOutSession,
};
use crate::mail::tests::{Mailing, config, text};
use crate::member::{IssueOtp, IssueReset};
use crate::service::retention;
use crate::store::Isolation;
use crate::testing::{service, sign_in};
use crate::{admin, member};

const NEW: &str = "a new sentence";

fn new_password(code: &str) -> ResetPassword {
    ResetPassword { code: code.into(), new_pw: NEW.into(), new_pw_check: NEW.into() }
}

fn other_session(mailing: &Mailing, caller: &Caller, id: &str) -> String {
    sign_in(&mailing.service, id, &format!("password of {id}"), None).unwrap();
    let sessions = mailing.call(caller, ListSessions {}).unwrap().sessions;
    sessions.into_iter().find(|session| session.current == 0).unwrap().id
}

/// Ends the sessions of a member with this id, as the member or an administrator.
type Ending = fn(&Mailing, &Caller, &Caller, String);

const ENDINGS: [Ending; 11] = [
    |mailing, _, boss, user_id| {
        let code = mailing.call(boss, IssueReset { user_id }).unwrap().code;
        mailing.call(&Caller::Guest, new_password(&code)).unwrap();
    },
    |mailing, caller, _, id| {
        let (pw, new_pw) = (format!("password of {id}"), NEW.to_owned());
        mailing.call(caller, ChangePassword { pw, new_pw_check: new_pw.clone(), new_pw }).unwrap();
    },
    |mailing, _, boss, user_id| {
        mailing.call(boss, member::SetPassword { user_id, new_pw: NEW.into() }).unwrap();
    },
    |mailing, caller, _, _| mailing.call(caller, SignOutAll {}).unwrap(),
    |mailing, _, boss, user_id| mailing.call(boss, member::SignOut { user_id }).unwrap(),
    |mailing, caller, _, id| {
        let session_obi = other_session(mailing, caller, &id);
        mailing.call(caller, SignOutSession { session_obi }).unwrap();
    },
    |mailing, caller, boss, user_id| {
        let session_obi = other_session(mailing, caller, &user_id);
        mailing.call(boss, member::SignOutSession { user_id, session_obi }).unwrap();
    },
    |mailing, _, boss, user_id| mailing.call(boss, member::ResetSignIns { user_id }).unwrap(),
    |mailing, _, boss, user_id| {
        mailing.call(boss, admin::PushBlacklist { user_id: user_id.clone() }).unwrap();
        mailing.call(boss, admin::PopBlacklist { user_id }).unwrap();
    },
    |mailing, caller, _, id| drop(otp::tests::enable(&mailing.service, caller, &id)),
    |mailing, _, _, _| {
        let revoked = mailing.service.store().write(Isolation::Alone, |tx| {
            crate::account::revoke_everybodys_tokens(tx, Caller::Operator.operator().unwrap())
        });
        revoked.unwrap();
    },
];

#[test]
fn whatever_ends_sessions_withdraws_a_proposed_address_and_its_codes() {
    let mut mailing = Mailing::new(config());
    let boss = mailing.service.admin("boss");
    for (n, end) in ENDINGS.into_iter().enumerate() {
        let (id, own) = (format!("ann{n}"), format!("ann{n}@example.org"));
        let ann = mailing.member_at(&id, &own);
        let (pw, evil) = (format!("password of {id}"), format!("eve{n}@evil.example"));
        mailing.call(&ann, SetEmail { pw, email: evil.clone(), otp: None }).unwrap();
        let [_, mail] = mailing.two();
        assert_eq!(mail.to, evil);
        mailing.ask(&id);
        let reset = mailing.only().code();
        end(&mailing, &ann, &boss, id.clone());
        mailing.arrived();
        let ann = Caller::Member(id);
        for code in [mail.linked(), mail.code()] {
            assert_eq!(text(mailing.call(&ann, ConfirmEmail { code })), "incorrect code", "{n}");
        }
        assert_eq!(text(mailing.call(&Caller::Guest, new_password(&reset))), "incorrect code", "{n}");
        let addresses = mailing.call(&ann, GetEmail {}).unwrap();
        assert_eq!((addresses.email, addresses.pending_email), (Some(own), None), "{n}");
    }
}

#[test]
fn queued_mail_with_a_code_is_not_sent_after_the_sessions_have_ended() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.member_at("ann", "ann@example.org");
    mailing.member_at("ben", "ben@example.org");
    let pw = "password of ann".to_owned();
    mailing.call(&ann, SetEmail { pw, email: "eve@evil.example".into(), otp: None }).unwrap();
    for asked in ["ANN", "ann@example.org", "ben"] {
        mailing.ask(asked);
    }
    mailing.call(&ann, SignOutAll {}).unwrap();
    let [note, code] = mailing.two();
    assert_eq!(note.subject, "Another address was given to your account of Campus");
    assert_eq!((&*code.to, &*code.subject), ("ben@example.org", "A new password for Campus"));
}

#[test]
fn single_sign_ons_and_enrolments_are_withdrawn_of_this_member_alone() {
    let mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    mailing.service.member("ben");
    for id in ["ann", "ben"] {
        mailing.call(&Caller::Operator, IssueOtp { user_id: id.into() }).unwrap();
        mailing.call(&Caller::Operator, IssueReset { user_id: id.into() }).unwrap();
    }
    let sign_on = Kind::SignOn as i64;
    for sql in [
        &*format!(
            "INSERT INTO code (kind, hash, member, data, expires) SELECT {sign_on}, id, key, '', 0 FROM member"
        ),
        "INSERT INTO second_factor (member, secret, last_step) SELECT key, 'JBSWY3DP', 0 FROM member",
    ] {
        mailing.service.run(sql);
    }
    for id in ["ann", "ben"] {
        let step = move |tx: &mut dyn Tx| take_step(tx, &format!("the flow of {id}"), Timestamp::default());
        assert!(mailing.service.store().write(Isolation::Alone, step).unwrap());
    }
    let left = || {
        let kinds = [Kind::Taken, Kind::SignOn, Kind::Enrolment, Kind::IssuedReset];
        let codes = kinds.map(|kind| format!("code WHERE kind = {}", kind as i64));
        let tables = codes.iter().map(String::as_str).chain(["second_factor"]);
        let count = |table: &str| mailing.service.number(&format!("SELECT count(*) FROM {table}"));
        tables.map(count).collect::<Vec<_>>()
    };
    assert_eq!(left(), [2, 2, 2, 2, 2]);
    mailing.call(&ann, SignOutAll {}).unwrap();
    assert_eq!(left(), [2, 1, 1, 1, 1], "a flow that came back does not come back again");
}

#[test]
fn expired_codes_are_deleted() {
    let service = service();
    service.member("ann");
    let expires = service.call(&Caller::Operator, IssueReset { user_id: "ann".into() }).unwrap().expires;
    let left = || service.number("SELECT count(*) FROM code");
    let before = expires - 1;
    service.store().write(Isolation::Alone, move |tx| super::prune(tx, before, 10)).unwrap();
    assert_eq!(left(), 1);
    service.clock().advance(expires - service.now());
    retention::delete_expired(&service);
    assert_eq!(left(), 0);
}
