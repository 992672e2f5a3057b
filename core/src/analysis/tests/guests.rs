use super::*;
use crate::testing::service;

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
