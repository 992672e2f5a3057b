//! Tests of the effects of keys.

use tidings_core::feedback::{FeedbackState, ListAll};
use tidings_core::notice::Remove;
use tidings_core::{admin, member, post};

use super::*;

#[test]
fn text_is_selected_cut_pasted_and_undone() {
    let mut stage = Stage::with_a_notice();
    stage.keys(&["e", "Shift-Left", "Shift-Left", "Shift-Left", "Shift-Left", "Ctrl-X"]);
    assert_eq!(stage.copied, ["ten."]);
    stage.sees("Open until").sees_not("ten.");
    stage.keys(&["Ctrl-V", "Ctrl-V"]).sees("Open until ten.ten.");
    stage.keys(&["Ctrl-U"]).sees("Open until ten.").sees_not("ten.ten.");
    stage.happens(Event::Paste("여러\r\n줄\u{1b}[31m 👍".into()));
    stage.sees("줄[31m 👍");
}

#[test]
fn removing_asks_by_name_and_only_y_removes() {
    let mut stage = Stage::with_a_notice();
    for no in ["n", "Esc"] {
        stage.keys(&["x", "Enter", " ", "q"]).sees("Remove the notice “Library hours”?");
        stage.keys(&[no]).sees_not("Remove the notice");
        assert_eq!(stage.notices().len(), 1, "{no}");
    }
    stage.keys(&["x", "y"]).sees("✓ Removed “Library hours”.");
    assert_eq!(stage.notices().len(), 0);
    stage.keys(&["Up"]).sees("There are no notices. n writes one.");
    // Another administrator may remove it meanwhile.
    let notice_obi = data::notice(&stage.tidings, "Exam week", "All night.", true);
    stage.tick(500);
    stage.keys(&["x"]);
    stage.call(Remove { notice_obi });
    stage.keys(&["y"]).sees("✗ It does not exist, or was removed in the meantime.");
}

#[test]
fn notices_are_filtered_and_sorted() {
    let mut stage = Stage::campus();
    let titles = |stage: &Stage| {
        let seen = stage.seen();
        let named = ["Welcome", "Maintenance", "Library", "New feeds", "Exam"];
        let mut places: Vec<_> = named.iter().filter_map(|title| Some((seen.find(title)?, *title))).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, title)| title).collect::<Vec<_>>()
    };
    for (keys, sorted) in [
        ("2", &["Welcome", "Maintenance", "Library", "New feeds", "Exam"][..]),
        ("s", &["Exam", "Library", "Maintenance", "New feeds", "Welcome"]),
        ("s", &["Welcome", "Maintenance", "Library", "New feeds", "Exam"]),
        ("s", &["Maintenance", "Welcome", "Library", "New feeds", "Exam"]),
        ("s/OPEN", &["Library", "Exam"]),
    ] {
        stage.keys(&[keys]);
        assert_eq!(titles(&stage), sorted, "{keys}");
    }
    stage.sees("newest first");
    stage.keys(&["Enter", "Esc"]);
    assert_eq!(titles(&stage).len(), 5);
}

#[test]
fn feedback_is_marked_done_or_open_and_its_notice_is_opened_with_one_key() {
    let mut stage = Stage::campus();
    stage.keys(&["3"]).sees("3Feedback!").sees("2 open · every type");
    stage.keys(&["End", "Enter"]).sees("Is the reading room open as well?");
    stage.sees("The notice it refers to").sees("closes at eight.");
    stage.keys(&["N"]).sees("closes at eight.");
    assert_eq!(stage.state.current, 1);
    stage.keys(&["3", "Esc", "d"]).sees("1 open");
    let open = stage.call(ListAll {}).feedback_list;
    assert_eq!(open.iter().filter(|item| item.activation == FeedbackState::Open).count(), 1);
    stage.keys(&["a", "End", " "]).sees("3 in all, 2 open");
    stage.keys(&["t"]).sees("type bug").sees_not("Is the reading");
    stage.keys(&["t", "t", "t"]).sees("every type");
}

#[test]
fn members_are_searched_while_typing_and_each_change_asks_by_name() {
    let mut stage = Stage::campus();
    let members = |stage: &Stage| stage.call(member::List::default()).members;
    stage.keys(&["4", "/", "libr"]).sees("1 found");
    stage.keys(&["Enter", "b"]).sees("Blacklist ben (Ben of the library)?");
    stage.keys(&["y"]).sees("× blacklisted");
    assert_eq!(members(&stage)[1].blacklisted, 1);
    stage.keys(&["b"]).sees("Remove ben (Ben of the library) from the blacklist?");
    stage.keys(&["y", "a", "y"]).sees("★ admin");
    assert_eq!((members(&stage)[1].blacklisted, members(&stage)[1].admin), (0, 1));
    stage.keys(&["a"]).sees("Revoke the administrator rights of ben");
    stage.keys(&["y", "Enter", "V", "v", "v", "v"]).sees("Robotics club");
    stage.keys(&["R"]).sees("Reset the measured interest of ben");
    stage.keys(&["y", "x", "n"]).sees("nothing");
    stage.keys(&["Esc", "x", "y"]).sees("✓ Removed the member ben.");
    assert_eq!(members(&stage).len(), 2);
    stage
        .keys(&["Esc", "a", "y"])
        .sees("✗ No administrator would be left: make another member an administrator");
}

#[test]
fn one_key_opens_the_filter_of_the_log_or_the_log_of_a_member() {
    let mut stage = Stage::campus();
    for keys in [&["/", "ben"][..], &["Esc", "4", "Down", "L"]] {
        stage.keys(keys).sees("/get_userinfo").sees_not("guest");
        assert_eq!(stage.state.current, 6);
    }
}

#[test]
fn posts_are_listed_by_feed_topic_and_search_read_and_removed() {
    let mut stage = Stage::campus();
    stage.keys(&["5"]).sees("The popular feed · the first 4").sees("Rank");
    stage.keys(&["f"]).sees("All posts, newest first · the first 4").sees_not("Rank");
    let seen = stage.seen();
    let lines = seen.lines().skip(4).map(str::trim).take_while(|line| !line.is_empty());
    let titles: Vec<&str> = lines.map(|line| line.split("  ").next().unwrap()).collect();
    let newest =
        ["Robotics club wins the cup", "Cafeteria: the new menu", "Scholarships for spring", "Old timetable"];
    assert_eq!(titles, newest);
    // The beginning of a name is enough, whatever its case.
    stage.keys(&["t", "cam"]).sees("/ #cam").sees("4 of the topic or tag, newest first");
    stage.keys(&["Enter", "Esc"]).sees("All posts, newest first");
    stage.keys(&["/", "#nothing", "Enter"]).sees("No post has this topic or tag. Esc clears the filter.");
    stage.keys(&["f"]).sees("All posts, newest first");
    stage.keys(&["/", "scholarships", "Enter"]).sees("1 found, best first");
    stage.keys(&["Esc", "f"]).sees("The popular feed");

    stage.keys(&["/", "scholarships", "Enter", "Enter"]);
    stage.sees("And a second line.").sees("topics: campus, news");
    stage.keys(&["x"]).sees("Remove the post “Scholarships for spring”?");
    stage.keys(&["y"]).sees("✓ Removed “Scholarships for spring”.");
    stage.keys(&["Down"]).sees("0 found").sees("No post has these words.");
}

#[test]
fn the_audit_trail_is_read_filtered_verified_and_continued() {
    let mut stage = Stage::at(|tidings, clock| {
        data::campus(tidings, clock);
        for _ in 0..120 {
            tidings.call(&Caller::Operator, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
            tidings.call(&Caller::Operator, admin::PopBlacklist { user_id: "ben".into() }).unwrap();
        }
    });
    stage.keys(&["8"]).sees("member.unblacklist").sees("200 records, m loads older ones");
    stage.keys(&["m"]).sees_not("m loads older ones");
    stage.keys(&["m"]).sees("· These are all records.");
    stage.keys(&["/", "notice.insert", "Enter"]).sees_not("member.unblacklist");
    stage.keys(&["Enter"]).sees("After: ");
    stage.keys(&["Esc", "v"]).sees("records are intact.");
    // A change of this process appears by itself.
    stage.keys(&["/", "Backspace", "Esc", "4", "Down", "b", "y", "8"]);
    stage.tick(1_000);
    stage.sees("member.blacklist");
}

#[test]
fn analytics_moves_through_days_and_ranges() {
    let mut stage = Stage::campus();
    stage.keys(&["6"]).sees("◀ Fri 2026-11-20 ▶");
    stage.resize(160, 50);
    stage.sees("│ terms of the last 24 hours");
    stage.resize(80, 24);
    stage.keys(&["Right"]).sees("· There are no figures for the future.");
    stage.keys(&["Left"]).sees("◀ Thu 2026-11-19 ▶").sees("24 visitors");
    stage.keys(&["d", "2026-11-18..2026-11-20", "Enter", "v"]).sees("◀ 2026-11-18..2026-11-20 ▶");
    stage.sees("2026-11-18       22");
    stage.keys(&["d", "never", "Enter"]).sees("✗ Days look like");
    stage.keys(&["x"]).sees_not("✗");
    stage.keys(&["Esc", "t", "v"]).sees("guest");
    stage.keys(&["/", "be", "Enter"]).sees("ben").sees_not("guest");
}

#[test]
fn the_shown_table_is_exported_and_overwriting_a_file_asks() {
    let mut stage = Stage::campus();
    let path = stage.file("days");
    let (name, csv) = (path.to_str().unwrap(), path.with_extension("csv"));
    let read = || std::fs::read_to_string(&csv).unwrap();
    stage.keys(&["6", "w", "E"]).sees("Export 7 rows").sees("days-2026-11-14-2026-11-20.csv");
    stage.keys(&["Ctrl-U", name, ".csv", "Enter"]);
    let expected =
        "day,visitors,visits,views,likes,searches,requests\n2026-11-20,11,41,6,1,3,41\n2026-11-19,24,";
    assert!(read().starts_with(expected), "{}", read());
    stage.keys(&["E", "Ctrl-U", name, ".csv", "Enter"]).sees("Overwrite");
    std::fs::write(&csv, "mine").unwrap();
    stage.keys(&["n"]);
    assert_eq!(read(), "mine");
    stage.keys(&["E", "Ctrl-U", name, ".csv", "Tab", "Enter"]);
    let json = std::fs::read(path.with_extension("json")).unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(rows[0]["day"], "2026-11-20");
}

#[test]
fn the_log_is_filtered_and_followed() {
    let mut stage = Stage::campus();
    stage.keys(&["7"]).sees("▶ following");
    stage.keys(&["/", "guest /insert"]).sees("401").sees_not("/get_popularity_newsfeed");
    stage.keys(&["Enter"]);
    data::asks(&stage.tidings, &Caller::Guest, 3, "/insert_post", 401);
    stage.tick(1_000);
    tidings_core::analysis::insert_device(&stage.tidings, "pc").wait().unwrap();
    stage.tick(1_000);
    stage.sees("/insert_post");
    stage.keys(&["f"]).sees("‖ paused");
    stage.keys(&["/", " x y", "Enter"]).sees("✗ One member, one path, one result and one time");
    stage.keys(&["Esc", "/", "nobody"]).sees("✗ There is no member nobody.");
}

#[test]
fn a_followed_log_shows_the_newest_line_unless_another_line_is_selected() {
    let mut stage = Stage::campus();
    let more = |stage: &mut Stage, path| {
        for from in 0..40 {
            data::asks(&stage.tidings, &Caller::Guest, from, path, 200);
        }
        tidings_core::analysis::insert_device(&stage.tidings, "pc").wait().unwrap();
        stage.tick(1_000);
        stage.tick(1_000);
    };
    stage.keys(&["7"]);
    more(&mut stage, "/get_categories");
    assert!(stage.seen().lines().nth(4).unwrap().contains("/get_categories"), "{}", stage.seen());
    stage.keys(&["Down"]);
    more(&mut stage, "/get_main_info");
    stage.sees("/get_categories");
}

#[test]
fn the_selected_item_is_copied() {
    let mut stage = Stage::campus();
    stage.keys(&["2", "y", "3", "y", "4", "y", "5", "y"]);
    assert_eq!(stage.copied[0], "Welcome\n\nThis is where the campus reads what is new.\n");
    assert_eq!(stage.copied[1..3], ["The search finds nothing for “café”.", "ann"]);
    assert!(stage.copied[3].starts_with("https://news.example.org/"));
}

#[test]
fn an_open_item_follows_changes_by_others_and_is_never_blank() {
    let mut stage = Stage::at(|tidings, _| {
        data::member(tidings, "ann", "Ann");
        data::post(tidings, "Orbits", "2026-11-19T00:00:00Z");
    });
    let list = stage.tidings.call(&Caller::Guest, post::List::default()).unwrap();
    let id = list.posts[0].id.clone();
    stage.keys(&["5"]);
    stage.tick(1_000);
    stage.keys(&["Enter"]);
    let draft = post::Draft { post: Some("Written anew.".into()), ..post::Draft::default() };
    stage.call(post::Update { post_obi: id.clone(), draft });
    stage.holds = true;
    stage.tick(1_000);
    stage.sees_not("…");
    stage.release();
    stage.tick(1_000);
    stage.sees("Written anew.");

    stage.keys(&["Esc", "4", "Enter", "v"]).sees_not("Orbits");
    let ann = Caller::acting_as(&stage.tidings, "ann").unwrap();
    post::like(&stage.tidings, &ann, &id).wait().unwrap();
    stage.tick(1_000);
    stage.sees("Orbits");
}
