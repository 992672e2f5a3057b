use super::*;
use crate::removal;
use crate::store::Isolation;
use crate::testing::{NOW, service};

fn page(service: &Service, filter: &GetLog, place: Option<LogPlace>, limit: i64) -> LogLines {
    service.call(&Caller::Operator, filter.page(place, limit)).unwrap()
}

fn shown(page: &LogLines) -> Vec<String> {
    page.log.iter().map(|line| format!("{} {}", line.entry.user_id, line.entry.path)).collect()
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// Three lines, a minute apart: Ann reads a post, a guest the popular feed, Ben a different post.
fn service_with_lines() -> Service {
    let service = service();
    let (ann, ben) = (service.member("Ann"), service.member("ben"));
    service.communicate(&ann, 0, "GET", "/get_post/{post_obi}", "/get_post/1");
    service.clock().advance(60_000);
    service.visit(&Caller::Guest, 1);
    service.clock().advance(60_000);
    service.communicate(&ben, 0, "GET", "/get_post/{post_obi}", "/get_post/2");
    service.settle();
    service
}

#[test]
fn a_page_has_the_newest_lines_and_the_next_page_continues() {
    let service = service_with_lines();
    for (filter, lines) in [
        (GetLog::default(), &["ben /get_post/2", "guest /get_popularity_newsfeed", "Ann /get_post/1"][..]),
        (GetLog { path: Some("post".into()), ..GetLog::default() }, &["ben /get_post/2", "Ann /get_post/1"]),
    ] {
        let (rest, most) = (&lines[lines.len() - 1..], i64::try_from(lines.len()).unwrap());
        let first = page(&service, &filter, None, most - 1);
        assert_eq!((shown(&first), first.looked_to.is_some()), (owned(&lines[..lines.len() - 1]), true));
        let second = page(&service, &filter, first.next, 2);
        assert_eq!((shown(&second), second.next, second.looked_to), (owned(rest), None, None));
        assert_eq!(page(&service, &filter, None, most).next, None, "a full last page has no next page");
    }
}

#[test]
fn lines_are_found_by_member_path_and_time() {
    let service = service_with_lines();
    let of = |member: &str| GetLog { member: Some(member.to_owned()), ..GetLog::default() };
    let path = |path: &str| Some(path.to_owned());
    let (since, until) = (Some((NOW + 1).to_string()), Some((NOW + 120_000).to_string()));
    let (ann, guest, ben) = ("Ann /get_post/1", "guest /get_popularity_newsfeed", "ben /get_post/2");
    let status = |status: &str| GetLog { status: Some(status.to_owned()), ..GetLog::default() };
    for (filter, lines) in [
        (of("ANN"), &[ann][..]),
        (of("guest"), &[guest]),
        (GetLog { path: path("/get_post/"), ..GetLog::default() }, &[ben, ann]),
        (GetLog { path: path("post/2"), ..of("ann") }, &[]),
        (GetLog { since, until, ..GetLog::default() }, &[guest]),
        (status("200"), &[ben, guest, ann]),
        (status("2xx"), &[ben, guest, ann]),
        (status("404"), &[]),
        (status("4XX"), &[]),
        (GetLog { member: of("ann").member, ..status("200") }, &[ann]),
    ] {
        assert_eq!(shown(&page(&service, &filter, None, 9)), lines);
    }
    for other in ["", "99", "600", "6xx", "0xx", "+20", "+2xx", "xx", "20x", "a"] {
        assert!(other.parse::<StatusFilter>().is_err(), "{other}");
    }
}

#[test]
fn a_path_that_names_a_removed_member_is_not_found_by_the_id() {
    let service = service();
    service.member("Ann");
    let user = "/get_log_user/{user_id}/{limit}";
    service.communicate(&Caller::Guest, 1, "GET", user, "/get_log_user/%41NN/5");
    service.settle();
    let of = |path: &str| {
        let filter = GetLog { path: Some(path.to_owned()), ..GetLog::default() };
        shown(&page(&service, &filter, None, 9))
    };
    assert_eq!(of("/Ann/"), ["guest /get_log_user/Ann/5"]);
    service.remove_member("ann");
    assert_eq!((of("/Ann/"), of("/%41NN/")), (vec![], vec![]));
    assert_eq!(of("/removed/"), ["guest /get_log_user/removed/5"]);
    // A new member with the same id is a different member.
    service.member("Ann");
    assert_eq!((of("/Ann/").len(), of("/removed/").len()), (0, 1));
}

#[test]
fn lines_of_many_removed_members_are_listed_in_order_and_changed_in_batches() {
    let service = service();
    for n in (0..20).rev() {
        let (id, path) = (format!("ann{n}"), format!("/get_post/{n}"));
        service.communicate(&service.member(&id), 0, "GET", "/get_post/{post_obi}", &path);
        service.clock().advance(1);
        service.settle();
        service.remove_member(&id);
    }
    let removed = GetLog { member: Some("removed".into()), ..GetLog::default() };
    let list = || {
        let (mut paths, mut place) = (Vec::new(), None);
        loop {
            let page = page(&service, &removed, place, 7);
            paths.extend(shown(&page));
            place = page.next;
            if place.is_none() {
                return paths;
            }
        }
    };
    let expected: Vec<_> = (0..20).map(|n| format!("removed /get_post/{n}")).collect();
    assert_eq!(list(), expected);
    let batch = || {
        let more = service.store().write(Isolation::Alone, |tx| removal::delete_leftovers(tx, 120));
        (more.unwrap(), service.number("SELECT count(*) FROM removed_member"))
    };
    assert_eq!(batch(), (true, 6), "a batch spans several members; the last one is processed again");
    assert_eq!(list(), expected);
    assert_eq!((batch(), list()), ((false, 0), expected));
}

#[test]
fn a_page_reads_a_limited_number_of_lines_and_reports_how_far_it_read() {
    let service = service_with_lines();
    // Lines later than all others, none of which matches.
    service.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO log (key, member, request)
         SELECT (SELECT max(key) FROM log) + i * 16384, 0,
                (SELECT key FROM request WHERE path = '/get_popularity_newsfeed') FROM n",
    );
    let posts = GetLog { path: Some("/get_post/".into()), ..GetLog::default() };
    let first = page(&service, &posts, None, 9);
    assert_eq!((first.log.len(), first.looked_to), (0, Some(NOW + 120_001)));
    let second = page(&service, &posts, first.next, 9);
    assert_eq!(shown(&second), ["ben /get_post/2", "Ann /get_post/1"]);
    assert_eq!((second.next, second.looked_to), (None, None));
}

#[test]
fn administrators_read_all_lines_and_members_their_own() {
    let service = service_with_lines();
    let ann = Caller::acting_as(&service, "ann").unwrap();
    let of = |member: &str| GetLog { member: Some(member.to_owned()), ..GetLog::default() };
    assert_eq!(shown(&service.call(&ann, of("ANN")).unwrap()), ["Ann /get_post/1"]);
    for query in [of("ben"), of("nobody"), GetLog::default()] {
        assert!(matches!(service.call(&ann, query), Err(Error::Forbidden)));
    }
    assert!(matches!(service.call(&Caller::Guest, GetLog::default()), Err(Error::BadToken)));
}
