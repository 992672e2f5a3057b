//! Tests of servers that use the same words. They run on PostgreSQL only.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::account::Caller;
use crate::post;
use crate::testing::{self, Service};
use crate::words::ModelCache;

/// Returns the keeper of a server whose files are in this folder.
fn keeper(service: &Service, folder: &Path) -> ModelCache {
    let tidings = service.beside();
    let (config, clock) = (tidings.config().words.clone(), tidings.clock().clone());
    ModelCache::new(Arc::clone(&tidings.0.store), &folder.join("other"), config, clock)
}

fn insert(service: &Service, count: usize) {
    for n in 0..count {
        let draft = post::Draft {
            title: Some(format!("Crab and lobster {n}")),
            post: Some("The crab swims with the lobster and the whale in the sea".into()),
            url: Some(format!("https://a.example/{n}")),
            ..post::Draft::default()
        };
        service.call(&Caller::Operator, post::Insert { draft }).unwrap();
    }
}

#[test]
fn bytes_are_read_as_they_were_written() {
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(bytes(&hexadecimal(&all)).unwrap(), all);
    assert!(bytes("0").is_err() && bytes("xy").is_err());
}

#[test]
fn a_server_uses_the_words_that_another_one_has_learned() {
    let service = testing::service();
    if !service.store().is_on_server() {
        return;
    }
    insert(&service, 40);
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [one, two] = [0, 1].map(|n| keeper(&service, folders[n].path()));
    assert!(!two.shared.adopt_stored().unwrap());
    let learned = one.train(&mut |_| Ok(())).unwrap();
    assert!(two.shared.adopt_stored().unwrap());
    let adopted = two.in_memory().unwrap();
    assert!(adopted.model.words().len() > 3);
    assert_eq!(adopted.model.words(), learned.model.words());
    assert_eq!(adopted.model.origin.made, learned.model.origin.made);
    assert!(folders[1].path().join("other.words").exists(), "the file is a cache");
    let parts = service
        .store()
        .read(|tx| tx.one("SELECT count(DISTINCT model) FROM word_model_part", &[])?.take::<i64>(0));
    assert_eq!(parts.unwrap(), 1);
}

#[test]
fn only_the_server_with_the_lease_learns() {
    let service = testing::service();
    if !service.store().is_on_server() {
        return;
    }
    insert(&service, 40);
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [one, two] = [0, 1].map(|n| keeper(&service, folders[n].path()));
    assert!(one.shared.lease.hold().unwrap());
    two.shared.step_until_quiet();
    assert!(two.in_memory().is_none());
    one.shared.step_until_quiet();
    let learned = one.in_memory().unwrap();
    two.shared.step_until_quiet();
    assert_eq!(two.in_memory().unwrap().model.words(), learned.model.words());
}
