//! Tests of single sign-on with an issuer in memory, whose answers are also those of attackers.

use serde_json::json;

use self::issuer::{CLIENT, Fake, SECRET, URL};
use super::*;
use crate::account::Caller;
use crate::account::credential::email::GetEmail;
use crate::account::credential::otp;
use crate::account::members::{self, MemberEntry};
use crate::base::client::Client;
use crate::base::config::{Issuer as IssuerUrl, Oidc, Secret};
use crate::mail::tests::text;
use crate::testing::{Service, service_with, sign_in};

mod codes;
mod issuer;
mod tokens;

const PAGE: &str = "https://app.example/signed-in?from=campus";
const OTHER_PAGE: &str = "https://other.example/in";
const PW: &str = "password of ann";
const DENIED: &str = "error: access_denied";
const REFUSED: &str = "error: server_error";
/// The time after which the issuer is asked again.
const AGAIN_MS: i64 = 10 * SECOND_MS;

struct World {
    service: Service,
    issuer: Issuer,
    fake: Fake,
    client: Option<Client>,
}

fn world() -> World {
    world_with(|_| {})
}

fn world_with(change: impl FnOnce(&mut Config)) -> World {
    let mut config = Config {
        public_url: Some(Url::parse("https://campus.example/api").unwrap()),
        oidc: Oidc {
            issuer: Some(IssuerUrl(URL.into())),
            client_id: Some(CLIENT.into()),
            client_secret: Some(Secret(SECRET.as_bytes().to_vec().into())),
            pages: vec![PAGE.into(), OTHER_PAGE.into()],
            ..Oidc::default()
        },
        ..Config::default()
    };
    change(&mut config);
    config.check().unwrap();
    let service = service_with(config);
    let fake = Fake::new(service.clock());
    let issuer = Issuer::new(service.config(), service.clock(), Box::new(fake.clone())).unwrap().unwrap();
    World { service, issuer, fake, client: None }
}

struct Browser {
    cookie: String,
    location: String,
}

impl World {
    fn begin(&self, query: &str) -> Browser {
        let Redirect { location, cookie } = begin_at(&self.issuer, &self.service, query).unwrap();
        Browser { cookie: cookie.split(';').next().unwrap().to_owned(), location }
    }

    /// Ends what a browser has begun, and returns what the page of the app gets, or the error.
    fn finish(&self, browser: &Browser, query: &str) -> std::result::Result<Vec<(String, String)>, String> {
        let cookies = ["theme=dark", browser.cookie.as_str()];
        let ended = finish_at(&self.issuer, &self.service, query, &cookies, self.client)
            .map_err(|error| error.to_string())?;
        assert!(ended.cookie.contains("=; ") && ended.cookie.contains("Max-Age=0"), "{}", ended.cookie);
        let page = Url::parse(&ended.location).unwrap();
        Ok(page.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    fn person(&self) -> String {
        let browser = self.begin("");
        let got = self.finish(&browser, &self.fake.sign_in(&browser.location)).unwrap();
        let (key, value) = &got[1];
        if key == "code" { value.clone() } else { format!("{key}: {value}") }
    }

    fn exchange(&self, code: &str) -> String {
        text(self.service.call(&Caller::Guest, SignInOidc { code: code.into(), otp: None }))
    }

    fn link(&self, caller: &Caller, code: &str, pw: &str) -> String {
        text(self.service.call(caller, LinkOidc { code: code.into(), pw: pw.into() }))
    }

    fn link_ann(&self, ann: &Caller) {
        assert_eq!(self.link(ann, &self.person(), PW), "success");
    }

    fn claim(&self, claims: serde_json::Value) {
        self.fake.state().claims = claims;
    }

    fn signed_in(&self) -> Caller {
        let form = SignInOidc { code: self.person(), otp: None };
        Caller::token(self.service.call(&Caller::Guest, form).unwrap().access_token)
    }

    fn members(&self) -> Vec<MemberEntry> {
        self.service.call(&Caller::Operator, members::List::default()).unwrap().members
    }

    fn address(&self, caller: &Caller) -> Option<String> {
        self.service.call(caller, GetEmail {}).unwrap().email
    }
}

#[test]
fn a_person_becomes_a_member_whom_the_identifier_of_the_issuer_finds_again() {
    let world = world();
    let ann = world.signed_in();
    assert_eq!(world.address(&ann).as_deref(), Some("ann@example.org"));
    world.claim(json!({ "preferred_username": "anna", "name": "Anna Lee", "email": "anna@example.org" }));
    let again = world.signed_in();
    assert_eq!(world.address(&again).as_deref(), Some("ann@example.org"), "the member keeps their address");
    let members = world.members();
    let [member] = &members[..] else { panic!("{members:?}") };
    assert_eq!((&*member.user_id, &*member.nickname, &*member.user_name), ("ann", "Ann Lee", "Anna Lee"));
    // Somebody else, who now has the name that the first one had.
    world.claim(json!({ "sub": "8a1", "email": "other@example.org" }));
    let code = world.person();
    assert_eq!(world.exchange(&code), "already id");
}

#[test]
fn an_account_with_the_same_id_is_linked_with_its_password_only() {
    let world = world();
    let (ann, ben) = (world.service.member("ann"), world.service.member("ben"));
    let code = world.person();
    assert_eq!(world.link(&Caller::Guest, &code, PW), "bad token");
    assert_eq!(world.link(&ann, &code, "another password"), "incorrect pw");
    assert_eq!(world.link(&ann, "0000-0000-0000-0000", PW), "incorrect code");
    assert_eq!(world.link(&ben, &code, "password of ben"), "incorrect code", "it is about another account");
    assert_eq!(world.link(&ann, &code, PW), "success");
    assert_eq!(world.link(&ann, &code, PW), "incorrect code", "it works once");
    let trail = world.service.trail();
    assert_eq!((&*trail[0].action, &*trail[0].actor), ("member.link", "ann"));
    // Now the person is the member, whatever the id, and the password still works.
    world.claim(json!({ "preferred_username": "someone" }));
    world.signed_in();
    assert!(sign_in(&world.service, "ann", PW, None).is_ok());
    assert_eq!(world.members().len(), 2);
    // A code of a sign-in links nothing.
    let code = world.person();
    assert_eq!(world.link(&ben, &code, "password of ben"), "incorrect code");
    // Another person replaces the link.
    world.claim(json!({ "sub": "8a1" }));
    world.link_ann(&ann);
    world.signed_in();
    world.claim(json!({}));
    assert_eq!(world.exchange(&world.person()), "already id", "the first person is no member any more");
    world.claim(json!({ "sub": "9b2", "email_verified": false }));
    assert!(world.person().starts_with(DENIED), "without a verified address");
}

#[test]
fn an_account_with_the_same_address_is_not_taken_over() {
    let world = world();
    world.signed_in();
    world.claim(json!({ "sub": "8a1", "preferred_username": "other" }));
    assert_eq!(world.exchange(&world.person()), "already id");
    // One that the issuer has not verified gives no right to anything.
    world.claim(json!({ "sub": "8a1", "preferred_username": "other", "email_verified": false }));
    let other = world.signed_in();
    assert_eq!(world.address(&other), None);
}

#[test]
fn a_second_factor_is_asked_for_and_a_blacklisted_member_refused() {
    let world = world();
    let ann = world.service.member("ann");
    world.link_ann(&ann);
    let (_, recovery) = otp::tests::enable(&world.service, &ann, "ann");
    let code = world.person();
    let exchange = |otp: Option<String>| {
        text(world.service.call(&Caller::Guest, SignInOidc { code: code.clone(), otp }))
    };
    assert_eq!(exchange(None), "otp required");
    assert_eq!(exchange(Some("000000".into())), "incorrect otp");
    assert_eq!(exchange(Some(recovery[0].clone())), "success");
    assert_eq!(exchange(None), "incorrect code");
    world.service.blacklist("ann");
    assert_eq!(world.exchange(&world.person()), "blacklist user");
}

#[test]
fn nobody_becomes_a_member_where_sign_up_is_closed_or_the_id_is_not_free() {
    let closed = world_with(|config| config.sign_up = Registration::Closed);
    assert!(closed.person().starts_with(DENIED));
    let roster = world();
    crate::testing::import_roster(&roster.service, "id,name,major,password\nann,Ann,Art,secret of ann\n");
    assert!(roster.person().starts_with(DENIED), "it would be somebody else's");
    let nameless = world();
    nameless.claim(json!({ "preferred_username": "guest" }));
    assert!(nameless.person().starts_with(DENIED));
    for world in [closed, roster, nameless] {
        assert!(world.members().is_empty());
    }
}

#[test]
fn a_browser_returns_to_permitted_pages_only_with_what_the_app_gave() {
    let world = world();
    let pages = "https://app.example/signed-in https://app.example/signed-in?from=campus&x=1 //evil.example \
        https://app.example.evil.example/signed-in?from=campus https://APP.example/signed-in?from=campus \
        javascript:alert(1)";
    for page in pages.split(' ') {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("page", page).finish();
        assert_eq!(text(begin_at(&world.issuer, &world.service, &query)), "bad request", "{page}");
    }
    let long = format!("state={}", "x".repeat(STATE_MAX + 1));
    assert_eq!(text(begin_at(&world.issuer, &world.service, &long)), "bad request");
    let browser = world.begin("page=https://other.example/in&state=a+b%26c%3Dd");
    let query = world.fake.sign_in(&browser.location);
    let location =
        finish_at(&world.issuer, &world.service, &query, &[&browser.cookie], None).unwrap().location;
    let is_there = location.starts_with("https://other.example/in?code=");
    assert!(is_there && location.ends_with("&state=a+b%26c%3Dd"), "{location}");
    let plain = world_with(|config| config.public_url = Url::parse("http://campus.example/api").ok());
    for (world, begin, end) in [
        (&world, "__Host-tidings_oidc_", "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"),
        (&plain, "tidings_oidc_", "; Path=/api/sign_in_oidc/return; Max-Age=600; HttpOnly; SameSite=Lax"),
    ] {
        let cookie = begin_at(&world.issuer, &world.service, "").unwrap().cookie;
        assert!(cookie.starts_with(begin) && cookie.ends_with(end), "{cookie}");
    }
}

#[test]
fn a_flow_ends_in_its_browser_once_and_within_ten_minutes() {
    let world = world();
    let (ann, eve) = (world.begin(""), world.begin(""));
    let query = world.fake.sign_in(&ann.location);
    let refused = Err("bad request".to_owned());
    assert_eq!(world.finish(&eve, &query), refused, "of another browser");
    let (name, value) = ann.cookie.split_once('=').unwrap();
    for cookie in [String::new(), format!("{name}=x{value}")] {
        let other = Browser { cookie, location: String::new() };
        assert_eq!(world.finish(&other, &query), refused, "nothing was begun: {}", other.cookie);
    }
    assert_eq!(world.finish(&ann, "code=code-1"), refused, "without a state");
    assert_eq!(world.finish(&ann, &query).unwrap()[1].0, "code");
    // The browser has thrown the cookie away; somebody has kept it.
    let refused_code = world.finish(&ann, &query).unwrap();
    assert_eq!(refused_code[1], pair("error", "access_denied"), "the issuer knows its code");
    let again = world.fake.sign_in(&ann.location);
    let same_state = world.finish(&ann, &again).unwrap();
    assert_eq!(same_state[1], pair("error", "invalid_request"), "another code, the same state");
    world.service.clock().advance(flow::LASTS_MS);
    assert_eq!(world.finish(&ann, &again), refused, "late");
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn keys_are_asked_for_again_when_they_were_replaced() {
    let world = world();
    world.signed_in();
    let asked = |path: &str| world.fake.state().asked.iter().filter(|asked| **asked == path).count();
    world.signed_in();
    assert_eq!(asked("/keys"), 1, "they are kept");
    world.fake.state().key = 2;
    world.service.clock().advance(AGAIN_MS);
    world.signed_in();
    assert_eq!(asked("/keys"), 2);
    // Whoever sends tokens with unknown keys does not make the service ask each time.
    world.fake.state().key = 3;
    for _ in 0..3 {
        assert!(world.person().starts_with(REFUSED));
    }
    assert_eq!(asked("/keys"), 2);
    world.service.clock().advance(AGAIN_MS);
    world.signed_in();
    assert_eq!(asked("/keys"), 3);
}

#[test]
fn while_the_issuer_is_down_the_page_gets_an_error_and_passwords_work() {
    let world = world();
    world.service.member("ben");
    world.fake.state().is_down = true;
    for _ in 0..3 {
        let Redirect { location, .. } = begin_at(&world.issuer, &world.service, "state=7").unwrap();
        let begin = "https://app.example/signed-in?from=campus&error=temporarily_unavailable";
        assert!(location.starts_with(begin) && location.ends_with("&state=7"), "{location}");
    }
    assert_eq!(world.fake.state().asked.len(), 1, "it is not asked for each browser");
    assert!(sign_in(&world.service, "ben", "password of ben", None).is_ok());
    world.fake.state().is_down = false;
    world.service.clock().advance(AGAIN_MS);
    let browser = world.begin("");
    let query = world.fake.sign_in(&browser.location);
    world.fake.state().is_down = true;
    assert_eq!(world.finish(&browser, &query).unwrap()[1], pair("error", "temporarily_unavailable"));
}

#[test]
fn an_answer_of_another_issuer_is_refused() {
    let world = world();
    let browser = world.begin("");
    let query = world.fake.sign_in(&browser.location);
    for wrong in [&*query.replace("login.example", "evil.example"), query.split("&iss=").next().unwrap()] {
        assert_eq!(world.finish(&browser, wrong).unwrap()[1], pair("error", "invalid_request"), "{wrong}");
    }
    let state = &query[query.find("state=").unwrap()..];
    let error = format!("{state}&error=access_denied&error_description=%3Cscript%3E");
    let got = world.finish(&browser, &error).unwrap();
    assert_eq!(got[1], pair("error", "access_denied"));
    assert_eq!(got[2].1, "the issuer did not sign the person in");
    assert!(world.fake.state().asked.iter().all(|path| path != "/token"));
    // Many issuers do not name themselves.
    let quiet = self::world();
    quiet.fake.state().names_itself = false;
    quiet.signed_in();
}

#[test]
fn claims_that_the_token_lacks_are_asked_for_about_the_same_person() {
    let world = world();
    world.claim(json!({ "preferred_username": null, "name": null, "email": null }));
    world.fake.state().user_info =
        json!({ "sub": "7f3", "preferred_username": "ben", "name": "Ben", "nonce": "x" });
    // Null is no claim.
    assert!(world.person().starts_with(DENIED));
    world.claim(json!({ "sub": "7f3" }));
    world.fake.state().leaves_out = true;
    world.signed_in();
    assert_eq!(world.members()[0].user_id, "ben");
    world.fake.state().user_info = json!({ "sub": "8a1", "preferred_username": "eve" });
    assert!(world.person().starts_with(REFUSED));
}

#[test]
fn there_is_no_single_sign_on_unless_it_is_set_up() {
    let service = crate::testing::service();
    assert_eq!(text(begin(&service, "")), "bad request");
    assert_eq!(text(finish(&service, "", &[], None)), "bad request");
}

#[test]
fn a_removed_member_leaves_no_link() {
    let world = world();
    world.signed_in();
    world.service.remove_member("ann");
    assert_eq!(world.service.number("SELECT count(*) FROM oidc_identity"), 0);
    world.signed_in();
}

#[test]
fn the_issuer_verifies_nobody_for_the_university_and_overwrites_no_name_of_it() {
    let roster = "id,name,major,password\nann,Ann of the roster,Physics,of the university\n";
    let sign_in_up =
        |world: &World, pw: &str| text(crate::testing::sign_in_up(&world.service, "ann", pw, None));
    // Somebody got the id at the issuer first.
    let first = world();
    first.signed_in();
    crate::testing::import_roster(&first.service, roster);
    assert_eq!(sign_in_up(&first, "of the university"), "pw incorrect");
    // The university came first; the issuer has no major.
    let second = world();
    crate::testing::import_roster(&second.service, roster);
    let token = crate::testing::sign_in_up(&second.service, "ann", "of the university", None).unwrap();
    let ann = Caller::token(token.access_token);
    assert_eq!(second.link(&ann, &second.person(), "of the university"), "success");
    second.signed_in();
    let member = &second.members()[0];
    assert_eq!((&*member.user_name, &*member.user_major), ("Ann of the roster", "Physics"));
    assert_eq!(sign_in_up(&second, "of the university"), "success");
}
