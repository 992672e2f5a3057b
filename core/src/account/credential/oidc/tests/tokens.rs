//! Tests of the ID token and of the other answers of the issuer, also to codes that are made up.

use jsonwebtoken::Algorithm;
use serde_json::Value;

use super::issuer::{CLIENT, URL};
use super::*;
use crate::account::credential::oidc::offer;

#[test]
fn fields_that_are_not_used_may_have_any_type() {
    let world = world();
    let soon = world.service.clock().now().as_millis() / 1_000 + 300;
    let mut state = world.fake.state();
    state.claims = json!({
        "updated_at": "2026-11-28T10:00:00.000Z", "picture": 7, "address": [], "locale": null, "phone_number_verified": "x",
        "amr": "pwd", "auth_time": "now", "at_hash": 1, "acr": {}, "birthdate": false, "email_verified": "true", "azp": null,
        "exp": f64::from(u32::try_from(soon).unwrap()) + 0.5,
    });
    state.answer =
        json!({ "expires_in": "3600", "scope": ["openid"], "token_type": null, "refresh_token": 7 });
    state.header = json!({ "kid": 7, "x5c": "none", "jku": {}, "typ": "JWT", "jwk": [] });
    state.jwk = json!({ "kid": null, "key_ops": 1, "x5c": {} });
    state.metadata = json!({
        "userinfo_endpoint": 7, "scopes_supported": 7, "claims_supported": {}, "subject_types_supported": null,
        "response_types_supported": "code", "token_endpoint_auth_methods_supported": null,
        "id_token_signing_alg_values_supported": 1, "display_values_supported": [1],
    });
    drop(state);
    world.signed_in();
}

#[test]
fn fields_that_are_used_must_be_right() {
    let at = |world: &World, offset_s: i64| world.service.clock().now().as_millis() / 1_000 + offset_s;
    let refused = |change: &dyn Fn(&World)| {
        let world = world();
        change(&world);
        let got = world.person();
        assert!(world.members().is_empty());
        got
    };
    let wrong = json!([
        { "azp": "another" }, { "azp": 7 }, { "azp": [CLIENT] },
        { "aud": [CLIENT, "another"], "azp": null }, { "aud": [CLIENT, "another"], "azp": "another" },
        { "aud": ["another"], "azp": CLIENT }, { "aud": [CLIENT, 7] }, { "aud": [] }, { "aud": null },
        { "aud": { "0": CLIENT } }, { "iss": [URL] }, { "iss": format!("{URL}/") }, { "iss": null },
        { "exp": null }, { "exp": "2100-01-01" }, { "iat": null }, { "iat": "1" }, { "nbf": "soon" },
        { "iss": "https://evil.example" }, { "aud": "another" }, { "aud": [CLIENT, "another"] },
        { "nonce": "another" }, { "nonce": 7 }, { "nonce": null }, { "sub": 7 }, { "sub": "" }
    ]);
    for claims in wrong.as_array().unwrap() {
        let got = refused(&|world| world.claim(claims.clone()));
        assert!(got.starts_with(REFUSED), "{claims}: {got}");
    }
    // The clocks differ by less than a minute.
    for (claim, wrong, right) in [("exp", -61, -58), ("iat", 62, 58), ("nbf", 62, 58)] {
        let got = refused(&|world| world.claim(json!({ claim: at(world, wrong) })));
        assert!(got.starts_with(REFUSED), "{claim}: {got}");
        let world = world();
        world.claim(json!({ claim: at(&world, right) }));
        world.signed_in();
    }
    let wrong = json!([
        { "crit": ["exp"] }, { "crit": [] }, { "cty": "JWT" }, { "typ": "at+jwt" }, { "alg": null },
        { "alg": "ES512" }, { "alg": "eddsa" }
    ]);
    for header in wrong.as_array().unwrap() {
        let got = refused(&|world| world.fake.state().header = header.clone());
        assert!(got.starts_with(REFUSED), "{header}: {got}");
    }
    for token in [json!("a.b"), json!("a.b.c.d.e"), json!(""), json!(7), json!(null), json!("..")] {
        let got = refused(&|world| world.fake.state().answer = json!({ "id_token": token }));
        assert!(got.starts_with(REFUSED), "{token}: {got}");
    }
    let wrong = json!([
        { "issuer": "https://evil.example" }, { "token_endpoint": null },
        { "authorization_endpoint": "javascript:alert(1)" }, { "jwks_uri": 7 }
    ]);
    for metadata in wrong.as_array().unwrap() {
        let world = world();
        world.fake.state().metadata = metadata.clone();
        let Redirect { location, .. } = begin_at(&world.issuer, &world.service, "").unwrap();
        assert!(location.contains("error=temporarily_unavailable"), "{metadata}: {location}");
    }
}

#[test]
fn a_token_for_several_services_says_that_this_one_asked() {
    let world = world();
    let right = json!([
        { "aud": [CLIENT, "274", "other@project"], "azp": CLIENT }, { "aud": [CLIENT] }, { "aud": [CLIENT, CLIENT] },
        { "aud": CLIENT, "azp": CLIENT }
    ]);
    for claims in right.as_array().unwrap() {
        world.claim(claims.clone());
        world.signed_in();
    }
}

#[test]
fn tokens_are_signed_with_a_key_of_the_issuer_for_their_algorithm() {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let signed = |algorithm: Algorithm, name: &'static str, jwk: Value| {
        let world = world();
        let mut state = world.fake.state();
        (state.signs, state.algorithm, state.jwk) = (algorithm, name, jwk);
        drop(state);
        let got = world.person();
        if got.starts_with(REFUSED) { "refused" } else { "accepted" }
    };
    let algorithms = [RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA];
    let names = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 EdDSA";
    for (algorithm, name) in algorithms.into_iter().zip(names.split(' ')) {
        assert_eq!(signed(algorithm, name, json!({ "use": "sig", "alg": name })), "accepted", "{name}");
    }
    for (algorithm, name) in [(RS256, "RS256"), (ES256, "ES256"), (EdDSA, "EdDSA")] {
        assert_eq!(signed(algorithm, name, json!({})), "accepted", "{name}");
        // The last ones have keys of other lengths.
        let wrong = json!([
            { "use": "enc" }, { "alg": "HS256" }, { "alg": "RSA-OAEP" }, { "kty": "oct", "k": "AAAA" },
            { "kty": null }, { "x": "AAAA", "n": "AAAA", "y": "" }, { "x": "", "n": "", "e": "" },
            { "x": 7, "n": null }
        ]);
        for jwk in wrong.as_array().unwrap() {
            assert_eq!(signed(algorithm, name, jwk.clone()), "refused", "{name} {jwk}");
        }
    }
    for (algorithm, names) in [
        (RS256, "RS512 PS256 HS256"),
        (PS256, "RS256"),
        (ES256, "ES384 ES256K"),
        (EdDSA, "ES256 RS256 HS256 none None"),
    ] {
        for name in names.split(' ') {
            assert_eq!(signed(algorithm, name, json!({})), "refused", "{name}");
        }
    }
    assert_eq!(signed(EdDSA, "EdDSA", json!({ "crv": "X25519" })), "refused");
}

#[test]
fn groups_may_be_in_a_claim_of_a_claim() {
    let person = |claim: &str, claims: Value| {
        let world = world_with(|config| {
            (config.oidc.groups, config.oidc.groups_claim) = (vec!["staff".into()], claim.into());
        });
        world.claim(claims);
        !world.person().starts_with("error")
    };
    let roles = json!({ "realm_access": { "roles": ["staff"] }, "resource_access": { "my.app": { "roles": "staff" } } });
    for (claim, may) in [
        ("realm_access.roles", true),
        ("resource_access.my.app.roles", true),
        ("realm_access", false),
        ("realm_access.groups", false),
        ("realm_access.roles.0", false),
        ("roles", false),
        (".", false),
        ("", false),
    ] {
        assert_eq!(person(claim, roles.clone()), may, "{claim}");
    }
    // A name with dots comes first.
    let both = json!({ "realm_access.roles": ["guests"], "realm_access": { "roles": ["staff"] } });
    assert!(!person("realm_access.roles", both));
    assert!(person("https://campus.example/roles", json!({ "https://campus.example/roles": ["staff"] })));
}

#[test]
fn further_claims_are_no_condition_of_a_sign_in_without_them() {
    let partly = || {
        let world = world();
        let mut state = world.fake.state();
        (state.leaves_out, state.claims) = (true, json!({ "preferred_username": "ann" }));
        drop(state);
        world
    };
    for (status, more) in [
        (403, json!({})),
        (404, json!(null)),
        (200, json!([7])),
        (200, json!("signed")),
        (200, json!({ "response": {} })),
    ] {
        let world = partly();
        let mut state = world.fake.state();
        (state.refuses_more, state.user_info) = (Some(status), more);
        drop(state);
        world.signed_in();
    }
    let world = partly();
    world.fake.state().refuses_more = Some(503);
    assert!(world.person().starts_with("error: temporarily_unavailable"));
}

#[test]
fn refusals_that_do_not_depend_on_the_code_slow_nobody() {
    let mut world = world();
    let client = Client::v4([192, 0, 2, 7].into());
    world.client = Some(client);
    world.service.member("ben");
    for error in ["invalid_client", "unauthorized_client", "unsupported_grant_type"] {
        world.fake.state().refuses = Some((401, json!({ "error": error })));
        for _ in 0..55 {
            assert!(world.person().starts_with(REFUSED));
        }
    }
    world.fake.state().is_down = true;
    for _ in 0..55 {
        let browser = world.begin("");
        if browser.location.starts_with(URL) {
            world.finish(&browser, &world.fake.sign_in(&browser.location)).unwrap();
        }
    }
    world.fake.state().is_down = false;
    world.fake.state().refuses = None;
    world.signed_in();
    assert!(sign_in(&world.service, "ben", "password of ben", Some(client)).is_ok());
}

#[test]
fn a_client_that_makes_codes_of_the_issuer_up_waits() {
    let mut world = world();
    world.client = Some(Client::v4([192, 0, 2, 7].into()));
    let browser = world.begin("");
    let state = Url::parse(&browser.location).unwrap();
    let state = state.query_pairs().find(|(key, _)| key == "state").unwrap().1.into_owned();
    let query = format!("code=made-up&state={state}&iss={URL}");
    let refused = (0..100).find(|_| world.finish(&browser, &query).is_err()).expect("it waits");
    assert!(refused >= 20, "few mistakes are no attack: {refused}");
    let asked = world.fake.state().asked.len();
    assert_eq!(world.finish(&browser, &query).unwrap_err(), "too many requests");
    assert_eq!(world.fake.state().asked.len(), asked, "the issuer is not asked");
    world.client = None;
    assert!(world.finish(&browser, &query).is_ok(), "others go on");
}

#[test]
fn codes_that_are_made_up_are_slowed_whatever_the_issuer_answers() {
    for (status, answer) in [
        (400, json!({ "error": "invalid_request" })),
        (400, json!({ "error": "bad\u{1b}[31m\ncode", "error_description": 7 })),
        (200, json!({ "error": "invalid" })),
        (200, json!({})),
        (404, json!("no page")),
        (500, json!(null)),
    ] {
        let mut world = world();
        let client = Client::v4([192, 0, 2, 7].into());
        world.client = Some(client);
        world.service.member("ben");
        let browser = world.begin("");
        world.fake.state().refuses = Some((status, answer.clone()));
        let query = world.fake.sign_in(&browser.location);
        let slowed = (0..100).find(|_| world.finish(&browser, &query).is_err());
        assert!(slowed.is_some_and(|after| after >= 20), "{status} {answer}: {slowed:?}");
        assert!(sign_in(&world.service, "ben", "password of ben", Some(client)).is_ok(), "passwords go on");
    }
}

#[test]
fn errors_of_the_issuer_are_told_by_whose_they_are() {
    let world = world();
    for (error, told) in [
        ("access_denied", "access_denied"),
        ("login_required", "access_denied"),
        ("something else", "access_denied"),
        ("temporarily_unavailable", "temporarily_unavailable"),
        ("server_error", "temporarily_unavailable"),
        ("invalid_scope", "server_error"),
        ("unauthorized_client", "server_error"),
    ] {
        let browser = world.begin("");
        let query = world.fake.sign_in(&browser.location);
        let query = form_urlencoded::Serializer::new(query).append_pair("error", error).finish();
        assert_eq!(world.finish(&browser, &query).unwrap()[1], pair("error", told), "{error}");
    }
}

#[test]
fn the_check_finds_what_the_issuer_does_not_offer() {
    let checked = |metadata: Value, settings: &[(&str, &str)]| {
        let world = world();
        world.fake.state().metadata = metadata;
        offer::ask(URL, &world.fake).unwrap().check(settings).err().unwrap_or_default()
    };
    let (id, groups) = (("oidc-id-claim", "student"), ("oidc-groups-claim", "realm_access.roles"));
    assert_eq!(checked(json!({}), &[id, groups]), "");
    assert_eq!(checked(json!({ "claims_supported": ["realm_access", "student"] }), &[id, groups]), "");
    let missing =
        checked(json!({ "claims_supported": ["sub", "stud", "realm_access.roles"] }), &[groups, id]);
    assert!(missing.contains("student") && missing.contains("oidc-id-claim"), "{missing}");
    let signs = |names: Value| checked(json!({ "id_token_signing_alg_values_supported": names }), &[]);
    assert_eq!(signs(json!(["ES512", "RS256"])), "");
    assert!(signs(json!(["ES512", "HS256", "none"])).contains("ES512"));
}
