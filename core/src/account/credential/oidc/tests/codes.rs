//! Tests of codes, and of codes and sessions after the link of the member has changed.

use super::*;
use crate::account::{ClientInfo, sessions};

fn unlink(world: &World, caller: &Caller) -> String {
    text(world.service.call(caller, UnlinkOidc { pw: PW.into() }))
}

fn linked() -> (World, Caller) {
    let world = world();
    let ann = world.service.member("ann");
    world.link_ann(&ann);
    (world, ann)
}

#[test]
fn a_code_works_only_while_the_link_is_that_of_its_sign_in() {
    let (world, ann) = linked();
    let code = world.person();
    assert_eq!(unlink(&world, &ann), "success");
    assert_eq!(world.exchange(&code), "incorrect code");
    // Another person is linked in the place of the first one.
    world.link_ann(&ann);
    let code = world.person();
    world.claim(json!({ "sub": "8a1" }));
    world.link_ann(&ann);
    assert_eq!(world.exchange(&code), "incorrect code");
    world.signed_in();
    let code = world.person();
    let reset = crate::member::ResetSignIns { user_id: "ann".into() };
    world.service.call(&Caller::Operator, reset).unwrap();
    assert_eq!(world.exchange(&code), "incorrect code");
}

#[test]
fn sessions_of_a_person_end_with_their_link() {
    let (world, ann) = linked();
    let device = || world.signed_in();
    let is_open = |caller: &Caller| text(world.service.call(caller, GetEmail {})) == "success";
    let with_password = || {
        let token = sign_in(&world.service, "ann", PW, ClientInfo::default()).unwrap();
        Caller::token(token.access_token)
    };
    let (first, mine) = (device(), with_password());
    assert_eq!(unlink(&world, &mine), "success");
    assert!(!is_open(&first) && is_open(&mine) && is_open(&ann));
    world.link_ann(&ann);
    let second = device();
    world.claim(json!({ "sub": "8a1" }));
    world.link_ann(&mine);
    assert!(!is_open(&second) && is_open(&mine), "another person");
    // The session of the request, which has shown the password, goes on.
    let third = device();
    assert_eq!(unlink(&world, &third), "success");
    assert!(is_open(&third));
    let sessions = world.service.call(&third, sessions::ListSessions {}).unwrap().sessions;
    assert!(sessions.len() >= 2, "{sessions:?}");
}

#[test]
fn a_code_works_once_and_for_two_minutes() {
    let world = world();
    let code = world.person();
    assert_eq!(world.exchange("0000-0000-0000-0000"), "incorrect code");
    assert_eq!(world.exchange(&code), "success");
    assert_eq!(world.exchange(&code), "incorrect code");
    let late = world.person();
    world.service.clock().advance(CODE_MS);
    assert_eq!(world.exchange(&late), "incorrect code");
}

#[test]
fn a_link_is_removed_by_its_member_or_an_administrator_with_the_name_that_came_with_it() {
    let world = world();
    let (ann, unlink) = (world.service.member("ann"), |pw: &str| UnlinkOidc { pw: pw.into() });
    world.link_ann(&ann);
    world.signed_in();
    assert_eq!(world.members()[0].user_name, "Ann Lee");
    assert_eq!(text(world.service.call(&ann, unlink("another"))), "incorrect pw");
    assert_eq!(text(world.service.call(&ann, unlink(PW))), "success");
    assert_eq!(world.exchange(&world.person()), "already id");
    assert_eq!(world.members()[0].user_name, "ann");
    let ann = Caller::token(sign_in(&world.service, "ann", PW, None).unwrap().access_token);
    world.link_ann(&ann);
    let reset = crate::member::ResetSignIns { user_id: "ann".into() };
    assert_eq!(text(world.service.call(&ann, reset.clone())), "Not admin");
    assert_eq!(text(world.service.call(&Caller::Operator, reset)), "success");
    assert_eq!(text(world.service.call(&ann, GetEmail {})), "bad token", "signed out");
    assert_eq!(world.exchange(&world.person()), "already id");
    let actions: Vec<_> = world.service.trail().into_iter().map(|entry| entry.action).collect();
    assert_eq!(actions, ["member.sign_ins_reset", "member.link", "member.unlink", "member.link"]);
}
