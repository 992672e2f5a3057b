//! Databases of earlier versions of the program.

use std::io::Read as _;

use flate2::read::GzDecoder;
use tidings_cluster::{Scratch, only_on_sqlite};

use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::{Clock, Timestamp};
use crate::newsfeed::{self, Page};
use crate::store::{SCHEMA_VERSION, StoreError};
use crate::testing;
use crate::transfer::check::{CancelFlag, Context, check};
use crate::{notice, post, profile};

/// Databases that the program of the commit f641f7e1 made: 20 posts of the demo, six members and an administrator.
const SQLITE: &[u8] = include_bytes!("../../../../../tests/data/sqlite-31.sql.gz");
#[cfg(feature = "postgres")]
const POSTGRES: &[u8] = include_bytes!("../../../../../tests/data/postgres-34.sql.gz");

/// A day after both were made.
const LATER: Timestamp = Timestamp::from_millis(1_796_083_200_000);

fn unpacked(gzip: &[u8]) -> String {
    let mut sql = String::new();
    GzDecoder::new(gzip).read_to_string(&mut sql).unwrap();
    sql
}

fn make_file(database: &Scratch) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(database.path()).unwrap();
    connection.execute_batch(&unpacked(SQLITE)).unwrap();
    connection
}

/// Opens the database, uses it and checks it.
fn is_intact(location: &str) {
    let tidings = Tidings::builder(location).clock(Clock::fixed(LATER)).open().unwrap();
    let ann = Caller::Member("ann".into());
    let popular = newsfeed::popular(&tidings, &Page::default()).unwrap();
    // One has ended.
    assert!((19..=20).contains(&popular.posts().count()));
    let found = testing::search(&tidings, "piano", 10).unwrap().search_result;
    assert_eq!(found[0].post.title, "Friday evening: opera and piano");
    post::like(&tidings, &ann, &found[0].post.id).wait().unwrap();
    let lists = tidings.call(&ann, profile::GetLists { type_num: "0".into() }).unwrap().fields();
    assert_eq!(lists.fav_list.unwrap().len(), 1);
    assert!(!tidings.call(&Caller::Guest, notice::List::default()).unwrap().notices().is_empty());
    let location = tidings.location().clone();
    drop(tidings);
    let context = Context { clock: Clock::fixed(LATER), ..Context::default() };
    let found = check(testing::operator(), &location, &context, &mut |_| {}, &CancelFlag::default());
    let faults = found.unwrap().checks.into_iter().filter(|check| !check.ok).map(|check| check.name);
    // The mode of the file is that of the test, and its server does not survive a crash.
    assert_eq!(
        faults.filter(|name| !["permissions", "durability"].contains(name)).collect::<Vec<_>>(),
        [""; 0]
    );
}

#[test]
fn a_file_of_the_version_before_the_steps_opens() {
    only_on_sqlite!("it makes a file");
    let database = Scratch::new();
    drop(make_file(&database));
    is_intact(&database.path().display().to_string());
    let connection = rusqlite::Connection::open(database.path()).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, SCHEMA_VERSION);
}

#[test]
fn a_file_of_an_older_version_is_refused_with_the_way_to_open_it() {
    only_on_sqlite!("it makes a file");
    let database = Scratch::new();
    make_file(&database).pragma_update(None, "user_version", 30).unwrap();
    let refused = Tidings::builder(database.path()).open().err().expect("there are no steps from it");
    assert!(refused.to_string().contains("internal error"), "{refused}");
    let store = crate::store::Store::open(&database.path().into()).err().expect("there are no steps from it");
    assert!(matches!(store, StoreError::TooOld { found: 30, oldest: 31 }), "{store}");
    assert!(store.to_string().contains("f641f7e1"), "{store}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_database_on_a_server_of_the_version_before_the_steps_opens() {
    if !tidings_cluster::is_installed("an older database") {
        return;
    }
    let database = tidings_cluster::Cluster::shared().expect("it is installed").database();
    database.query(&unpacked(POSTGRES), &[]);
    is_intact(database.url());
}
