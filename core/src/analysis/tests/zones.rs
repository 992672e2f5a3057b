use std::time::{Duration, Instant};

use super::*;
use crate::base::config::Config;
use crate::search;
use crate::service::retention;
use crate::store::StoreError;
use crate::testing::{NOW, service, service_with};

fn in_zone(name: &str) -> Config {
    let mut config = Config::default();
    config.analysis.timezone = Some(name.parse().unwrap());
    config
}

#[test]
fn counting_fails_if_another_process_changed_the_zone() {
    let service = service();
    drop(Tidings::builder(service.location()).config(in_zone("Asia/Seoul")).open().unwrap());
    let refused = insert_device(&service, "pc").wait();
    assert!(matches!(refused, Err(Error::Store(StoreError::Zone { .. }))), "{refused:?}");
    assert_eq!(service.call(&Caller::Guest, GetDevices {}).unwrap().fields().pc, 0);
}

#[test]
fn another_zone_counts_from_its_next_midnight_on() {
    let service = service_with(in_zone("UTC"));
    let beside = service.beside();
    retention::start(&beside).unwrap();
    insert_device(&service, "pc").wait().unwrap();
    let seoul: Zone = "Asia/Seoul".parse().unwrap();
    let midnight = Timestamp::parse("2026-11-20T15:00:00Z").unwrap();
    let set = set_timezone(&service, &Caller::Operator, &seoul).unwrap();
    assert_eq!((set.zone.as_str(), set.next.unwrap().date), ("UTC", midnight));
    let open = |name| {
        Tidings::builder(service.location()).config(in_zone(name)).clock(service.clock().clone()).open()
    };
    // The old zone is still in force, and the new one is accepted.
    for (name, is_accepted) in [("UTC", true), ("ROK", true), ("Europe/Berlin", false)] {
        let opened = open(name);
        assert_eq!(opened.is_ok(), is_accepted, "{name}");
    }
    let searched = |tidings: &Tidings| search::log(tidings, &Caller::Guest, None, "rust").wait().unwrap();
    let today = |tidings: &Tidings| today_counts(tidings).unwrap().date;
    service.clock().advance(midnight - NOW - 1);
    searched(&service);
    assert_eq!((today(&service).as_str(), zone(&service).as_str()), ("2026-11-20", "UTC"));
    service.clock().advance(1);
    searched(&service);
    assert_eq!((today(&service).as_str(), zone(&service).as_str()), ("2026-11-21", "Asia/Seoul"));
    // Another server learns of it, also while it has nothing to do.
    let learnt = Instant::now();
    while today(&beside) != "2026-11-21" {
        assert!(learnt.elapsed() < Duration::from_secs(20), "the other server counts in UTC");
        std::thread::sleep(Duration::from_millis(20));
    }
    searched(&beside);
    let counted = |day: &str| {
        service.call(&Caller::Operator, GetPeriod { first: day.into(), last: day.into() }).unwrap().days[0]
            .search
    };
    assert_eq!((counted("2026-11-20"), counted("2026-11-21")), (1, 2));
    let refused = open("UTC").err().unwrap();
    assert!(refused.detail().unwrap().contains("tidings store timezone UTC"), "{refused:?}");
    drop(open("Asia/Seoul").unwrap());
}

#[test]
fn the_zone_changes_at_once_before_anything_is_counted() {
    let service = service_with(in_zone("UTC"));
    let seoul: Zone = "Asia/Seoul".parse().unwrap();
    let set = set_timezone(&service, &Caller::Operator, &seoul).unwrap();
    assert_eq!((set.zone.as_str(), set.next, zone(&service).as_str()), ("Asia/Seoul", None, "Asia/Seoul"));
    insert_device(&service, "pc").wait().unwrap();
    // The zone in force cancels a change.
    let utc = Zone::default();
    assert!(set_timezone(&service, &Caller::Operator, &utc).unwrap().next.is_some());
    assert_eq!(set_timezone(&service, &Caller::Operator, &seoul).unwrap().next, None);
    assert!(matches!(set_timezone(&service, &service.admin("root"), &utc), Err(Error::Forbidden)));
}
