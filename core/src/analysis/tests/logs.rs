use super::*;
use crate::profile;
use crate::service::retention;
use crate::testing::{NOW, service, service_with};

const DAY: Window = Window { months: 0, days: 1, hours: 0 };

/// Returns the lines of a log as texts: `user_id method path status`.
fn lines(log: Result<Log>) -> Vec<String> {
    let line = |e: LogEntry| format!("{} {} {} {}", e.user_id, e.method, e.path, e.status);
    log.unwrap().log.into_iter().map(line).collect()
}

fn all(service: &Service) -> Vec<String> {
    service.settle();
    lines(log_date(service, &Caller::Operator, DAY, 1_000))
}

fn of_user(tidings: &Tidings, caller: &Caller, id: &str, limit: i64) -> Result<Log> {
    tidings.call(caller, GetLogUser { user_id: id.into(), limit })
}

#[test]
fn members_read_their_own_log_and_learn_nothing_of_others() {
    let service = service();
    let (ann, ben) = (service.member("Ann"), service.member("ben"));
    assert!(of_user(&service, &ann, "ANN", 1).is_ok());
    assert!(log_user_date(&service, &ann, "ann", DAY, 1).is_ok());
    let refused = |log: Result<Log>| log.unwrap_err().to_string();
    for other in ["Ann", "guest", "removed", "nobody"] {
        assert_eq!(refused(of_user(&service, &ben, other, 1)), "Not admin");
        assert_eq!(refused(log_user_date(&service, &ben, other, DAY, 1)), "Not admin");
    }
    // Permission is checked before the window and the limit.
    assert_eq!(refused(log_date(&service, &Caller::Guest, Window::default(), -1)), "bad token");
}

#[test]
fn a_public_log_is_readable_by_every_caller() {
    let mut config = config::Config::default();
    config.analysis.public_logs = true;
    let service = service_with(config);
    service.member("ann");
    for caller in [Caller::Guest, Caller::token("forged")] {
        assert!(log_date(&service, &caller, DAY, 1).is_ok() && of_user(&service, &caller, "ann", 1).is_ok());
        assert!(matches!(of_user(&service, &caller, "nobody", 1), Err(Error::NotFound)));
    }
}

#[test]
fn windows_reach_back_from_now_and_limits_hold() {
    let service = service();
    let ann = service.member("ann");
    // Lines of now and of 1, 24, 25 and 24 × 31 hours ago; a month ago is 2026-10-20.
    for hours in [24 * 31, 25, 24, 1, 0] {
        service.clock().advance(-hours * 3_600_000);
        service.visit(&again(&ann), 1);
        service.clock().advance(hours * 3_600_000);
    }
    let window = |(months, days, hours)| Window { months, days, hours };
    let count = |w, limit| lines(log_date(&service, &Caller::Operator, w, limit)).len();
    service.settle();
    for (given, expected) in [
        ((0, 0, 1), 2),
        ((0, 0, 24), 3),
        ((0, 1, 0), 3),
        ((0, 2, 0), 4),
        ((1, 0, 0), 5),
        ((0, 30, 0), 4),
        ((i64::MAX, 0, 0), 5),
        ((0, i64::MAX, 0), 5),
        ((0, 0, i64::MAX), 5),
    ] {
        let window = window(given);
        assert_eq!([1_000, 1, 0, i64::MAX].map(|limit| count(window, limit)), [expected, 1, 0, expected]);
        assert_eq!(lines(log_user_date(&service, &Caller::Operator, "ann", window, 1_000)).len(), expected);
    }
    for wrong in [(0, 0, 0), (1, 1, 0), (0, 1, 1), (1, 0, 1), (-1, 0, 0), (1, -1, 0)] {
        let refused = log_date(&service, &Caller::Operator, window(wrong), 1);
        assert!(matches!(refused, Err(Error::BadRequest(_))), "{wrong:?}");
    }
    assert!(matches!(of_user(&service, &Caller::Operator, "ann", -1), Err(Error::BadRequest(_))));
}

#[test]
fn at_most_the_thousand_newest_lines_are_returned() {
    let service = service();
    for _ in 0..1_100 {
        service.visit(&Caller::Guest, 1);
        service.clock().advance(1);
    }
    service.settle();
    let log = of_user(&service, &Caller::Operator, "guest", 5_000).unwrap().log;
    assert_eq!((log.len(), log[0].date, log[999].date), (1_000, NOW + 1_099, NOW + 100));
}

#[test]
fn a_removed_member_appears_as_removed_in_lines_and_paths() {
    let service = service();
    let (root, ann) = (service.admin("root"), service.member("Ann"));
    service.visit(&ann, 1);
    let (push, user) = ("/push_blacklist/{user_id}", "/get_log_user/{user_id}/{limit}");
    service.communicate(&root, 1, "GET", push, "/push_blacklist/ann");
    service.communicate(&root, 1, "GET", user, "/get_log_user/%41nn/5");
    service.communicate(&root, 1, "GET", user, "/get_log_user/guest/5");
    assert!(all(&service).contains(&"root GET /get_log_user/Ann/5 200".to_owned()), "the id as registered");

    service.remove_member("ann");
    // The line of the removal is written after it.
    service.communicate(&root, 1, "GET", "/admin_remove_user/{user_id}", "/admin_remove_user/Ann");
    let expected = [
        "root GET /admin_remove_user/removed 200",
        "root GET /get_log_user/guest/5 200",
        "root GET /get_log_user/removed/5 200",
        "root GET /push_blacklist/removed 200",
        "removed GET /get_popularity_newsfeed 200",
    ];
    assert_eq!(all(&service), expected);
    let removed = || lines(of_user(&service, &Caller::Operator, "removed", 10));
    assert_eq!(removed(), ["removed GET /get_popularity_newsfeed 200"]);
    retention::delete_expired(&service);
    assert_eq!(removed(), ["removed GET /get_popularity_newsfeed 200"]);
    assert_eq!(all(&service), expected);
    assert_eq!(service.number("SELECT count(*) FROM removed_member"), 0);

    // A new member with the same id gets none of the lines.
    service.member("ann");
    assert_eq!(lines(of_user(&service, &Caller::Operator, "ann", 10)), [""; 0]);
    service.communicate(&root, 1, "GET", push, "/push_blacklist/ann");
    assert_eq!(all(&service)[0], "root GET /push_blacklist/ann 200");
}

#[test]
fn a_member_who_revokes_the_token_or_the_account_is_still_the_caller() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    let stale = again(&ann);
    service.call(&ann, crate::account::SignOutAll {}).unwrap();
    service.communicate(&ann, 1, "GET", "/sign_out_all", "/sign_out_all");
    service.visit(&stale, 1);
    service.call(&ben, profile::Remove {}).unwrap();
    service.communicate(&ben, 1, "GET", "/remove_mine", "/remove_mine");
    let expected = [
        "removed GET /remove_mine 200",
        "guest GET /get_popularity_newsfeed 200",
        "ann GET /sign_out_all 200",
    ];
    assert_eq!(all(&service), expected);
}

#[test]
fn made_up_methods_are_stored_as_other_and_long_paths_truncated() {
    let service = service();
    let feed = Operation::new("GET", "/get_newsfeed_of_topic/{category_name}").by("BREW");
    let path = format!("/get_newsfeed_of_topic/{}", "도".repeat(1_000));
    let communication = Communication {
        caller: &Caller::Guest,
        operation: feed,
        path: &path,
        status: 405,
        result: SUCCESS,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        user_agent: b"app",
    };
    record(&service, &communication);
    let line = all(&service).remove(0);
    assert!(line.starts_with("guest other /get_newsfeed_of_topic/도도") && line.len() < 330, "{line}");
}

#[test]
fn lines_of_a_full_millisecond_continue_in_the_next() {
    let service = service();
    for _ in 0..2 {
        for _ in 0..10_000 {
            service.visit(&Caller::Guest, 1);
        }
        service.settle();
    }
    // Lines with later times exist, as if another process had written them.
    service.clock().advance(1_000);
    service.visit(&Caller::Guest, 1);
    service.settle();
    service.clock().advance(-1_000);
    service.visit(&Caller::Guest, 1);
    let lines = service.figures().communication_avg;
    assert_eq!((lines, service.number("SELECT count(*) FROM log")), (20_002, 20_002));
}

#[test]
fn processes_write_lines_of_the_same_millisecond() {
    let service = service();
    let open = || Tidings::builder(service.location()).clock(Clock::fixed(NOW)).open().unwrap();
    let others = [open(), open()];
    for n in 0..3 {
        for tidings in others.iter().chain([&service.tidings]) {
            (0..150).for_each(|_| tidings.visit(&Caller::Guest, 1));
            tidings.analysis().flush().unwrap();
        }
        let page = GetLog { limit: Some(1_000), ..GetLog::default() };
        let lines = service.call(&Caller::Operator, page).unwrap().log;
        assert_eq!(lines.len(), (450 * (n + 1)).min(1_000));
        assert!(lines.is_sorted_by(|one, next| one.place > next.place && one.entry.date >= next.entry.date));
    }
}

#[test]
fn old_lines_are_deleted() {
    let mut config = config::Config::default();
    config.analysis.log_days = 7;
    let service = service_with(config);
    service.communicate(&Caller::Guest, 1, "GET", "/get_post/{post_obi}", "/get_post/1");
    service.settle();
    for _ in 0..9 {
        service.clock().advance(DAY_MS);
        for _ in 0..700 {
            service.visit(&Caller::Guest, 1);
        }
        service.settle();
    }
    let lines = || service.number("SELECT count(*) FROM log");
    assert_eq!(lines(), 1 + 9 * 700);
    retention::delete_expired(&service);
    // Lines of exactly seven days ago still exist.
    assert_eq!(lines(), 8 * 700);
    assert_eq!(service.figures().communication_avg, 1 + 9 * 700, "counters stay");
    service.communicate(&Caller::Guest, 1, "GET", "/get_post/{post_obi}", "/get_post/1");
    assert_eq!(all(&service)[0], "guest GET /get_post/1 200");
}

#[test]
fn a_failed_commit_neither_loses_nor_mixes_up_lines() {
    let service = service();
    let feed = |name: &str| {
        let path = format!("/get_newsfeed_of_topic/{name}");
        service.communicate(&Caller::Guest, 1, "GET", "/get_newsfeed_of_topic/{category_name}", &path);
        service.clock().advance(1);
    };
    for name in ["a", "a", "b", "b"] {
        feed(name);
    }
    service.fail_a_commit();
    for name in ["c", "d", "b", "a"] {
        feed(name);
    }
    let expected = ["a", "b", "d", "c", "b", "b", "a", "a"];
    assert_eq!(all(&service), expected.map(|name| format!("guest GET /get_newsfeed_of_topic/{name} 200")));
    assert_eq!(service.figures().communication_avg, 8);
    assert_eq!(crate::service::stats::Stats::of(&service).records_waiting, 0);
}

#[test]
fn the_log_shows_api_keys_by_their_names_even_after_they_are_revoked() {
    use crate::account::key::{self, Scope};
    let service = service();
    let add = |name: &str| service.named_key(name, &[Scope::Posts]);
    let asks = |caller: &Caller| {
        service.communicate_as(caller, 1, AGENT, ("GET", "/get_popularity_newsfeed", "/x", 200));
        service.clock().advance(1);
    };
    let (importer, backup) = (add("Importer"), add("nightly backup"));
    asks(&importer);
    asks(&backup);
    service.settle();
    service.call(&Caller::Operator, key::Revoke { key_obi: "nightly backup".into() }).unwrap();
    // A key that was revoked is no caller.
    asks(&backup);
    asks(&Caller::Guest);
    let feed = |who: &str| format!("{who} GET /get_popularity_newsfeed 200");
    let expected = ["guest", "guest", "key:nightly backup", "key:Importer"];
    assert_eq!(all(&service), expected.map(feed));
    let of = |who: &str| lines(of_user(&service, &Caller::Operator, who, 10));
    assert_eq!(of("key:importer"), [feed("key:Importer")]);
    assert_eq!(of("guest").len(), 2);
    assert!(of_user(&service, &Caller::Operator, "key:nobody", 10).is_err());
    // A new key with the name continues its lines, and its programs are counted as guests.
    asks(&add("nightly backup"));
    service.settle();
    assert_eq!(of("key:nightly backup").len(), 2);
    assert_eq!(service.figures().total_visitor, 1);
}
