use proptest::prelude::*;
use tidings_cluster::only_on_sqlite;

use super::*;
use crate::account::Caller;
use crate::profile;
use crate::store::Isolation;
use crate::testing::{Service, cases, operator, service};
use crate::transfer::check::{self, CancelFlag, Context};

/// The number of rows that a member has in each table, in the order of [`MEMBER_TABLES`], and of feedback.
type Rows = [u64; 6];

/// The sessions of a new member.
const SESSION: u64 = 1;

/// Inserts rows of a member.
fn insert(service: &Service, member: &'static str, rows: Rows) {
    const VALUES: [(&str, &str); 6] = [
        ("settled_like (member, post, date)", "key, n, n"),
        ("viewed (member, post, date)", "key, n, n"),
        ("searched (member, original, token, similar_words, date)", "key, 'crab', 'crab', '', n"),
        ("opened (member, newsfeed, tag, date)", "key, 'sea', '[]', n"),
        ("moved_act (member, date, act)", "key, n, n"),
        (
            "feedback (id, type, post, member, notice, activation, date)",
            "id || n, 'general', 'A text.', key, '', 1, n",
        ),
    ];
    let work = move |tx: &mut dyn Tx| {
        for ((table, values), rows) in VALUES.iter().zip(rows) {
            let sql = format!(
                "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < $1)
                 INSERT INTO {table} SELECT {values} FROM number JOIN member ON id = $2 WHERE n <= $1"
            );
            tx.run(&sql, &[rows.cast_signed().into(), member.into()])?;
        }
        Ok::<_, StoreError>(())
    };
    service.store().write(Isolation::Alone, work).unwrap();
}

/// Returns the number of rows of all members, or of removed members only.
fn rows(service: &Service, all: bool) -> u64 {
    let which = if all { "member IS NOT NULL" } else { "member NOT IN (SELECT key FROM member)" };
    let count = |table| {
        let sql = format!("SELECT count(*) FROM {table} WHERE {which}");
        service.store().read(|tx| tx.one(&sql, &[])?.take::<i64>(0)).unwrap().unsigned_abs()
    };
    MEMBER_TABLES.iter().map(|(table, ..)| *table).chain(["feedback"]).map(count).sum()
}

fn step(service: &Service, limit: u64) -> bool {
    service.store().write(Isolation::Alone, move |tx| delete_leftovers(tx, limit)).unwrap()
}

/// Returns the names of the failed checks of the content.
fn faults(service: &Service) -> Vec<&'static str> {
    let context = Context { clock: service.clock().clone(), ..Context::default() };
    let checked = check::check(operator(), service.location(), &context, &mut |_| {}, &CancelFlag::default());
    let wrong = checked.unwrap().checks.into_iter().filter(|check| !check.ok).map(|check| check.name);
    // The settings of the PostgreSQL server of the tests do not survive a crash.
    wrong.filter(|name| *name != "durability").collect()
}

#[test]
fn a_removed_member_is_gone_at_once_and_their_acts_in_bounded_steps() {
    const ANN: Rows = [3_000, 300, 200, 100, 2_000, 1_500];
    const BEN: Rows = [20, 20, 20, 20, 20, 20];
    let mut service = service();
    let (ann, _) = (service.member("ann"), service.member("ben"));
    insert(&service, "ann", ANN);
    insert(&service, "ben", BEN);
    let before = rows(&service, true);
    service.call(&ann, profile::Remove {}).unwrap();
    assert_eq!(before - rows(&service, true), DELETED_AT_ONCE);

    // The old token is revoked, and a new member with the same id is a different member.
    assert_eq!(
        service.call(&ann, profile::GetLists { type_num: "0".into() }).unwrap_err().to_string(),
        "bad request"
    );
    let new = service.member("ann");
    let lists = serde_json::to_value(service.call(&new, profile::GetLists { type_num: "0".into() }).unwrap())
        .unwrap();
    for list in ["fav_list", "view_list", "search_list", "newsfeed_list"] {
        assert_eq!(lists[list].as_array().map(Vec::len), Some(0), "{list}");
    }

    let (mut left, mut more) = (rows(&service, false), true);
    assert_eq!(left, ANN.iter().sum::<u64>() + SESSION - DELETED_AT_ONCE);
    while more {
        assert_eq!(faults(&service), [""; 0], "{left} rows are left");
        // Another process continues.
        service = service.reopened();
        more = step(&service, 700);
        let now = rows(&service, false);
        assert!(now < left && left - now <= 700, "{left} {now}");
        left = now;
    }
    assert_eq!((left, rows(&service, true)), (0, BEN.iter().sum::<u64>() + 2 * SESSION));
    assert!(!step(&service, 700));
}

#[test]
fn deleting_a_member_and_their_acts_reads_no_other_rows() {
    only_on_sqlite!("it reads SQLite's query plans");
    let service = service();
    let plan = |sql: &str, args: &[crate::store::Arg<'_>]| {
        let rows = service.store().read(|tx| tx.rows(&format!("EXPLAIN QUERY PLAN {sql}"), args)).unwrap();
        rows.into_iter().map(|mut row| row.take::<String>(3).unwrap()).collect::<Vec<_>>().join("; ")
    };
    for table in MEMBER_TABLES {
        let found = plan(&sql::deletion(table), &[1.into(), 9.into()]);
        assert!(
            !found.contains("SCAN") && !found.contains("TEMP B-TREE") && found.matches("SEARCH").count() == 2,
            "{found}"
        );
    }
    let cascades = "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%REFERENCES member%'";
    assert_eq!(service.store().read(|tx| tx.one(cascades, &[])?.take::<i64>(0)).unwrap(), 0);
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn each_step_changes_at_most_its_limit_and_the_last_leaves_nothing(
        ann in prop::array::uniform6(0..200_u64),
        ben in prop::array::uniform6(0..200_u64),
        limit in 2 * SCATTERED..500,
    ) {
        let service = service();
        for (id, rows) in [("ann", ann), ("ben", ben), ("cid", [5; 6])] {
            service.member(id);
            insert(&service, id, rows);
        }
        for id in ["ann", "ben"] {
            service.call(&Caller::Operator, crate::member::Remove { user_id: id.into() }).unwrap();
        }
        let mut left = rows(&service, false);
        let mut steps = 0;
        while step(&service, limit) {
            let now = rows(&service, false);
            prop_assert!(left - now <= limit);
            (left, steps) = (now, steps + 1);
        }
        let most = 2 * 200 * (5 + SCATTERED);
        prop_assert!(left <= limit && steps <= most / (limit - SCATTERED) + 3);
        prop_assert_eq!((rows(&service, false), rows(&service, true)), (0, 30 + SESSION));
    }
}
