use std::fs;

use proptest::prelude::*;

use super::*;
use crate::base::files::previous_key_file;
use crate::base::location::Location;
use crate::store::{Isolation, Tx};
use crate::testing::NOW;

const KEY: &[u8] = b"a key of thirty-two bytes exactly";

fn given(secret: &[u8]) -> Source {
    Source::Given(Secret(secret.to_vec().into()))
}

fn keys(secret: &[u8]) -> Keys {
    Keys::new(given(secret), None, 30, Clock::fixed(NOW)).unwrap()
}

#[test]
fn the_example_token_of_the_standard_verifies() {
    // Source: RFC 7515 appendix A.1, whose claims differ from ours.
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                 Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    hmac::install();
    let key = DecodingKey::from_secret(&[
        3, 35, 53, 75, 43, 15, 165, 188, 131, 126, 6, 101, 119, 123, 166, 143, 90, 179, 40, 230, 240, 84,
        201, 40, 169, 15, 132, 178, 210, 80, 46, 191, 211, 251, 90, 146, 210, 6, 71, 239, 150, 138, 180, 195,
        119, 98, 61, 34, 61, 46, 33, 114, 5, 46, 79, 8, 192, 205, 154, 245, 103, 208, 128, 163,
    ]);
    let mut validation = Validation::new(Algorithm::HS256);
    validation.validate_exp = false;
    let read = jsonwebtoken::decode::<serde_json::Value>(token, &key, &validation).unwrap();
    assert_eq!(read.claims["iss"], "joe");
}

#[test]
fn nothing_is_signed_with_another_algorithm() {
    hmac::install();
    let key = EncodingKey::from_secret(KEY);
    assert!(jsonwebtoken::encode(&Header::new(Algorithm::HS512), &0, &key).is_err());
}

#[test]
fn the_signature_of_a_token_is_verified_once_while_its_key_is_current() {
    let keys = keys(KEY);
    let token = keys.sign("Ann", 7, None, NOW).unwrap();
    let [first, second] = [&token, &token].map(|token| keys.verify(token).unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    let long = keys.sign(&"x".repeat(1_000), 7, None, NOW).unwrap();
    let [first, second] = [&long, &long].map(|token| keys.verify(token).unwrap());
    assert!(!Arc::ptr_eq(&first, &second), "long tokens are not kept");
    keys.set.store(
        Set::new([None, None], Secret(b"another key of thirty-two bytes!!".to_vec().into()), None).into(),
    );
    assert!(keys.verify(&token).is_none());
}

proptest! {
    #[test]
    fn a_changed_token_is_invalid_after_the_token_was_verified(position: proptest::sample::Index, letter in "[ -~]") {
        let keys = keys(KEY);
        let token = keys.sign("Ann", 7, None, NOW).unwrap();
        prop_assert!(keys.verify(&token).is_some());
        let position = position.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(position..=position, &letter);
        prop_assert_eq!(keys.verify(&changed).is_some(), changed == token);
        prop_assert!(keys.verify(&token[..position]).is_none());
    }
}

fn replace(file: &Path, content: &[u8]) {
    let next = file.with_extension("next");
    fs::write(&next, content).unwrap();
    fs::rename(next, file).unwrap();
}

fn shared_store(directory: &Path) -> Arc<Store> {
    let store = Store::open(&Location::from(directory.join("store.db"))).unwrap();
    let create = |tx: &mut dyn Tx| {
        tx.run("CREATE TABLE token_key (one INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL)", &[])
    };
    store.write::<_, StoreError>(Isolation::Alone, create).unwrap();
    Arc::new(store)
}

fn open(config: &Config, store: &Arc<Store>, directory: &Path, name: &str) -> Result<Keys> {
    Keys::open_shared(config, &directory.join(name), store, Clock::fixed(NOW))
}

fn with_key(key: &[u8], previous: Option<&[u8]>) -> Config {
    let secret = |key: &[u8]| Secret(key.to_vec().into());
    Config { token_key: Some(secret(key)), token_key_previous: previous.map(secret), ..Config::default() }
}

const NEW: &[u8] = b"a newer key, of thirty-two bytes and more";

#[test]
fn a_program_with_another_key_does_not_open_a_shared_database() {
    let dir = tempfile::tempdir().unwrap();
    let store = shared_store(dir.path());
    let open = |config: &Config, name: &str| open(config, &store, dir.path(), name);
    let first = open(&Config::default(), "one").unwrap();
    assert!(first.required().is_ok());
    let other = open(&with_key(NEW, None), "one").err().unwrap();
    assert!(matches!(other, Error::Store(StoreError::OtherKey { .. })), "{other:?}");
    // A copy of the key file is the same key.
    fs::copy(dir.path().join("one.key"), dir.path().join("two.key")).unwrap();
    let second = open(&Config::default(), "two").unwrap();
    assert!(second.verify(&first.sign("Ann", 7, None, NOW).unwrap()).is_some());
    fs::write(dir.path().join("three.key"), NEW).unwrap();
    assert!(open(&Config::default(), "three").is_err());
    assert_eq!(fs::read(dir.path().join("three.key")).unwrap(), NEW, "an existing file is kept");
}

#[test]
fn a_program_without_the_key_of_a_shared_database_creates_none_and_signs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = shared_store(dir.path());
    let open = |config: &Config| open(config, &store, dir.path(), "a");
    let good = open(&with_key(KEY, None)).unwrap().sign("Ann", 7, None, NOW).unwrap();
    let keys = open(&Config::default()).unwrap();
    assert!(!dir.path().join("a.key").exists());
    assert!(keys.verify(&good).is_none());
    for refused in [keys.sign("Ann", 7, None, NOW).map(drop), keys.required()] {
        assert!(matches!(refused, Err(Error::Store(StoreError::MissingKey { .. }))), "{refused:?}");
    }
}

#[test]
fn a_program_that_needs_no_key_makes_none_for_a_new_shared_database() {
    let dir = tempfile::tempdir().unwrap();
    let store = shared_store(dir.path());
    let open = |name: &str| open(&Config::default(), &store, dir.path(), name).unwrap();
    let (command, other) = (open("a"), open("a"));
    assert!(command.verify("a.b.c").is_none());
    assert!(!dir.path().join("a.key").exists());
    assert_eq!(store.read(recorded).unwrap(), None);
    // A server with the key of the site starts later.
    fs::write(dir.path().join("b.key"), NEW).unwrap();
    let server = open("b");
    let refused = command.required();
    assert!(matches!(refused, Err(Error::Store(StoreError::OtherKey { .. }))), "{refused:?}");
    assert!(!dir.path().join("a.key").exists());
    // One that shares the directory gets the same key.
    fs::copy(dir.path().join("b.key"), dir.path().join("a.key")).unwrap();
    assert!(server.verify(&other.sign("Ann", 7, None, NOW).unwrap()).is_some());
}

#[test]
fn the_key_of_a_shared_database_is_replaced_with_the_previous_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = shared_store(dir.path());
    let opens =
        |key: &[u8], previous: Option<&[u8]>| open(&with_key(key, previous), &store, dir.path(), "a").is_ok();
    assert!(opens(KEY, None) && !opens(NEW, None));
    assert!(opens(NEW, Some(KEY)) && opens(NEW, None), "the new key is recorded");
    assert!(!opens(KEY, None));
}

#[test]
fn a_key_file_of_a_shared_database_is_replaced_while_a_server_runs() {
    let dir = tempfile::tempdir().unwrap();
    let store = shared_store(dir.path());
    let open = || open(&Config::default(), &store, dir.path(), "a");
    let keys = open().unwrap();
    keys.required().unwrap();
    replace(&dir.path().join("a.key"), NEW);
    assert!(keys.sign("Ann", 7, None, NOW).is_ok());
    let recorded = store.write(Isolation::Alone, |tx| recorded(tx)).unwrap();
    assert_eq!(recorded, Some(fingerprint(&Secret(NEW.to_vec().into()))));
    assert!(open().is_ok());
}

#[test]
fn keys_that_are_too_short_are_refused() {
    assert!(Keys::new(given(b"short"), None, 30, Clock::fixed(NOW)).is_err());
    assert!(Keys::new(given(KEY), Some(given(b"short")), 30, Clock::fixed(NOW)).is_err());
}

#[test]
fn replacing_a_key_while_several_processes_run_signs_nobody_out_until_a_second_after_the_old_key_is_removed()
{
    let dir = tempfile::tempdir().unwrap();
    let (database, clock) = (dir.path().join("a.db"), Clock::fixed(NOW));
    let open = || Keys::open(&Config::default(), &database, &database, clock.clone()).unwrap();
    let (one, two) = (open(), open());
    let old = one.sign("Ann", 7, None, NOW).unwrap();
    let key = key_file(&database);
    fs::copy(&key, previous_key_file(&key)).unwrap();
    assert!(one.verify(&old).is_some() && two.verify(&old).is_some());
    replace(&key, NEW);
    let new = one.sign("Ann", 7, None, NOW).unwrap();
    assert!(keys(NEW).verify(&new).is_some());
    for keys in [&one, &two, &open()] {
        assert!(keys.verify(&new).is_some() && keys.verify(&old).is_some());
    }
    // An invalid key file has no effect.
    replace(&key, b"short");
    assert!(one.verify("a.b.c").is_none());
    assert!(one.verify(&new).is_some() && one.verify(&old).is_some());
    one.sign("Ann", 7, None, NOW).unwrap();
    replace(&key, NEW);
    fs::remove_file(previous_key_file(&key)).unwrap();
    clock.advance(LOOK_MS);
    for keys in [&one, &two, &open()] {
        assert!(keys.verify(&old).is_none(), "although no other token was signed or sent");
        assert!(keys.verify(&new).is_some());
    }
}
