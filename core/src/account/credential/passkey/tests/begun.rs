//! Tests of passkeys that are added after something else about the member has changed.

use super::*;
use crate::Caller;
use crate::account::{ChangePassword, DisableOtp, SignOutSession};

fn ends(
    service: &Service,
    begins: &Caller,
    adds: &Caller,
    otp: Option<&str>,
    change: impl FnOnce(),
) -> String {
    let begun = begin(service, begins, PW, otp).unwrap();
    let credential = Device::new(1).create(&begun);
    change();
    text(finish(service, adds, &begun, &credential))
}

fn signed_in(service: &Service) -> Caller {
    Caller::token(testing::sign_in(service, "ann", PW, None).unwrap().access_token)
}

#[test]
fn a_passkey_from_before_the_second_factor_changed_is_not_added() {
    let service = service();
    service.member("ann");
    let enable = || otp::tests::enable(&service, &signed_in(&service), "ann").1;
    let reset = || service.call(&Caller::Operator, member::ResetOtp { user_id: "ann".into() }).unwrap();
    // As the member, who has no session that could end.
    let named = Caller::Member("ann".into());
    let ends_with = |otp: Option<&str>, change: &dyn Fn()| ends(&service, &named, &named, otp, change);
    assert_eq!(ends_with(None, &|| drop(enable())), "incorrect code");
    reset();
    assert_eq!(ends_with(Some(&enable()[0]), &reset), "incorrect code", "reset");
    let another = || {
        reset();
        enable();
    };
    assert_eq!(ends_with(Some(&enable()[0]), &another), "incorrect code", "replaced");
    reset();
    let ann = signed_in(&service);
    let (_, codes) = otp::tests::enable(&service, &ann, "ann");
    let disable = || {
        let form = DisableOtp { pw: PW.into(), otp: codes[1].clone() };
        service.call(&ann, form).unwrap();
    };
    let ended = ends(&service, &ann, &ann, Some(&codes[0]), disable);
    assert_eq!(ended, "incorrect code", "disabled by the member");
    assert_eq!(ends(&service, &ann, &ann, None, || {}), "success");
}

#[test]
fn a_passkey_is_added_in_the_session_that_has_begun_it() {
    let service = service();
    service.member("ann");
    let (ann, other) = (signed_in(&service), signed_in(&service));
    assert_eq!(ends(&service, &ann, &other, None, || {}), "incorrect code");
    let sign_out = || {
        let sessions = service.call(&ann, crate::account::ListSessions {}).unwrap().sessions;
        let session_obi = sessions.into_iter().find(|session| session.current == 1).unwrap().id;
        service.call(&ann, SignOutSession { session_obi }).unwrap();
    };
    assert_eq!(ends(&service, &ann, &other, None, sign_out), "incorrect code", "signed out");
    let named = Caller::Member("ann".into());
    let change = || {
        let [pw, new_pw, new_pw_check] = [PW; 3].map(str::to_owned);
        service.call(&other, ChangePassword { pw, new_pw, new_pw_check }).unwrap();
    };
    assert_eq!(ends(&service, &named, &named, None, change), "incorrect code", "another password");
}
