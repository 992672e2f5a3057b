//! Daily reports.

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
    for (days, count) in [(0, 1), (1, 2), (366, 367)] {
        let report = ann.get(&format!("/get_everyday_analysis_days_ago/{days}")).succeeded();
        let dates = report.column("analysis", "date");
        assert!(dates.len() == count && dates.is_sorted(), "{dates:?}");
    }
    let date = day["date"].as_str().unwrap().replace('-', "/");
    let one = ann.get(&format!("/get_everyday_analysis_specific_days/{date}")).succeeded();
    assert_eq!(one.body["analysis"], today(&ann));
}
