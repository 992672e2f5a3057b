use super::*;
use crate::base::config::Config;
use crate::record::operation::Operation as _;
use crate::search;
use crate::testing::{service, service_with};

const HOUR: i64 = DAY_MS / 24;

fn members(service: &Service) -> Vec<Caller> {
    (0..30).map(|n| service.member(&format!("member{n}"))).collect()
}

fn search(service: &Service, callers: &[Caller], term: &str) {
    for caller in callers {
        search::log(service, caller, None, term).wait().unwrap();
    }
}

/// Returns the bursts after the time for which a list is current.
fn found(service: &Service) -> Vec<(String, i64, f64, f64)> {
    service.clock().advance(1_000);
    let bursts = service.call(&Caller::Guest, GetBursts {}).unwrap().fields().search_bursts;
    bursts.into_iter().map(|burst| (burst.term, burst.count, burst.usual, burst.score)).collect()
}

#[test]
fn a_term_searched_far_more_than_before_is_a_burst() {
    let service = service();
    let members = members(&service);
    // Twelve hours with one visitor of each term.
    for hour in 0..12 {
        search(&service, &members[hour..=hour], "library");
        search(&service, &members[hour..=hour], "exam");
        service.clock().advance(HOUR);
    }
    service.clock().advance(2 * HOUR);
    assert_eq!(found(&service), []);
    search(&service, &members[..2], "library");
    search(&service, &members[..20], "exam");
    // 12 × (2 + 3) / (12 + 21), and (20 − 1.818) / √2.818.
    assert_eq!(found(&service), [("exam".to_owned(), 20, 1.82, 10.83)]);
    // All terms are searched more: the hour is busy.
    search(&service, &members, "library");
    search(&service, &members, "exams");
    let all = found(&service);
    assert!(all.iter().all(|(_, _, usual, score)| *usual > 11.0 && *score < 5.5), "{all:?}");
    service.clock().advance(3 * HOUR);
    assert_eq!(found(&service), [], "the burst is over");
}

#[test]
fn a_term_is_a_burst_from_three_independent_visitors_on() {
    let mut config = Config::default();
    config.analysis.trend_min_visitors = 4;
    config.analysis.trend_blocklist = vec!["blocked".into()];
    let service = service_with(config);
    let members = members(&service);
    let guest = |from: u8, agent: &[u8]| Guest::new(&service, Ipv4Addr::new(203, 0, from, 1).into(), agent);
    for hour in 0..3 {
        // One member in several hours, callers who are not visitors, and a network with many guests.
        search(&service, &members[..1], "mine");
        search(&service, &[Caller::Guest, Caller::Guest, Caller::Guest, Caller::Guest], "nobody");
        for agent in 0..20 {
            let guest = guest(113, format!("agent {hour} {agent}").as_bytes());
            search::log(&service, &Caller::Guest, Some(guest), "gamed").wait().unwrap();
        }
        service.clock().advance(HOUR / 2);
    }
    search(&service, &members[..3], "three");
    search(&service, &members[..5], "blocked");
    assert_eq!(found(&service), []);
    for from in 0..4 {
        search::log(&service, &Caller::Guest, Some(guest(from, b"app")), "guests").wait().unwrap();
    }
    search(&service, &members[..4], "four");
    let terms = found(&service).into_iter().map(|(term, count, ..)| (term, count)).collect::<Vec<_>>();
    assert_eq!(
        terms,
        [("four".to_owned(), 4), ("guests".to_owned(), 4)],
        "of equal scores, the most recent first"
    );
}

#[test]
fn a_list_of_bursts_is_current_for_a_second() {
    let service = service();
    let members = members(&service);
    assert_eq!(found(&service), []);
    search(&service, &members[..5], "exam");
    assert!(service.call(&Caller::Guest, GetBursts {}).unwrap().fields().search_bursts.is_empty());
    assert_eq!(found(&service).len(), 1);
    let body = service.call(&Caller::Guest, GetBursts {}).unwrap();
    let expected =
        br#"{"result":"success","search_bursts":[{"term":"exam","count":5,"usual":0.0,"score":5.0}]}"#;
    assert_eq!(body.encoded().json(), &expected[..]);
    let cached = GetBursts {}.remembered(&service).unwrap().unwrap();
    assert!(Arc::ptr_eq(&cached, body.encoded()));
    service.clock().advance(HOUR);
    assert!(GetBursts {}.remembered(&service).is_none(), "another hour is the current one");
}
