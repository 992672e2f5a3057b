//! Tests of the effects of keys.

use tidings_core::account::Caller;
use tidings_core::feedback::FeedbackState;
use tidings_core::member;
use tidings_core::notice::Visibility;
use tidings_core::{admin, feedback, notice, post as core_post};

use super::*;

fn notices(stage: &Stage) -> Vec<(String, i64)> {
    let list = stage.tidings.call(&Caller::Operator, notice::List::default()).unwrap();
    list.notices().iter().map(|notice| (notice.title.to_string(), notice.activation.activation())).collect()
}

/// Opens the screen of notices with one notice.
fn with_a_notice() -> Stage {
    let mut stage = Stage::at(Clock::fixed(NOW), |tidings, _| {
        data::notice(tidings, "Library hours", "Open until ten.", true);
    });
    stage.keys(&["2"]);
    stage
}

#[test]
fn a_notice_is_written_and_saved() {
    let mut stage = Stage::new();
    stage.keys(&[
        "2",
        "n",
        "Exam week",
        "Enter",
        "All night",
        "Enter",
        "from Monday on.",
        "Shift-Tab",
        " ",
        "Ctrl-S",
    ]);
    assert_eq!(notices(&stage), [("Exam week".to_owned(), 0)]);
    stage.sees("✓ Saved “Exam week”, hidden.");
    stage.keys(&["Enter"]);
    stage.sees("from Monday on.");
}

#[test]
fn an_invalid_notice_is_not_saved_and_the_editor_says_why() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "A title", "Ctrl-S"]);
    assert_eq!(notices(&stage), []);
    stage.sees("✗ Post has 1 to 20,000 characters");
    stage.sees("A new notice");
    stage.keys(&["now with a text", "Ctrl-S"]);
    assert_eq!(notices(&stage), [("A title".to_owned(), 1)]);
}

#[test]
fn an_edit_changes_only_the_edited_fields() {
    let mut stage = with_a_notice();
    stage.keys(&["e", " And on Sunday.", "Ctrl-S"]);
    let list = stage.tidings.call(&Caller::Operator, notice::List::default()).unwrap();
    let notice = &list.notices()[0];
    assert_eq!((&*notice.title, &*notice.post), ("Library hours", "Open until ten. And on Sunday."));
    assert_eq!((notice.date, notice.view, notice.activation), (NOW, 0, Visibility::Shown));
}

#[test]
fn text_is_selected_cut_pasted_and_undone() {
    let mut stage = with_a_notice();
    stage.keys(&["e", "Shift-Left", "Shift-Left", "Shift-Left", "Shift-Left", "Ctrl-X"]);
    assert_eq!(stage.copied, ["ten."]);
    stage.sees("Open until");
    stage.sees_not("ten.");
    stage.keys(&["Ctrl-V", "Ctrl-V"]);
    stage.sees("Open until ten.ten.");
    stage.keys(&["Ctrl-U"]);
    stage.sees("Open until ten.");
    stage.sees_not("ten.ten.");
    stage.happens(Event::Paste("여러\r\n줄\u{1b}[31m 👍".into()));
    stage.sees("줄[31m 👍");
}

#[test]
fn a_notice_is_hidden_with_one_key_and_shown_after_a_question() {
    let mut stage = with_a_notice();
    stage.keys(&[" "]);
    stage.sees("○ hidden");
    assert_eq!(notices(&stage)[0].1, 0);
    stage.keys(&[" ", "y"]);
    stage.sees("● shown");
    assert_eq!(notices(&stage)[0].1, 1);
}

#[test]
fn removing_asks_by_name_and_only_y_removes() {
    let mut stage = with_a_notice();
    for no in ["n", "Esc"] {
        stage.keys(&["x"]);
        stage.sees("Remove the notice “Library hours”?");
        stage.keys(&["Enter", " ", "q"]);
        stage.sees("Remove the notice “Library hours”?");
        stage.keys(&[no]);
        stage.sees_not("Remove the notice");
        assert_eq!(notices(&stage).len(), 1, "{no}");
    }
    stage.keys(&["x", "y"]);
    assert_eq!(notices(&stage), []);
    stage.sees("✓ Removed “Library hours”.");
    stage.keys(&["Up"]);
    stage.sees("There are no notices. n writes one.");
}

#[test]
fn removing_a_notice_that_was_removed_meanwhile_reports_it() {
    let mut stage = with_a_notice();
    let id =
        stage.tidings.call(&Caller::Operator, notice::List::default()).unwrap().notices()[0].id.to_string();
    stage.keys(&["x"]);
    stage.tidings.call(&Caller::Operator, notice::Remove { notice_obi: id.clone() }).unwrap();
    stage.keys(&["y"]);
    stage.sees("✗ It does not exist, or was removed in the meantime.");
}

#[test]
fn notices_are_filtered_and_sorted() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    let titles = |stage: &Stage| {
        let seen = stage.seen();
        let named = ["Welcome", "Maintenance", "Library", "New feeds", "Exam"];
        let mut places: Vec<_> = named.iter().filter_map(|title| Some((seen.find(title)?, *title))).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, title)| title).collect::<Vec<_>>()
    };
    stage.keys(&["2"]);
    assert_eq!(titles(&stage), ["Welcome", "Maintenance", "Library", "New feeds", "Exam"]);
    stage.keys(&["s"]);
    assert_eq!(titles(&stage), ["Exam", "Library", "Maintenance", "New feeds", "Welcome"]);
    stage.keys(&["s"]);
    assert_eq!(titles(&stage), ["Welcome", "Maintenance", "Library", "New feeds", "Exam"], "by views");
    stage.keys(&["s"]);
    assert_eq!(titles(&stage)[0], "Maintenance");
    stage.keys(&["/", "OPEN"]);
    assert_eq!(titles(&stage), ["Library", "Exam"]);
    stage.keys(&["Enter", "Esc"]);
    assert_eq!(titles(&stage).len(), 5);
}

#[test]
fn feedback_is_marked_done_or_open_and_its_notice_is_opened_with_one_key() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["3"]);
    stage.sees("3Feedback!");
    stage.sees("2 open · every type");
    stage.keys(&["End", "Enter"]);
    stage.sees("Is the reading room open as well?");
    stage.sees("The notice it refers to");
    stage.sees("closes at eight.");
    stage.keys(&["N"]);
    assert_eq!(stage.state.current, 1);
    stage.sees("closes at eight.");
    stage.keys(&["3", "Esc", "d"]);
    stage.sees("1 open");
    let open = stage.tidings.call(&Caller::Operator, feedback::ListAll {}).unwrap().feedback_list;
    assert_eq!(open.iter().filter(|item| item.activation == FeedbackState::Open).count(), 1);
    stage.keys(&["a", "End", " "]);
    stage.sees("3 in all, 2 open");
    stage.keys(&["t"]);
    stage.sees("type bug");
    stage.sees_not("Is the reading");
    stage.keys(&["t", "t", "t"]);
    stage.sees("every type");
}

#[test]
fn members_are_searched_while_typing_and_each_change_asks_by_name() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    let members =
        |stage: &Stage| stage.tidings.call(&Caller::Operator, member::List::default()).unwrap().members;
    stage.keys(&["4", "/", "libr"]);
    stage.sees("1 found");
    stage.keys(&["Enter", "b"]);
    stage.sees("Blacklist ben (Ben of the library)?");
    stage.keys(&["y"]);
    stage.sees("× blacklisted");
    assert_eq!(members(&stage)[1].blacklisted, 1);
    stage.keys(&["b"]);
    stage.sees("Remove ben (Ben of the library) from the blacklist?");
    stage.keys(&["y", "a", "y"]);
    stage.sees("★ admin");
    assert_eq!((members(&stage)[1].blacklisted, members(&stage)[1].admin), (0, 1));
    stage.keys(&["a"]);
    stage.sees("Revoke the administrator rights of ben");
    stage.keys(&["y", "Enter", "v", "v"]);
    stage.sees("Robotics club");
    stage.keys(&["R"]);
    stage.sees("Reset the measured interest of ben");
    stage.keys(&["y", "x", "n"]);
    stage.sees("nothing");
    stage.keys(&["Esc", "x", "y"]);
    stage.sees("✓ Removed the member ben.");
    assert_eq!(members(&stage).len(), 2);
    stage.keys(&["Esc", "a", "y"]);
    stage.sees("✗ No administrator would be left: make another member an administrator");
}

#[test]
fn one_key_opens_the_log_of_a_member() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["4", "Down", "L"]);
    assert_eq!(stage.state.current, 6);
    stage.sees("/get_userinfo");
    stage.sees_not("guest");
}

#[test]
fn posts_are_searched_read_and_removed() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["5"]);
    stage.sees("The popular feed · the first 4");
    stage.keys(&["/", "scholarships", "Enter"]);
    stage.sees("1 found, best first");
    stage.keys(&["Enter"]);
    stage.sees("And a second line.");
    stage.sees("topics: campus, news");
    stage.keys(&["x"]);
    stage.sees("Remove the post “Scholarships for spring”?");
    stage.keys(&["y"]);
    stage.sees("✓ Removed “Scholarships for spring”.");
    stage.keys(&["Down"]);
    stage.sees("0 found");
    stage.sees("No post has these words.");
}

#[test]
fn the_audit_trail_is_read_filtered_verified_and_continued() {
    let mut stage = Stage::at(Clock::fixed(NOW), |tidings, clock| {
        data::campus(tidings, clock);
        for _ in 0..120 {
            tidings.call(&Caller::Operator, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
            tidings.call(&Caller::Operator, admin::PopBlacklist { user_id: "ben".into() }).unwrap();
        }
    });
    stage.keys(&["8"]);
    stage.sees("member.unblacklist");
    stage.sees("200 records, m loads older ones");
    stage.keys(&["m"]);
    stage.sees_not("m loads older ones");
    stage.keys(&["m"]);
    stage.sees("· These are all records.");
    stage.keys(&["/", "notice.insert", "Enter"]);
    stage.sees_not("member.unblacklist");
    stage.keys(&["Enter"]);
    stage.sees("After: ");
    stage.keys(&["Esc", "v"]);
    stage.sees("records are intact.");
    // A change of this process appears by itself.
    stage.keys(&["/", "Backspace", "Esc", "4", "Down", "b", "y", "8"]);
    stage.tick(1_000);
    stage.sees("member.blacklist");
}

#[test]
fn analytics_moves_through_days_and_ranges() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["6"]);
    stage.sees("◀ Fri 2026-11-20 ▶");
    stage.keys(&["Right"]);
    stage.sees("· There are no figures for the future.");
    stage.keys(&["Left"]);
    stage.sees("◀ Thu 2026-11-19 ▶");
    stage.sees("24 visitors");
    stage.keys(&["d", "2026-11-18..2026-11-20", "Enter", "v"]);
    stage.sees("◀ 2026-11-18..2026-11-20 ▶");
    stage.sees("2026-11-18       22");
    stage.keys(&["d", "never", "Enter"]);
    stage.sees("✗ Days look like");
    stage.keys(&["Esc", "t", "v"]);
    stage.sees("guest");
    stage.keys(&["/", "be", "Enter"]);
    stage.sees("ben");
    stage.sees_not("guest");
}

#[test]
fn the_shown_table_is_exported_and_overwriting_a_file_asks() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    let path = stage.file("days");
    let name = path.to_str().unwrap();
    let clear = ["Backspace"; 40];
    stage.keys(&["6", "w", "E"]);
    stage.sees("Export 7 rows");
    stage.sees("days-2026-11-14-2026-11-20.csv");
    stage.keys(&clear);
    stage.keys(&[name, ".csv", "Enter"]);
    let written = std::fs::read_to_string(path.with_extension("csv")).unwrap();
    assert!(
        written.starts_with(
            "day,visitors,visits,views,likes,searches,requests\n2026-11-20,11,41,6,1,3,41\n2026-11-19,24,"
        ),
        "{written}"
    );
    stage.keys(&["E"]);
    stage.keys(&clear);
    stage.keys(&[name, ".csv", "Enter"]);
    stage.sees("Overwrite");
    std::fs::write(path.with_extension("csv"), "mine").unwrap();
    stage.keys(&["n"]);
    assert_eq!(std::fs::read_to_string(path.with_extension("csv")).unwrap(), "mine");
    stage.keys(&["E"]);
    stage.keys(&clear);
    stage.keys(&[name, ".csv", "Tab", "Enter"]);
    let rows: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
    assert_eq!(rows[0]["day"], "2026-11-20");
}

#[test]
fn the_log_is_filtered_and_followed() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["7"]);
    stage.sees("▶ following");
    stage.keys(&["/", "guest /insert"]);
    stage.sees("401");
    stage.sees_not("/get_popularity_newsfeed");
    stage.keys(&["Enter"]);
    data::asks(&stage.tidings, &Caller::Guest, 3, "/insert_post", 401);
    stage.tick(1_000);
    tidings_core::analysis::insert_device(&stage.tidings, "pc").wait().unwrap();
    stage.tick(1_000);
    stage.sees("/insert_post");
    stage.keys(&["f"]);
    stage.sees("‖ paused");
    stage.keys(&["/", " x y", "Enter"]);
    stage.sees("✗ One member, one path, one result and one time");
    stage.keys(&["Esc", "/", "nobody"]);
    stage.sees("✗ There is no member nobody.");
}

#[test]
fn the_selected_item_is_copied() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["2", "y", "3", "y", "4", "y", "5", "y"]);
    assert_eq!(stage.copied[0], "Welcome\n\nThis is where the campus reads what is new.\n");
    assert_eq!(stage.copied[1..3], ["The search finds nothing for “café”.", "ann"]);
    assert!(stage.copied[3].starts_with("https://news.example.org/"));
}

#[test]
fn a_followed_log_shows_the_newest_line_unless_another_line_is_selected() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
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
fn one_key_on_the_overview_opens_the_filter_of_the_log() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["/", "ben"]);
    assert_eq!(stage.state.current, 6);
    stage.sees("/get_userinfo");
    stage.sees_not("guest");
}

#[test]
fn an_open_item_follows_changes_by_others_and_is_never_blank() {
    let mut stage = Stage::at(Clock::fixed(NOW), |tidings, _| {
        data::member(tidings, "ann", "Ann");
        data::post(tidings, "Orbits", "2026-11-19T00:00:00Z");
    });
    let tidings = stage.tidings.clone();
    let id = tidings.call(&Caller::Guest, core_post::List::default()).unwrap().posts[0].id.clone();
    stage.keys(&["5"]);
    stage.tick(1_000);
    stage.keys(&["Enter"]);
    let edited = core_post::Draft { post: Some("Written anew.".into()), ..core_post::Draft::default() };
    tidings.call(&Caller::Operator, core_post::Update { post_obi: id.clone(), draft: edited }).unwrap();
    stage.holds = true;
    stage.tick(1_000);
    stage.sees_not("…");
    stage.holds = false;
    let waiting = std::mem::take(&mut stage.waiting);
    stage.perform(waiting);
    stage.tick(1_000);
    stage.sees("Written anew.");

    stage.keys(&["Esc", "4", "Enter", "v"]);
    stage.sees_not("Orbits");
    let ann = Caller::acting_as(&tidings, "ann").unwrap();
    core_post::like(&tidings, &ann, &id).wait().unwrap();
    stage.tick(1_000);
    stage.sees("Orbits");
}
