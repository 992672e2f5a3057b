//! Tests of codes and sessions after the link of the member has changed.

use super::*;
use crate::account::{ClientInfo, sessions};

fn unlink(world: &World, caller: &Caller) -> String {
    text(world.service.call(caller, UnlinkOidc { pw: "password of ann".into() }))
}

/// Links an account to the person of the issuer, with the name of its member.
fn linked() -> (World, Caller) {
    let world = world();
    let ann = world.service.member("ann");
    assert_eq!(world.link(&ann, &world.person(), "password of ann"), "success");
    (world, ann)
}

#[test]
fn a_code_works_only_while_the_link_is_that_of_its_sign_in() {
    let (world, ann) = linked();
    let code = world.person();
    assert_eq!(unlink(&world, &ann), "success");
    assert_eq!(world.exchange(&code), "incorrect code");
    // Another person is linked in the place of the first one.
    assert_eq!(world.link(&ann, &world.person(), "password of ann"), "success");
    let code = world.person();
    world.fake.state().claims = json!({ "sub": "8a1" });
    assert_eq!(world.link(&ann, &world.person(), "password of ann"), "success");
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
        let token = sign_in(&world.service, "ann", "password of ann", ClientInfo::default()).unwrap();
        Caller::token(token.access_token)
    };
    let (first, mine) = (device(), with_password());
    assert_eq!(unlink(&world, &mine), "success");
    assert!(!is_open(&first) && is_open(&mine) && is_open(&ann));
    assert_eq!(world.link(&ann, &world.person(), "password of ann"), "success");
    let second = device();
    world.fake.state().claims = json!({ "sub": "8a1" });
    assert_eq!(world.link(&mine, &world.person(), "password of ann"), "success");
    assert!(!is_open(&second) && is_open(&mine), "another person");
    // The session of the request, which has shown the password, goes on.
    let third = device();
    assert_eq!(unlink(&world, &third), "success");
    assert!(is_open(&third));
    let sessions = world.service.call(&third, sessions::ListSessions {}).unwrap().sessions;
    assert!(sessions.len() >= 2, "{sessions:?}");
}
