//! Tests of processes that use the same words.

use super::*;
use crate::post;
use crate::testing::{self, Service, draft, publish};
use crate::words::ModelCache;

/// Returns the model of another process with the same database.
fn other(service: &Service) -> ModelCache {
    let tidings = service.beside();
    let (config, clock) = (tidings.config().words.clone(), tidings.clock().clone());
    ModelCache::new(Arc::clone(&tidings.0.store), config, clock)
}

fn service() -> Service {
    let service = testing::service();
    for n in 0..40 {
        let post = Some("The crab swims with the lobster and the whale in the sea".into());
        let named = draft(format!("Crab and lobster {n}"), format!("https://a.example/{n}"));
        publish(&service, post::Draft { post, ..named });
    }
    service
}

/// Returns the number of models of which there are parts.
fn models(service: &Service) -> i64 {
    let count = |tx: &mut dyn Tx| tx.one("SELECT count(DISTINCT model) FROM word_model_part", &[])?.take(0);
    service.store().read(count).unwrap()
}

#[test]
fn a_process_uses_the_words_that_another_one_has_learned() {
    let service = service();
    let [one, two] = [0, 1].map(|_| other(&service));
    two.shared.adopt_stored().unwrap();
    assert!(two.in_memory().is_none());
    let learned = one.train(&mut |_| Ok(())).unwrap();
    two.shared.adopt_stored().unwrap();
    let adopted = two.in_memory().unwrap();
    assert!(adopted.model.words().len() > 3);
    assert_eq!(adopted.model.words(), learned.model.words());
    assert_eq!(adopted.model.vectors(), learned.model.vectors());
    assert_eq!(adopted.model.origin, learned.model.origin);
    let again = two.train(&mut |_| Ok(())).unwrap();
    assert_ne!(again.id, learned.id);
    assert_eq!(models(&service), 1, "the parts of the model before are deleted");
}

#[test]
fn processes_that_learn_at_the_same_time_leave_a_whole_model() {
    let service = service();
    let [one, two] = [0, 1].map(|_| other(&service));
    std::thread::scope(|scope| {
        for cache in [&one, &two] {
            scope.spawn(move || {
                for _ in 0..20 {
                    let trained = cache.train(&mut |_| Ok(()));
                    assert!(matches!(trained, Ok(_) | Err(Error::Overloaded)));
                }
            });
        }
    });
    let three = other(&service);
    assert!(three.current().is_some());
    three.train(&mut |_| Ok(())).unwrap();
    assert_eq!(models(&service), 1);
}

#[test]
fn only_the_server_with_the_lease_learns() {
    let service = service();
    if !service.store().is_on_server() {
        return;
    }
    let [one, two] = [0, 1].map(|_| other(&service));
    assert!(one.shared.lease.hold().unwrap());
    two.shared.step_until_quiet();
    assert!(two.in_memory().is_none());
    one.shared.step_until_quiet();
    let learned = one.in_memory().unwrap();
    two.shared.step_until_quiet();
    assert_eq!(two.in_memory().unwrap().model.words(), learned.model.words());
}
