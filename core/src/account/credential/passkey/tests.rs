//! Tests of passkeys with a device in memory.

use webauthn_rp::request::{DomainOrigin, Port};

use self::device::{DOMAIN, Device, options};
use super::*;
use crate::Caller;
use crate::account::AccessToken;
use crate::account::credential::otp;
use crate::base::config::Config;
use crate::mail::tests::text;
use crate::member;
use crate::testing::{self, Service, service_with};

mod answers;
mod begun;
mod device;

fn service() -> Service {
    service_with(Config { passkeys: Passkeys { domain: Some(DOMAIN.into()) }, ..Config::default() })
}

const PW: &str = "password of ann";

fn begin(service: &Service, caller: &Caller, pw: &str, otp: Option<&str>) -> Result<Ceremony> {
    service.call(caller, BeginPasskey { pw: pw.into(), otp: otp.map(str::to_owned) })
}

fn finish(service: &Service, caller: &Caller, begun: &Ceremony, credential: &str) -> Result<AddedPasskey> {
    let (ceremony, credential) = (begun.ceremony.clone(), credential.to_owned());
    service.call(caller, AddPasskey { ceremony, credential, name: "My phone".into() })
}

fn add(service: &Service, ann: &Caller, device: &mut Device) -> String {
    let begun = begin(service, ann, PW, None).unwrap();
    finish(service, ann, &begun, &device.create(&begun)).unwrap().id
}

fn begin_sign_in(service: &Service) -> Ceremony {
    service.call(&Caller::Guest, BeginPasskeySignIn {}).unwrap()
}

fn answer(service: &Tidings, begun: &Ceremony, credential: &str, otp: Option<&str>) -> Result<AccessToken> {
    let (ceremony, otp) = (begun.ceremony.clone(), otp.map(str::to_owned));
    service.call(&Caller::Guest, SignInPasskey { ceremony, credential: credential.to_owned(), otp })
}

fn sign_in(service: &Service, device: &mut Device, otp: Option<&str>) -> Result<AccessToken> {
    let begun = begin_sign_in(service);
    answer(service, &begun, &device.get(&begun), otp)
}

fn try_in(service: &Service, device: &mut Device) -> String {
    text(sign_in(service, device, None))
}

#[test]
fn a_passkey_signs_its_member_in_until_it_is_removed() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    let id = add(&service, &ann, &mut device);
    service.clock().advance(1_000);
    let token = sign_in(&service, &mut device, None).unwrap().access_token;
    let (again, now) = (Caller::token(token), service.now());
    let known = Passkey { id: id.clone(), name: "My phone".into(), date: now - 1_000, last_used: Some(now) };
    assert_eq!(service.call(&again, GetPasskeys {}).unwrap().passkeys, [known]);
    let remove = || text(service.call(&again, RemovePasskey { passkey_obi: id.clone() }));
    assert_eq!((remove().as_str(), remove().as_str()), ("success", "Not found"));
    assert_eq!(try_in(&service, &mut device), "incorrect code");
    let trail = service.trail();
    let actions: Vec<_> = trail.iter().map(|entry| (&*entry.action, &*entry.actor)).collect();
    assert_eq!(actions[..2], [("member.passkey_remove", "ann"), ("member.passkey_add", "ann")]);
}

#[test]
fn the_options_name_the_domain_the_member_and_known_passkeys() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    add(&service, &ann, &mut device);
    let begun = options(&begin(&service, &ann, PW, None).unwrap());
    assert_eq!((&begun["rp"]["id"], &begun["user"]["name"]), (&DOMAIN.into(), &"ann".into()), "{begun}");
    assert_eq!(begun["excludeCredentials"].as_array().unwrap().len(), 1);
    assert_eq!(begun["authenticatorSelection"]["userVerification"], "required");
    let begun = options(&begin_sign_in(&service));
    assert_eq!((&begun["rpId"], &begun["userVerification"]), (&DOMAIN.into(), &"required".into()), "{begun}");
}

#[test]
fn an_answer_works_once_and_for_its_own_ceremony_only() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let mut device = Device::new(1);
    let begun = begin(&service, &ann, PW, None).unwrap();
    let credential = device.create(&begun);
    let other = begin(&service, &ann, PW, None).unwrap();
    let forged = Ceremony { ceremony: format!("x{}", begun.ceremony), options: String::new() };
    for (what, caller, ceremony, result) in [
        ("of somebody else", &ben, &begun, "incorrect code"),
        ("of another ceremony", &ann, &other, "incorrect code"),
        ("forged", &ann, &forged, "incorrect code"),
        ("the first time", &ann, &begun, "success"),
        ("again", &ann, &begun, "incorrect code"),
    ] {
        assert_eq!(text(finish(&service, caller, ceremony, &credential)), result, "{what}");
    }

    let begun = begin_sign_in(&service);
    let credential = device.get(&begun);
    let elsewhere = begin_sign_in(&service);
    for (ceremony, result) in
        [(&elsewhere, "incorrect code"), (&begun, "success"), (&begun, "incorrect code")]
    {
        assert_eq!(text(answer(&service, ceremony, &credential, None)), result);
    }
    for garbage in ["", "{}", "null", "[1]", "\u{0}"] {
        assert_eq!(text(answer(&service, &begin_sign_in(&service), garbage, None)), "incorrect code");
    }
}

#[test]
fn another_server_ends_what_one_has_begun() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    let begun = begin(&service, &ann, PW, None).unwrap();
    let (ceremony, credential) = (begun.ceremony.clone(), device.create(&begun));
    let other = service.beside();
    other.call(&ann, AddPasskey { ceremony, credential, name: String::new() }).unwrap();
    let begun = begin_sign_in(&service);
    let credential = device.get(&begun);
    assert_eq!(text(answer(&other, &begun, &credential, None)), "success");
    assert_eq!(text(answer(&service, &begun, &credential, None)), "incorrect code", "again, elsewhere");
}

#[test]
fn pages_elsewhere_unverified_users_copies_and_unknown_devices_are_refused() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    device.origin = "https://evil.example".into();
    let begun = begin(&service, &ann, PW, None).unwrap();
    assert_eq!(text(finish(&service, &ann, &begun, &device.create(&begun))), "incorrect code");
    device.origin = format!("https://{DOMAIN}");
    add(&service, &ann, &mut device);
    sign_in(&service, &mut device, None).unwrap();
    for origin in
        ["https://evil.example", "http://app.example", "https://sub.app.example", "https://app.example:8443"]
    {
        device.origin = origin.into();
        assert_eq!(try_in(&service, &mut device), "incorrect code", "{origin}");
    }
    device.origin = format!("https://{DOMAIN}");
    device.is_verified = false;
    assert_eq!(try_in(&service, &mut device), "incorrect code", "nobody has unlocked it");
    device.is_verified = true;
    device.counter = 0;
    assert_eq!(try_in(&service, &mut device), "incorrect code", "a copy that knows an earlier counter");
    device.counter = 9;
    sign_in(&service, &mut device, None).unwrap();
    let mut unknown = Device::new(2);
    unknown.create(&begun);
    assert_eq!(try_in(&service, &mut unknown), "incorrect code");
}

#[test]
fn a_new_passkey_needs_the_password_and_the_second_factor() {
    let service = service();
    let ann = service.member("ann");
    assert_eq!(text(begin(&service, &ann, "another", None)), "incorrect pw");
    assert_eq!(text(begin(&service, &Caller::Guest, PW, None)), "bad token");
    let mut weak = Device::new(1);
    add(&service, &ann, &mut weak);
    let (_, codes) = otp::tests::enable(&service, &ann, "ann");
    let ann = Caller::token(testing::sign_in_with(&service, "ann", &codes[0]));
    assert_eq!(text(begin(&service, &ann, PW, None)), "otp required");
    assert_eq!(text(begin(&service, &ann, PW, Some("000000"))), "incorrect otp");
    let begun = begin(&service, &ann, PW, Some(&codes[1])).unwrap();
    let mut strong = Device::new(2);
    finish(&service, &ann, &begun, &strong.create(&begun)).unwrap();
    // The one from before does not replace the second factor.
    assert_eq!(try_in(&service, &mut weak), "otp required");
    assert_eq!(text(sign_in(&service, &mut weak, Some(&codes[2]))), "success");
    assert_eq!(try_in(&service, &mut strong), "success");
    // It replaces no later factor: somebody else may have added it.
    service.call(&Caller::Operator, member::ResetOtp { user_id: "ann".into() }).unwrap();
    let ann = Caller::token(testing::sign_in(&service, "ann", PW, None).unwrap().access_token);
    otp::tests::enable(&service, &ann, "ann");
    assert_eq!(try_in(&service, &mut strong), "otp required");
    service.call(&Caller::Operator, member::ResetSignIns { user_id: "ann".into() }).unwrap();
    assert_eq!(try_in(&service, &mut strong), "incorrect code");
}

#[test]
fn a_blacklisted_member_and_a_removed_one_do_not_sign_in() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    add(&service, &ann, &mut device);
    service.blacklist("ann");
    assert_eq!(try_in(&service, &mut device), "blacklist user");
    service.remove_member("ann");
    assert_eq!(try_in(&service, &mut device), "incorrect code");
}

#[test]
fn a_member_has_at_most_twenty() {
    let service = service();
    let ann = service.member("ann");
    for seed in 1..=20 {
        add(&service, &ann, &mut Device::new(seed));
    }
    assert_eq!(text(begin(&service, &ann, PW, None)), "bad request");
}

#[test]
fn there_are_none_unless_they_are_set_up() {
    let service = testing::service();
    let ann = service.member("ann");
    assert_eq!(text(begin(&service, &ann, PW, None)), "bad request");
    assert_eq!(text(service.call(&Caller::Guest, BeginPasskeySignIn {})), "bad request");
    assert_eq!(text(service.call(&Caller::Guest, SignInPasskey::default())), "bad request");
}

#[test]
fn the_origin_follows_from_the_domain() {
    let origins = |domain: &str| {
        let passkeys = Passkeys { domain: Some(domain.into()) };
        let allowed = passkeys.allowed();
        let any_port = |origin: &DomainOrigin<'_, '_>| matches!(origin.port, Port::Any);
        allowed.iter().map(|origin| (origin.host.to_owned(), any_port(origin))).collect::<Vec<_>>()
    };
    assert_eq!(origins("app.example"), [("app.example".to_owned(), false)]);
    let here = "localhost".to_owned();
    assert_eq!(origins("localhost"), [(here.clone(), false), (here, true)], "with http:// and any port");
    for (domain, is_valid) in
        [("app.example", true), ("App.example", false), ("https://app.example", false), ("", false)]
    {
        let passkeys = Passkeys { domain: Some(domain.into()) };
        assert_eq!(Config { passkeys, ..Config::default() }.check().is_ok(), is_valid, "{domain}");
    }
}
