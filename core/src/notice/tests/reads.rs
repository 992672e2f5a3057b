//! Tests of the reads by day.

use super::*;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::testing::service_with;

/// Returns the reads of a notice on the last `days` days.
fn by_day(tidings: &Tidings, id: &str, days: i64) -> Vec<i64> {
    let reads =
        tidings.call(&Caller::Operator, GetReads { notice_obi: id.into(), days: Some(days) }).unwrap();
    reads.notice_reads.iter().map(|day| day.reads).collect()
}

#[test]
fn reads_are_counted_by_calendar_day() {
    let mut config = Config::default();
    config.analysis.timezone = Some("Asia/Seoul".parse().unwrap());
    let service = service_with(config);
    let (id, other) =
        (insert_as_operator(&service, &draft("t", "p")), insert_as_operator(&service, &draft("u", "p")));
    let read =
        || service.call(&Caller::Guest, Get { notice_obi: id.clone(), html: None }).unwrap().notice_list.view;
    assert_eq!((read(), read()), (1, 2));
    assert_eq!(by_day(&service, &id, 1), [2]);
    // Half past five in the afternoon in Seoul; the next day begins after six and a half hours.
    service.clock().advance(DAY_MS / 4);
    assert_eq!(read(), 3);
    service.clock().advance(DAY_MS / 24);
    assert_eq!(read(), 4);
    assert_eq!(by_day(&service, &id, 2), [3, 1]);
    service.clock().advance(2 * DAY_MS);
    assert_eq!(read(), 5);
    let days = service
        .call(&Caller::Operator, GetReads { notice_obi: id.clone(), days: Some(5) })
        .unwrap()
        .notice_reads;
    let expected =
        [("2026-11-19", 0), ("2026-11-20", 3), ("2026-11-21", 1), ("2026-11-22", 0), ("2026-11-23", 1)];
    let days: Vec<_> = days.iter().map(|day| (day.date.as_str(), day.reads)).collect();
    assert_eq!(days, expected);
    assert_eq!(by_day(&service, &other, 5), [0; 5]);
    assert_eq!(by_day(&service, &id, 366).len(), 366);
    for days in [0, -1, 367, i64::MAX, i64::MIN] {
        let refused = service.call(&Caller::Operator, GetReads { notice_obi: id.clone(), days: Some(days) });
        assert!(
            matches!(refused, Err(Error::BadRequest(problem)) if problem.field == Some("days")),
            "{days}"
        );
    }
    for unknown in ["65f0a0000000000000000000", "no id"] {
        assert!(matches!(
            service.call(&Caller::Operator, GetReads { notice_obi: unknown.into(), days: Some(1) }),
            Err(Error::NotFound)
        ));
    }
    service.call(&Caller::Operator, Remove { notice_obi: id.clone() }).unwrap();
    assert!(matches!(
        service.call(&Caller::Operator, GetReads { notice_obi: id.clone(), days: Some(1) }),
        Err(Error::NotFound)
    ));
    let rows: i64 =
        service.store().read(|tx| tx.one("SELECT count(*) FROM notice_reads", &[])?.take(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn reads_that_wait_for_the_database_keep_their_days() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    let read = || drop(service.call(&Caller::Guest, Get { notice_obi: id.clone(), html: None }).unwrap());
    // No flush is deferred while one is expected.
    let held = service.notice_cache().views().hold();
    read();
    for count in [2, 0, 3] {
        service.clock().advance(DAY_MS);
        (0..count).for_each(|_| read());
        service.call(&Caller::Operator, Update { notice_obi: id.clone(), draft: draft("t", "new") }).unwrap();
    }
    drop(held);
    read();
    assert_eq!(by_day(&service, &id, 4), [1, 2, 0, 4]);
    assert_eq!(stored(&service)[0].view, 7);
    assert_eq!(by_day(&service, &id, 4), [1, 2, 0, 4], "once");
}

#[test]
fn the_reads_of_two_processes_add_up() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    let other = another_process(&service);
    for tidings in [&*service, &other, &other] {
        tidings.call(&Caller::Guest, Get { notice_obi: id.clone(), html: None }).unwrap();
    }
    drop(other);
    assert_eq!(by_day(&service, &id, 1), [3]);
}
