//! Tests of the filters, of unread feedback, of dates in the log, and of the administrator's own keys.

use tidings_core::account::Caller;

use super::*;

#[test]
fn administrators_and_blacklisted_members_are_listed_alone() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage
        .tidings
        .call(&Caller::Operator, tidings_core::admin::PushBlacklist { user_id: "ben".into() })
        .unwrap();
    stage.keys(&["4", "f"]);
    stage.sees("1 administrator");
    stage.sees("★ admin");
    stage.sees_not("Ben of the library");
    stage.keys(&["f"]);
    stage.sees("1 blacklisted member");
    stage.sees("Ben of the library");
    for (columns, rows) in [(80, 24), (160, 50)] {
        stage.resize(columns, rows);
        insta::assert_snapshot!(format!("blacklisted_{columns}x{rows}"), stage.seen());
    }
    stage.resize(80, 24);
    stage.keys(&["/", "ann"]);
    stage.sees("There are none. f lists the next kind");
    stage.keys(&["Esc", "f"]);
    stage.sees("0 role holders");
    stage.keys(&["f"]);
    stage.sees("3 members");
}

#[test]
fn the_log_is_filtered_by_the_results_in_it() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["7", "r"]);
    stage.sees("/ =bad_token");
    stage.sees("1 line");
    stage.resize(160, 50);
    insta::assert_snapshot!("result_160x50", stage.seen());
    stage.keys(&["r"]);
    stage.sees("/ =success");
    stage.sees_not("401");
    stage.keys(&["r"]);
    stage.sees_not("=");
    stage.sees("401");
}

#[test]
fn each_day_of_the_log_has_its_date_once_and_the_first_line_always() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["7"]);
    assert_eq!(stage.seen().matches("11-20 ").count(), 1, "{}", stage.seen());
    stage.keys(&["m", "End"]);
    let seen = stage.seen();
    let dates =
        seen.lines().skip(4).take(18).filter(|line| line.starts_with(" 11-") || line.starts_with(" 10-"));
    let dates: Vec<&str> = dates.map(|line| &line[1..6]).collect();
    assert!(seen.lines().nth(4).unwrap().starts_with(" 1"), "{seen}");
    assert!(dates.windows(2).all(|pair| pair[0] != pair[1]), "{seen}");
    stage.keys(&["Enter"]);
    assert_eq!(stage.seen().lines().nth(4).unwrap().matches('-').count(), 2, "{}", stage.seen());
}

#[test]
fn an_error_in_the_filter_shows_with_enter_and_disappears_on_typing() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["7", "/", "14:"]);
    stage.sees_not("✗");
    stage.keys(&["Enter"]);
    stage.sees("✗ A time looks like");
    stage.keys(&["0"]);
    stage.sees_not("✗");
    stage.keys(&["Ctrl-U", "6"]);
    stage.sees_not("14:0");
    stage.keys(&["Esc", "6", "d", "never", "Enter"]);
    stage.sees("✗ Days look like");
    stage.keys(&["x"]);
    stage.sees_not("✗");
}

#[test]
fn feedback_is_new_until_it_was_read_on_this_machine() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["3"]);
    stage.sees("2 open · every type · 2 unread");
    for (columns, rows) in [(40, 12), (80, 24)] {
        stage.resize(columns, rows);
        insta::assert_snapshot!(format!("unread_{columns}x{rows}"), stage.seen());
    }
    stage.keys(&["Down", "Up"]);
    stage.sees("2 unread");
    stage.keys(&["Enter", "Esc"]);
    stage.sees("2 open · every type · 1 unread");
    assert_eq!(stage.seen().matches(" new ").count(), 1, "{}", stage.seen());
    // Beside the list, an item is read once it was left.
    stage.resize(160, 50);
    stage.keys(&["Down"]);
    stage.sees("1 unread");
    stage.keys(&["Up"]);
    stage.sees_not("unread");
    assert_eq!(stage.sources.read.ids().unwrap().len(), 2);
    // A new program knows it, and done feedback needs no reading.
    stage.state = State::new(Title::database(DATABASE), true, (80, 24), &stage.watch.look());
    let first = stage.state.start();
    stage.perform(first);
    let ben = Caller::acting_as(&stage.tidings, "ben").unwrap();
    data::wrote(&stage.tidings, &ben, None, "bug", "Another one.");
    stage.tick(1_000);
    stage.keys(&["3"]);
    stage.sees("3 open · every type · 1 unread");
    stage.keys(&["g", "d"]);
    stage.sees("2 open · every type");
    stage.sees_not("unread");
}

#[test]
fn posts_are_the_popular_ones_the_newest_those_of_a_topic_or_of_a_search() {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    stage.keys(&["5"]);
    stage.sees("The popular feed · the first 4");
    stage.sees("Rank");
    stage.keys(&["f"]);
    stage.sees("All posts, newest first · the first 4");
    stage.sees_not("Rank");
    let titles = |stage: &Stage| -> Vec<String> {
        let seen = stage.seen();
        let lines = seen.lines().skip(4).map(str::trim).take_while(|line| !line.is_empty());
        lines.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
    };
    let newest =
        ["Robotics club wins the cup", "Cafeteria: the new menu", "Scholarships for spring", "Old timetable"];
    assert_eq!(titles(&stage), newest);
    // The beginning of a name is enough, whatever its case.
    stage.keys(&["t", "cam"]);
    stage.sees("/ #cam");
    stage.sees("4 of the topic or tag, newest first");
    stage.keys(&["Enter", "Esc"]);
    stage.sees("All posts, newest first");
    stage.keys(&["/", "#nothing", "Enter"]);
    stage.sees("No post has this topic or tag. Esc clears the filter.");
    stage.keys(&["f"]);
    stage.sees("All posts, newest first");
    stage.keys(&["/", "scholarships", "Enter"]);
    stage.sees("1 found, best first");
    stage.keys(&["Esc", "f"]);
    stage.sees("The popular feed");
}
