use super::*;
use crate::testing::{draft, publish, service};

const HOUR_MS: i64 = 60 * 60 * 1_000;

fn act(service: &Service, ann: &Caller, post: &str) {
    service.visit(&again(ann), 0);
    service.visit(&Caller::Guest, 1);
    crate::post::view(service, &Caller::Guest, post).wait().unwrap();
    crate::post::like(service, ann, post).wait().unwrap();
    crate::post::unlike(service, ann, post).wait().unwrap();
    crate::search::log(service, ann, None, "rust").wait().unwrap();
    insert_device(service, "mobile").wait().unwrap();
    service.settle();
}

fn post(service: &Service) -> String {
    publish(service, draft("t", "https://a.b/"))
}

#[test]
fn today_is_compared_with_yesterday_at_the_same_time() {
    let service = service();
    let (ann, post) = (service.member("ann"), post(&service));
    let now = |service: &Service| live(service, &Caller::Operator).unwrap();
    assert!(matches!(live(&service, &ann), Err(Error::Forbidden)));
    let once = Sums { visitor: 2, guest_visit: 1, member_visit: 1, view: 1, like: 1, search: 1 };
    act(&service, &ann, &post);
    let first = now(&service);
    assert_eq!((first.today, first.yesterday, first.member_visitor), (once, Sums::default(), 1));
    assert_eq!((first.hour, first.hours[8], first.devices.mobile), (8, 2, 1));

    // Acts at 08:36 and again at 09:36. The next day, it is 08:00 first, then later.
    service.clock().advance(HOUR_MS);
    act(&service, &ann, &post);
    service.clock().advance(23 * HOUR_MS - 36 * 60_000);
    assert_eq!(now(&service).yesterday, Sums::default(), "the hour of the acts has just begun");
    assert_eq!(now(&service).today, Sums::default());
    service.clock().advance(HOUR_MS);
    assert_eq!(now(&service).yesterday, once, "the hour is over");
    service.clock().advance(HOUR_MS);
    let twice = Sums { visitor: 2, guest_visit: 2, member_visit: 2, view: 2, like: 2, search: 2 };
    let third = now(&service);
    assert_eq!((third.yesterday, third.hours_yesterday[8], third.hours_yesterday[9]), (twice, 2, 2));
    let month: Vec<_> =
        third.month.iter().rev().take(3).map(|day| (day.date.as_str(), day.visitor)).collect();
    assert_eq!(month, [("2026-11-21", 0), ("2026-11-20", 2), ("2026-11-19", 0)]);
    assert_eq!(third.month.len(), 30);
}

#[test]
fn a_period_adds_up_its_days() {
    let service = service();
    let (ann, post) = (service.member("ann"), post(&service));
    act(&service, &ann, &post);
    service.clock().advance(24 * HOUR_MS);
    act(&service, &ann, &post);
    service.visit(&Caller::Guest, 2);
    service.settle();
    let of = |first: &str, last: &str| {
        service.call(&Caller::Operator, GetPeriod { first: first.into(), last: last.into() }).unwrap()
    };
    let both = of("2026-11-19", "2026-11-21");
    let day = |date: &str, visitor, visit, n| DayFigures {
        date: date.into(),
        visitor,
        visit,
        view: n,
        like: n,
        search: n,
        communication: visitor,
    };
    let days = [day("2026-11-19", 0, 0, 0), day("2026-11-20", 2, 2, 1), day("2026-11-21", 3, 3, 1)];
    assert_eq!(both.days, days);
    assert_eq!((both.hours[8], both.hours.iter().sum::<i64>()), (5, 5));
    let students: Vec<_> = both.students.iter().map(|s| (s.student_num.as_str(), s.count)).collect();
    assert_eq!(students, [("guest", 3), ("ann", 2)]);
    assert_eq!(both.devices, Devices { pc: 0, tablet: 0, mobile: 2 });
    let one = of("2026-11-20", "2026-11-20");
    assert_eq!((one.days.len(), one.devices.mobile), (1, 1));
}

#[test]
fn a_period_has_at_most_366_days() {
    let service = service();
    let from = |first: &str| {
        service.call(&Caller::Operator, GetPeriod { first: first.into(), last: "2026-11-21".into() })
    };
    assert!(matches!(from("2025-11-20"), Err(Error::BadRequest(_))));
    assert_eq!(from("2025-11-21").unwrap().days.len(), 366);
}

#[test]
fn yesterdays_current_hour_counts_by_the_share_that_has_passed_on_the_wall_clock() {
    for (zone, time, counted) in [
        ("UTC", "09:30", 4),
        ("Asia/Kolkata", "03:45", 2),
        ("Asia/Kathmandu", "03:30", 2),
        ("Australia/Lord_Howe", "22:15", 2),
    ] {
        let mut config = config::Config::default();
        config.analysis.timezone = Some(zone.parse().unwrap());
        let at = Timestamp::parse(&format!("2026-11-20T{time}:00Z")).unwrap();
        let service = crate::testing::service_at(at, config);
        for _ in 0..8 {
            crate::search::log(&service, &Caller::Guest, None, "rust").wait().unwrap();
        }
        // The searches were at 09:15 or 09:30 yesterday; it is the same time today.
        service.clock().advance(24 * HOUR_MS);
        let live = live(&service, &Caller::Operator).unwrap();
        assert_eq!((live.hour, live.yesterday.search), (9, counted), "{zone}");
    }
}
