//! Tests of who counts as a guest.

use super::*;
use crate::testing::service;

#[test]
fn crawlers_and_programs_without_a_person_are_no_visitors_unless_signed_in() {
    let service = service();
    let ann = service.member("ann");
    let bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    for program in [bot, "curl/8.5.0", "python-requests/2.31.0", "Go-http-client/2.0", "kube-probe/1.30", ""]
    {
        for caller in [&Caller::Guest, &again(&ann)] {
            service.communicate_as(caller, 1, program, ("GET", "/get_device", "/get_device", 200));
        }
    }
    let figures = service.figures();
    assert_eq!((figures.communication_avg, figures.total_visitor), (12, 1));
    assert_eq!(students(&service.today()), [("ann", 1)]);
    assert_eq!((crawled(&service).unwrap(), crate::service::stats::Stats::of(&service).crawled), (6, 6));
}

#[test]
fn the_addresses_of_an_ipv6_64_are_one_guest() {
    let service = service();
    let guest = |address: &str| Guest::new(&service, address.parse().unwrap(), AGENT.as_bytes());
    for (one, another, is_same) in [
        ("2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", true),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
        ("203.0.113.1", "::ffff:203.0.113.1", true),
        ("203.0.113.1", "::ffff:203.0.113.2", false),
        ("203.0.113.1", "203.0.113.2", false),
    ] {
        assert_eq!(guest(one) == guest(another), is_same, "{one} {another}");
        assert_eq!(guest(one).searcher() == guest(another).searcher(), is_same, "{one} {another}");
    }
}
