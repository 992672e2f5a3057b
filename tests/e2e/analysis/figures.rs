//! Visitors, visits, acts and devices.

use super::*;

#[test]
fn the_figures_agree_with_each_other_and_with_the_latest_acts() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let posts = ["One", "Two", "Three"].map(|title| insert_post(&admin, title));
    let (apple, berry) = (visitor(&server, "apple"), visitor(&server, "berry"));
    for id in &posts {
        let _ = apple.get(&format!("/post_view/{id}")).succeeded();
        let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    }
    let _ = ann.get(&format!("/post_like/{}", posts[0])).succeeded();
    let _ = ann.get(&format!("/post_unlike/{}", posts[0])).succeeded();
    let _ = admin.get(&format!("/remove_post/{}", posts[0])).succeeded();
    search(&berry, "rust");
    search(&ann, "rust");
    for device in ["pc", "mobile", "device_mobile"] {
        let _ = apple.get(&format!("/insert_device/{device}")).succeeded();
    }
    assert_eq!(apple.get("/insert_device/phone").outcome(), "400 bad request");

    // The two sign-ups count as one guest; with ann, admin, apple and berry there are five visitors. The 20
    // communications are 16 requests before the devices and 4 for devices; a report does not include its own request.
    let expected = json!({
        "day_avg_visitor": 5, "highest_day_visitor": 5, "posts_count": 2, "search_count": 2,
        "communication_avg": 20, "today_visitor": 5, "total_fav": 2, "total_view": 3, "total_visitor": 5,
    });
    assert_eq!(figures(&apple), expected);
    let day = today(&apple);
    assert_eq!(
        (&day["today_visitor"], &day["today_view"], &day["today_fav"]),
        (&json!(5), &json!(3), &json!(3))
    );
    assert_eq!(students(&day), ["guest 3", "member 2"]);
    let hours = day["today_time_visitor"].as_array().unwrap();
    assert_eq!(
        hours.iter().map(|hour| hour["time"].as_i64().unwrap()).collect::<Vec<_>>(),
        (0..24).collect::<Vec<_>>()
    );
    let in_hours: i64 = hours.iter().map(|hour| hour["visitor"].as_i64().unwrap()).sum();
    assert!((5..=10).contains(&in_hours), "a new hour may have begun: {hours:?}");
    let devices = apple.get("/get_device").succeeded().body;
    assert_eq!(devices, json!({ "result": "success", "pc": 1, "tablet": 0, "mobile": 2 }));
    assert_eq!(figures(&apple)["communication_avg"], 23);
}

#[test]
fn reports_name_no_member_to_everyone_by_default() {
    let server = Server::start();
    let admin = server.admin();
    let members = ["2024001", "2024002", "ann"].map(|id| server.member(id));
    for member in &members {
        let _ = member.get("/get_userinfo").succeeded();
    }
    let _ = admin.get("/check_admin").succeeded();
    let hidden = ["2024 2", "member 2", "guest 1"];
    assert_eq!(students(&today(&server.anyone())), hidden);
    assert_eq!(students(&today(&members[0])), ["2024 2", "member 2", "guest 1"]);
    let whole = ["2024001 1", "2024002 1", "admin 1", "ann 1", "guest 1"];
    assert_eq!(students(&today(&admin)), whole);
    let day = |args: &[&str]| {
        let shown = server.cli(args.iter().copied()).succeeded().json();
        students(&shown["analysis"])
    };
    assert_eq!(day(&["analysis", "day", "--json"]), whole);
    assert_eq!(day(&["--as", "ann", "analysis", "day", "--json"]), hidden);
}

#[test]
fn a_new_database_counts_in_the_zone_of_the_machine_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let tidings = |args: &[&str]| {
        let mut command = tidings_tests::command();
        command.env("TZ", "Asia/Kathmandu").current_dir(&directory).arg("--db");
        command.arg(tidings_tests::location(&database)).args(args);
        tidings_tests::run(command, "")
    };
    let made = tidings(&["init"]).succeeded();
    assert!(made.stdout.contains("Its time zone is Asia/Kathmandu."), "{made:?}");
    let shown = tidings(&["--json", "store", "timezone"]).succeeded().json();
    assert_eq!((&shown["zone"], &shown["next"]), (&json!("Asia/Kathmandu"), &json!(null)));
}

#[test]
fn days_follow_the_time_zone_which_stays_with_the_database_until_a_command_changes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tidings.db");
    let mut server = Server::at(&path, |serve| {
        serve.env("TIDINGS_TIMEZONE", "UTC");
    });
    let _ = server.anyone().get("/insert_device/pc").succeeded();
    server.stop();
    let refused = server.cli(["serve", "--timezone", "Asia/Seoul", "--listen", "127.0.0.1:0"]);
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("tidings store timezone Asia/Seoul"), "{refused:?}");
    let unknown = server.cli(["serve", "--timezone", "Asia/Atlantis"]);
    assert_eq!(unknown.status, 2, "{unknown:?}");
    // Without the setting, the database's time zone applies.
    drop(server);
    let server = Server::at(&path, |_| {});
    let _ = server.anyone().get("/get_device").succeeded();
    let changed = server.cli(["store", "timezone", "ROK", "--json"]).succeeded().json();
    assert_eq!(
        (&changed["zone"], &changed["next"]["zone"], &changed["is_counted"]),
        (&json!("UTC"), &json!("ROK"), &json!(true))
    );
    assert!(changed["next"]["date"].as_str().unwrap().ends_with("T15:00:00.000Z"), "{changed}");
}

#[test]
fn no_client_address_and_no_user_agent_is_stored() {
    let mut server = Server::with(|serve| {
        serve.args(["--trust-proxy", "127.0.0.1"]).env("RUST_LOG", "trace");
    });
    let (addresses, agent) = (["203.0.113.77", "2001:db8:1234:5678::77"], "AppOfNobody/7");
    let guests = addresses.map(|address| server.caller_at(address).with_header("User-Agent", agent));
    for guest in &guests {
        let _ = guest.get("/get_popularity_newsfeed").succeeded();
        search(guest, "rust");
        let refused = guest.post("/sign_in", json!({ "id": "nobody", "pw": "wrong" }));
        assert_eq!(refused.outcome(), "200 No member");
    }
    assert_eq!(figures(&guests[0])["today_visitor"], 2);
    let raw: [&[u8]; 5] = [
        &[203, 0, 113, 77],
        &[0x20, 0x01, 0x0d, 0xb8, 0x12, 0x34, 0x56, 0x78],
        addresses[0].as_bytes(),
        b"2001:db8",
        agent.as_bytes(),
    ];
    let check = |server: &Server| {
        let key = std::fs::read(server.beside(".key")).unwrap();
        for (what, bytes) in [("database", server.content()), ("key", key)] {
            for text in raw {
                assert!(!bytes.windows(text.len()).any(|part| part == text), "{text:?} in the {what}");
            }
        }
    };
    check(&server);
    let log = server.stop().log;
    assert!(!log.contains(addresses[0]) && !log.contains("2001:db8"), "{log}");
    check(&server);
}

#[test]
fn the_command_line_prints_what_http_answers() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = insert_post(&admin, "One");
    let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    search(&ann, "rust");
    assert_eq!(server.cli(["analysis", "device", "tablet"]).succeeded().stdout, "Reported one tablet.\n");
    let pairs = [
        (vec!["analysis", "summary"], "/get_analysis"),
        (vec!["analysis", "day", "2024-02-29"], "/get_everyday_analysis_specific_days/2024/2/29"),
        (vec!["analysis", "days", "2"], "/get_everyday_analysis_days_ago/1"),
        (vec!["analysis", "device"], "/get_device"),
        (vec!["search", "realtime"], "/get_search_realtime"),
        (vec!["analysis", "log", "--member", "ann", "--hours", "1"], "/get_log_user_date/ann/0/0/1/100"),
    ];
    for (command, path) in pairs {
        let http = admin.get(path).succeeded().body;
        wait_until(path, || {
            let mut command = command.clone();
            command.push("--json");
            let mut printed = server.cli(command).succeeded().json();
            // The interface documents the fields of a line; the command line adds the result and the position.
            for line in printed.get_mut("log").and_then(Value::as_array_mut).into_iter().flatten() {
                let line = line.as_object_mut().unwrap();
                assert_eq!(line.remove("result"), Some("success".into()));
                assert!(line.remove("place").is_some_and(|place| place.is_string()));
            }
            // Each request is a communication, so this counter differs between the two reports.
            let without = |mut body: Value| {
                body["analysis"]["communication_avg"].take();
                body
            };
            path == "/get_analysis" && without(printed.clone()) == without(http.clone()) || printed == http
        });
        let text = server.cli(command).succeeded().stdout;
        assert!(!text.is_empty() && !text.contains("result"), "{text}");
    }
}
