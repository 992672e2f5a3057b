//! Tests of API keys.

use super::*;
use crate::base::clock::DAY_MS;
use crate::record::error::Error;
use crate::testing::{NOW, Service, service};
use crate::{admin, feedback, main_info, notice, post, profile};

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
fn a_key_may_do_what_its_scopes_allow_and_nothing_else() {
    let service = service();
    let key = add_key(&service, "notices", &[Scope::Notices], None);
    let draft = notice::Draft {
        title: Some("Title".into()),
        post: Some("Text".into()),
        activation: Some(0),
        ..notice::Draft::default()
    };
    service.call(&key, notice::Insert { draft }).unwrap();
    assert_eq!(service.call(&key, notice::List::default()).unwrap().notices().len(), 1, "hidden ones too");
    let lines = main_info::Draft { new_info_1: Some("One".into()), new_info_2: None };
    let refused = service.call(&key, main_info::Update { draft: lines.clone() }).unwrap_err();
    assert!(matches!(refused, Error::MissingScope(Scope::Front)), "{refused:?}");
    assert_eq!(refused.message(), "this needs an API key or a role with the scope front");
    assert_eq!((refused.to_string().as_str(), refused.problem().code), ("Not admin", Code::MissingScope));
    assert_eq!(refusal(service.call(&key, feedback::ListAll {})), "Not admin");
    assert_eq!(refusal(service.call(&key, crate::member::Remove { user_id: "nobody".into() })), "Not admin");
    // It is not a person.
    assert_eq!(refusal(service.call(&key, admin::Check {})), "Not admin");
    assert_eq!(refusal(service.call(&key, List {})), "Not admin");
    assert_eq!(refusal(service.call(&key, Revoke { key_obi: "notices".into() })), "Not admin");
    assert_eq!(refusal(service.call(&key, admin::Grant { user_id: "nobody".into() })), "Not admin");
    assert_eq!(refusal(service.call(&key, profile::Get {}).map(|_| ())), "not found");
}

#[test]
fn posts_contain_their_import() {
    let service = service();
    let (posts, import) = (
        add_key(&service, "posts", &[Scope::Posts], None),
        add_key(&service, "import", &[Scope::PostsImport], None),
    );
    let line = |n: u32| format!("{{\"title\": \"T\", \"url\": \"https://a.example/{n}\"}}");
    let progress = &mut crate::import::to_the_end;
    assert_eq!(post::import(&service, &posts, line(1).as_bytes(), progress).unwrap().inserted, 1);
    assert_eq!(post::import(&service, &import, line(2).as_bytes(), progress).unwrap().inserted, 1);
    let draft = post::Draft {
        title: Some("T".into()),
        url: Some("https://a.example/3".into()),
        ..Default::default()
    };
    service.call(&posts, post::Insert { draft: draft.clone() }).unwrap();
    assert_eq!(refusal(service.call(&import, post::Insert { draft })), "Not admin");
    let members = add_key(&service, "roster", &[Scope::Members], None);
    assert_eq!(refusal(post::import(&service, &members, line(4).as_bytes(), progress)), "Not admin");
    assert_eq!(service.call(&members, admin::GetBlacklist {}).unwrap().blacklist, []);
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
    assert_eq!(
        refusal(other.call(&forever, crate::member::Remove { user_id: "nobody".into() })),
        "Not admin"
    );
    assert_eq!(refusal(service.call(&Caller::Operator, Revoke { key_obi: "two".into() })), "Not found");
    let unknown = Caller::token(generate().as_str());
    assert_eq!(refusal(service.call(&unknown, admin::GetBlacklist {})), "bad token");
}

#[test]
fn keys_are_listed_by_name_without_their_secret() {
    let service = service();
    let ann = service.admin("ann");
    let scopes = named(&[Scope::PostsImport, Scope::Notices, Scope::PostsImport]);
    let draft = Add { name: " Importer ".into(), scopes, expires: None };
    let new = service.call(&ann, draft.clone()).unwrap();
    add_key(&service, "Backup", &[Scope::AuditRead], Some(NOW + 1));
    let keys = service.call(&ann, List {}).unwrap().keys;
    assert_eq!(keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["Backup", "Importer"]);
    assert_eq!(
        (&keys[1].id, &keys[1].scopes[..]),
        (&new.id.to_string(), &[Scope::Notices, Scope::PostsImport][..])
    );
    let json = serde_json::to_string(&keys).unwrap();
    assert!(
        json.contains(r#""scopes":["notices","posts:import"]"#) && !json.contains(&new.key[PREFIX.len()..])
    );
    service.call(&ann, Revoke { key_obi: new.id.to_string() }).unwrap();
    assert_eq!(service.call(&ann, List {}).unwrap().keys.len(), 1);
    let member = service.member("ben");
    assert_eq!(refusal(service.call(&member, List {})), "Not admin");
    assert_eq!(refusal(service.call(&member, draft.clone())), "Not admin");
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
        assert_eq!(
            (refused.to_string().as_str(), refused.problem().field),
            ("bad request", field),
            "{draft:?}"
        );
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
    let use_key = |key: &Caller| {
        // A new request has a new caller.
        let Caller::Token(token) = key else { unreachable!("it is a token") };
        let key = Caller::token(token.text());
        service.call(&key, admin::GetBlacklist {}).unwrap();
        key.resolved(&service);
        key
    };
    assert_eq!((last(), key.known_key(&service)), (None, None));
    assert!(use_key(&key).known_key(&service).is_some());
    assert_eq!(last(), Some(NOW));
    service.clock().advance(59_999);
    use_key(&key);
    assert_eq!(last(), Some(NOW));
    service.clock().advance(1);
    use_key(&key);
    assert_eq!(last(), Some(NOW + 60_000));
    service.call(&Caller::Operator, Revoke { key_obi: "importer".into() }).unwrap();
    let Caller::Token(token) = &key else { unreachable!("it is a token") };
    let revoked = Caller::token(token.text());
    assert_eq!(refusal(service.call(&revoked, admin::GetBlacklist {})), "bad token");
    revoked.resolved(&service);
    assert_eq!(revoked.known_key(&service), None);
}
