use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::analysis::visitor::{Network, VisitorNumber};
use crate::base::config::Config;
use crate::record::id::MemberKey;
use crate::record::operation::Operation as _;
use crate::search;
use crate::service::retention;
use crate::testing::{cases, service, service_with};

const HOUR: i64 = DAY_MS / 24;

fn search(service: &Service, caller: &Caller, term: &str) {
    search::log(service, caller, None, term).wait().unwrap();
}

fn ranking(service: &Tidings) -> Vec<(String, i64)> {
    service.call(&Caller::Guest, GetRealtime {}).unwrap().fields().search_realtime
}

fn pairs(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(term, count)| ((*term).to_owned(), *count)).collect()
}

#[test]
fn ten_terms_are_ranked_in_any_case_and_width() {
    let service = service();
    for n in 0..20 {
        search(&service, &Caller::Guest, &format!("term {n}"));
    }
    search(&service, &Caller::Guest, " ｔＥｒｍ 7 ");
    assert_eq!((ranking(&service).len(), &ranking(&service)[0]), (10, &("term 7".to_owned(), 2)));
}

#[test]
fn a_search_counts_for_24_hours_to_the_millisecond() {
    let service = service();
    search(&service, &Caller::Guest, "early");
    service.clock().advance(HOUR);
    search(&service, &Caller::Guest, "late");
    search(&service, &Caller::Guest, "early");
    service.clock().advance(23 * HOUR - 1);
    assert_eq!(ranking(&service), pairs(&[("early", 2), ("late", 1)]));
    let cached = GetRealtime {}.remembered(&service).unwrap().unwrap();
    assert!(Arc::ptr_eq(&cached, service.call(&Caller::Guest, GetRealtime {}).unwrap().encoded()));
    service.clock().advance(1);
    assert!(GetRealtime {}.remembered(&service).is_none());
    assert_eq!(ranking(&service), pairs(&[("early", 1), ("late", 1)]));
    service.clock().advance(HOUR);
    assert!(ranking(&service).is_empty());
}

#[test]
fn searches_from_before_the_start_and_of_other_processes_count() {
    let service = service();
    search(&service, &Caller::Guest, "before");
    let other = Tidings::builder(service.location()).clock(service.clock().clone()).open().unwrap();
    assert_eq!(ranking(&other), pairs(&[("before", 1)]));
    search(&service, &Caller::Guest, "meanwhile");
    let versions = other.store().versions();
    let version = service.store().version(crate::store::Topic::Terms);
    versions.wait_for(crate::store::Topic::Terms, version - 1, std::time::Duration::from_secs(10), || false);
    assert_eq!(ranking(&other), pairs(&[("meanwhile", 1), ("before", 1)]));
}

#[test]
fn a_search_that_becomes_visible_late_counts_and_none_counts_twice() {
    let service = service();
    search(&service, &Caller::Guest, "early");
    assert_eq!(ranking(&service), pairs(&[("early", 1)]));
    let late = service.store().hold_horizon();
    search(&service, &Caller::Guest, "next");
    assert_eq!(ranking(&service), pairs(&[("next", 1), ("early", 1)]));
    assert_eq!(ranking(&service), pairs(&[("next", 1), ("early", 1)]), "read twice");
    service.store().write_late(late, || {
        search(&service, &Caller::Guest, "early");
        search(&service, &Caller::Guest, "late");
    });
    let counts = pairs(&[("early", 2), ("next", 1), ("late", 1)]);
    assert_eq!(ranking(&service), counts);
    service.store().release_horizon();
    assert_eq!(ranking(&service), counts);
    search(&service, &Caller::Guest, "late");
    assert_eq!(ranking(&service), pairs(&[("late", 2), ("early", 2), ("next", 1)]));
    assert_eq!(ranking(&service.reopened()), pairs(&[("late", 2), ("early", 2), ("next", 1)]));
}

#[test]
fn searches_that_no_longer_count_are_deleted() {
    let service = service();
    search(&service, &Caller::Guest, "old");
    service.clock().advance(25 * HOUR);
    search(&service, &Caller::Guest, "new");
    retention::delete_expired(&service);
    assert_eq!(service.texts("SELECT term FROM term"), ["new"]);
    // No search is mistaken for an earlier one.
    service.clock().advance(26 * HOUR);
    retention::delete_expired(&service);
    assert!(ranking(&service).is_empty());
    search(&service, &Caller::Guest, "newest");
    assert_eq!(ranking(&service), pairs(&[("newest", 1)]));
    assert_eq!(service.figures().search_count, 3, "deleted searches stay counted");
}

#[test]
fn spellings_count_together_under_the_most_frequent_one() {
    let mut config = Config::default();
    config.analysis.trend_blocklist = vec!["금지 단어".into(), "secrets".into()];
    let service = service_with(config);
    for term in ["학교식당", "학교 식당", "학교 식당", "exam", "Exams", "금지단어", "secret", "news", "new"]
    {
        search(&service, &Caller::Guest, term);
    }
    let counts = [("학교 식당", 3), ("exam", 2), ("new", 1), ("news", 1)];
    assert_eq!(ranking(&service), pairs(&counts));
    service.clock().advance(1);
    search(&service, &Caller::Guest, "exams");
    assert_eq!(ranking(&service)[0], ("exams".to_owned(), 3));
    // The spelling of a visitor is the last one of the hour.
    let ann = service.member("ann");
    for term in ["exam", "exams", "exam"] {
        search(&service, &ann, term);
    }
    assert_eq!(ranking(&service)[0], ("exam".to_owned(), 4));
    service.clock().advance(DAY_MS - 1);
    assert_eq!(ranking(&service)[0], ("exam".to_owned(), 2), "the others no longer count");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn the_ranking_agrees_with_a_recount(
        steps in proptest::collection::vec((0..3_usize, 0..9_u8, 0..2 * HOUR, any::<bool>()), 1..120),
        min_visitors in 1..6_usize,
    ) {
        let mut config = Config::default();
        config.analysis.trend_min_visitors = min_visitors;
        let service = service_with(config);
        let mut searches = Vec::new();
        for (n, (term, from, wait, reads)) in steps.into_iter().enumerate() {
            service.clock().advance(wait);
            // Six guests of one network, and three guests of three other networks.
            let guest = Guest(Some(VisitorNumber::guest(-1 - i64::from(from))), Network(u32::from(from.saturating_sub(5))));
            let term = format!("term {term}");
            search::log(&service, &Caller::Guest, Some(guest), &term).wait().unwrap();
            searches.push((service.clock().now(), n, term, from));
            if !reads {
                continue;
            }
            let now = service.clock().now();
            let mut terms = std::collections::BTreeMap::new();
            for (at, n, term, from) in searches.iter().filter(|s| s.0 > now - DAY_MS) {
                let (newest, hours) =
                    terms.entry(term.clone()).or_insert(((Timestamp::default(), 0), [(); 9].map(|()| HashSet::new())));
                *newest = (*at, *n);
                // A visitor counts once in a clock hour.
                hours[usize::from(*from)].insert(at.as_millis() / HOUR);
            }
            let mut expected = Vec::new();
            for (term, (newest, hours)) in terms {
                let searches = hours.map(|hours| i64::try_from(hours.len()).unwrap());
                let counted = searches.map(|searches| searches.min(5));
                let visitors = searches.map(|searches| usize::from(searches > 0));
                let (same, others) = counted.split_at(6);
                let (same_visitors, other_visitors) = visitors.split_at(6);
                let count = same.iter().sum::<i64>().min(100) + others.iter().sum::<i64>();
                let visitors = same_visitors.iter().sum::<usize>().min(3) + other_visitors.iter().sum::<usize>();
                if visitors >= min_visitors {
                    expected.push((count, newest, term));
                }
            }
            expected.sort_by_key(|(count, newest, _)| std::cmp::Reverse((*count, *newest)));
            let expected: Vec<_> = expected.into_iter().map(|(count, _, term)| (term, count)).collect();
            prop_assert_eq!(ranking(&service), expected);
        }
    }
}

#[test]
fn the_network_of_a_guest_is_stable_within_a_day_only() {
    let service = service();
    let on = |tidings: &Tidings, last: u8| {
        Guest::new(tidings, Ipv4Addr::new(203, 0, 113, last).into(), b"apple").searcher()
    };
    let network = |searcher| Network::of_searcher(searcher).unwrap();
    retention::start(&service).unwrap();
    let other = Tidings::builder(service.location()).clock(service.clock().clone()).open().unwrap();
    retention::start(&other).unwrap();
    assert_eq!(on(&service, 1), on(&other, 1));
    assert_ne!(on(&service, 1), on(&service, 2));
    assert_eq!(network(on(&service, 1)), network(on(&other, 2)));
    let before = network(on(&service, 1));
    service.clock().advance(2 * DAY_MS);
    assert_ne!(network(on(&service, 1)), before);
    for (one, another, same) in [
        ("203.0.113.1", "::ffff:203.0.113.200", true),
        ("203.0.113.1", "203.0.114.1", false),
        ("2001:db8:1::1", "2001:db8:1:ffff::1", true),
        ("2001:db8:1::1", "2001:db8:2::1", false),
    ] {
        let of = |address: &str| Guest::new(&service, address.parse().unwrap(), b"app").network();
        assert_eq!(of(one) == of(another), same, "{one} {another}");
    }
    assert_eq!(Network::of_searcher(MemberKey::new(7).into()), None);
}
