use super::*;
use crate::base::clock::DAY_MS;
use crate::record::error::Result;
use crate::testing::{NOW, Service, again, service};
use crate::{admin, member};

fn add_key(service: &Service, name: &str, scopes: &[Scope], expires: Option<Timestamp>) -> Caller {
    let expires = expires.map(|at| at.to_string());
    let new =
        service.call(&Caller::Operator, Add { name: name.into(), scopes: named(scopes), expires }).unwrap();
    Caller::token(new.key.as_str())
}

fn named(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(|scope| scope.name().to_owned()).collect()
}

fn refusal<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

#[test]
fn a_key_has_the_form_that_scanners_know_and_a_checksum() {
    let key = generate();
    let digits = key.strip_prefix(PREFIX).unwrap();
    assert!(digits.len() == 48 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
    assert!(KeyHash::of(&key).is_some());
    assert_ne!(KeyHash::of(&key), KeyHash::of(&generate()));
    let mistyped = key.replacen(&digits[..1], if digits.starts_with('0') { "1" } else { "0" }, 1);
    for other in [&mistyped, PREFIX, "tidings_", "", "eyJ.a.b", &format!("{}é", &key[..key.len() - 2])] {
        assert_eq!(KeyHash::of(other), None, "{other}");
    }
}

#[test]
fn a_revoked_or_expired_key_fails_in_the_next_request_on_every_server() {
    let service = service();
    let other = service.beside();
    let key = add_key(&service, "one", &[Scope::MembersRead], Some(NOW + DAY_MS));
    let forever = add_key(&service, "two", &[Scope::MembersRead], None);
    other.call(&key, admin::GetBlacklist {}).unwrap();
    service.clock().advance(DAY_MS - 1);
    service.call(&key, admin::GetBlacklist {}).unwrap();
    service.clock().advance(1);
    assert_eq!(refusal(service.call(&key, admin::GetBlacklist {})), "bad token");
    other.call(&forever, admin::GetBlacklist {}).unwrap();
    service.call(&Caller::Operator, Revoke { key_obi: "two".into() }).unwrap();
    assert_eq!(refusal(other.call(&forever, admin::GetBlacklist {})), "bad token");
    assert_eq!(refusal(other.call(&forever, member::Remove { user_id: "nobody".into() })), "Not admin");
    assert_eq!(refusal(service.call(&Caller::Operator, Revoke { key_obi: "two".into() })), "Not found");
    let unknown = Caller::token(generate().as_str());
    assert_eq!(refusal(service.call(&unknown, admin::GetBlacklist {})), "bad token");
}

#[test]
fn keys_are_listed_by_name() {
    let service = service();
    add_key(&service, " Importer ", &[Scope::Notices], None);
    add_key(&service, "Backup", &[Scope::AuditRead], Some(NOW + 1));
    let keys = service.call(&Caller::Operator, List {}).unwrap().keys;
    assert_eq!(keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["Backup", "Importer"]);
}

#[test]
fn a_key_needs_a_name_of_its_own_a_scope_and_a_future() {
    let service = service();
    add_key(&service, "taken", &[Scope::Posts], None);
    let valid = Add { name: "new".into(), scopes: named(&[Scope::Posts]), expires: None };
    for (draft, field) in [
        (Add { name: "taken".into(), ..valid.clone() }, Some("name")),
        (Add { name: " ".into(), ..valid.clone() }, Some("name")),
        (Add { name: "n".repeat(51), ..valid.clone() }, Some("name")),
        (Add { name: "a\nb".into(), ..valid.clone() }, Some("name")),
        (Add { scopes: Vec::new(), ..valid.clone() }, Some("scopes")),
        (Add { expires: Some(NOW.to_string()), ..valid }, Some("expires")),
    ] {
        let refused = service.call(&Caller::Operator, draft.clone()).map(|_| ()).unwrap_err();
        assert_eq!((&*refused.to_string(), refused.problem().field), ("bad request", field), "{draft:?}");
    }
    assert_eq!(service.call(&Caller::Operator, List {}).unwrap().keys.len(), 1);
}

#[test]
fn the_last_use_is_written_at_most_once_a_minute() {
    let service = service();
    let key = add_key(&service, "importer", &[Scope::MembersRead], None);
    let last = || {
        service.store().flush().wait().unwrap();
        service.call(&Caller::Operator, List {}).unwrap().keys[0].last_used
    };
    // A new request has a new caller.
    let use_key = || {
        let key = again(&key);
        let result = service.call(&key, admin::GetBlacklist {}).map(drop);
        key.resolved(&service);
        (result, key.known_key(&service).is_some())
    };
    assert_eq!((last(), key.known_key(&service)), (None, None));
    for (wait_ms, used) in [(0, NOW), (59_999, NOW), (1, NOW + 60_000)] {
        service.clock().advance(wait_ms);
        assert!(matches!(use_key(), (Ok(()), true)));
        assert_eq!(last(), Some(used));
    }
    service.call(&Caller::Operator, Revoke { key_obi: "importer".into() }).unwrap();
    let (refused, is_known) = use_key();
    assert_eq!((refusal(refused).as_str(), is_known), ("bad token", false));
}
