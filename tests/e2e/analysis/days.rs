//! Daily reports: their fields, and the time zone of their days and hours.

use tidings_core::clock::Clock;

use super::*;

#[test]
fn a_day_has_the_documented_fields_and_a_future_day_has_zeros() {
    let server = Server::start();
    let ann = server.member("ann");
    let _ = ann.get("/get_userinfo").succeeded();
    let day = today(&ann);
    let keys = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let fields =
        ["date", "today_fav", "today_student_visitor", "today_time_visitor", "today_view", "today_visitor"];
    assert_eq!(keys(&day), fields);
    assert!(["today_fav", "today_view", "today_visitor"].iter().all(|name| day[name].is_u64()), "{day}");
    assert!(day["date"].as_str().is_some_and(|date| date.len() == 10), "{day}");
    for hour in day["today_time_visitor"].as_array().unwrap() {
        assert_eq!(keys(hour), ["time", "visitor"]);
        assert!(hour["time"].is_u64() && hour["visitor"].is_u64(), "{hour}");
    }
    for student in day["today_student_visitor"].as_array().unwrap() {
        assert_eq!(keys(student), ["count", "student_num"]);
        assert!(student["count"].is_u64() && student["student_num"].is_string(), "{student}");
    }
    let future = ann.get("/get_everyday_analysis_specific_days/9999/12/31").succeeded();
    assert_eq!(keys(&future.body), ["analysis", "result"]);
    let hours: Vec<Value> = (0..24).map(|time| json!({ "time": time, "visitor": 0 })).collect();
    let zeros = json!({
        "date": "9999-12-31", "today_visitor": 0, "today_time_visitor": hours, "today_view": 0,
        "today_fav": 0, "today_student_visitor": [],
    });
    assert_eq!(future.body["analysis"], zeros);
}

#[test]
fn hours_follow_the_time_zone_even_with_a_quarter_hour_offset() {
    let server = Server::with(|serve| {
        serve.args(["--timezone", "Asia/Kathmandu"]);
    });
    // Kathmandu is at UTC+05:45 all year.
    let hour = || (Clock::system().now() + (5 * 60 + 45) * 60_000).as_millis() / 3_600_000 % 24;
    let visit = || {
        let before = hour();
        let _ = visitor(&server, &format!("apple {before}")).get("/get_device").succeeded();
        (before, hour())
    };
    // Repeats the visit if a new hour began during it.
    let there = loop {
        let (before, after) = visit();
        if before == after {
            break before;
        }
    };
    let day = today(&visitor(&server, &format!("apple {there}")));
    let hour = &day["today_time_visitor"][usize::try_from(there).unwrap()];
    assert_eq!(hour["time"], there);
    assert!(hour["visitor"].as_u64() >= Some(1), "{day}");
}

#[test]
fn the_average_is_over_all_days_since_the_first_rounded_down() {
    let mut server = Server::start();
    let _ = visitor(&server, "apple").get("/get_device").succeeded();
    server.stop();
    // Adds six visitors three days ago; there are no visitors on the days between.
    let sql = "INSERT INTO day_count (day, counter, n) SELECT min(day) - 3, 1, 6 FROM day_count;
               UPDATE total_count SET n = n + 6 WHERE counter = 1;";
    server.sql().batch(sql);
    server.restart();
    let figures = figures(&visitor(&server, "apple"));
    let of = |name: &str| figures[name].as_u64().unwrap();
    assert_eq!((of("total_visitor"), of("highest_day_visitor"), of("today_visitor")), (7, 6, 1));
    assert_eq!(of("day_avg_visitor"), 1, "7 visitors on 4 days");
}

#[test]
fn counting_in_a_second_time_zone_is_refused() {
    let one = Server::start();
    // Nothing is counted yet, so a server may choose another time zone.
    let two = Server::at(one.database(), |serve| {
        serve.args(["--timezone", "Asia/Seoul"]);
    });
    assert_eq!(one.anyone().get("/insert_device/pc").outcome(), "500 internal error");
    let _ = two.anyone().get("/insert_device/pc").succeeded();
    assert_eq!(one.anyone().get("/insert_device/pc").outcome(), "500 internal error");
    assert!(one.log().contains("Asia/Seoul"), "the cause is in the log: {}", one.log());
    // From now on the time zone is fixed.
    let refused = one.cli(["serve", "--timezone", "UTC", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert_eq!(two.anyone().get("/get_device").succeeded().body["pc"], 1);
    assert_eq!(
        figures(&two.anyone())["communication_avg"],
        2,
        "requests to the other server are not counted"
    );
}
