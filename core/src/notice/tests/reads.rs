//! Tests of the reads by day.

use super::*;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::testing::service_with;

fn reads(tidings: &Tidings, id: &str, days: i64) -> Result<Vec<DayReads>> {
    let reads = tidings.call(&Caller::Operator, GetReads { notice_obi: id.into(), days: Some(days) })?;
    Ok(reads.notice_reads)
}

/// Returns the reads of a notice on the last `days` days.
fn by_day(tidings: &Tidings, id: &str, days: i64) -> Vec<i64> {
    reads(tidings, id, days).unwrap().iter().map(|day| day.reads).collect()
}

#[test]
fn reads_are_counted_by_calendar_day() {
    let mut config = Config::default();
    config.analysis.timezone = Some("Asia/Seoul".parse().unwrap());
    let service = service_with(config);
    let [id, other] = ["t", "u"].map(|title| insert_as_operator(&service, &draft(title, "p")));
    let read = || read(&service, &id);
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
    let days = reads(&service, &id, 5).unwrap();
    let days: Vec<_> = days.iter().map(|day| (day.date.as_str(), day.reads)).collect();
    let expected =
        [("2026-11-19", 0), ("2026-11-20", 3), ("2026-11-21", 1), ("2026-11-22", 0), ("2026-11-23", 1)];
    assert_eq!(days, expected);
    assert_eq!(by_day(&service, &other, 5), [0; 5]);
    assert_eq!(by_day(&service, &id, 366).len(), 366);
    for days in [0, -1, 367, i64::MAX, i64::MIN] {
        let Err(Error::BadRequest(problem)) = reads(&service, &id, days) else { panic!("{days}") };
        assert_eq!(problem.field, Some("days"));
    }
    remove(&service, &Caller::Operator, &id).unwrap();
    for unknown in ["65f0a0000000000000000000", "no id", &id] {
        assert!(matches!(reads(&service, unknown, 1), Err(Error::NotFound)));
    }
    let rows: i64 =
        service.store().read(|tx| tx.one("SELECT count(*) FROM notice_reads", &[])?.take(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn reads_that_wait_for_the_database_keep_their_days() {
    let service = service();
    let id = insert_as_operator(&service, &draft("t", "p"));
    // No flush is deferred while one is expected.
    let held = service.notice().cache.views().hold();
    read(&service, &id);
    for count in [2, 0, 3] {
        service.clock().advance(DAY_MS);
        for _ in 0..count {
            read(&service, &id);
        }
        update(&service, &Caller::Operator, &id, &draft("t", "new")).unwrap();
    }
    drop(held);
    read(&service, &id);
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
        read(tidings, &id);
    }
    drop(other);
    assert_eq!(by_day(&service, &id, 1), [3]);
}
