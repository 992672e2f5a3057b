//! Tests of the filters of members and of the log, and of unread feedback.

use super::*;

#[test]
fn administrators_and_blacklisted_members_are_listed_alone() {
    let mut stage = Stage::campus();
    stage.call(tidings_core::admin::PushBlacklist { user_id: "ben".into() });
    stage.keys(&["4", "f"]).sees("1 administrator").sees("★ admin").sees_not("Ben of the library");
    stage.keys(&["f"]).sees("1 blacklisted member").sees("Ben of the library");
    stage.keys(&["/", "ann"]).sees("There are none. f lists the next kind");
    stage.keys(&["Esc", "f"]).sees("0 role holders");
    stage.keys(&["f"]).sees("3 members");
}

#[test]
fn the_log_filters_results_dates_each_day_once_and_names_mistakes() {
    let mut stage = Stage::campus();
    stage.keys(&["7", "r"]).sees("/ =bad_token").sees("1 line");
    stage.resize(160, 50);
    stage.sees("Code Result").sees("401 bad token  ");
    stage.resize(80, 24);
    stage.keys(&["r"]).sees("/ =success").sees_not("401");
    stage.keys(&["r"]).sees_not("=").sees("401");

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

    // An error shows with Enter and disappears on typing.
    stage.keys(&["Esc", "/", "14:"]).sees_not("✗");
    stage.keys(&["Enter"]).sees("✗ A time looks like");
    stage.keys(&["0"]).sees_not("✗");
    stage.keys(&["Ctrl-U", "6"]).sees_not("14:0");
}

#[test]
fn feedback_is_new_until_it_was_read_on_this_machine() {
    let mut stage = Stage::campus();
    stage.keys(&["3"]).sees("2 open · every type · 2 unread");
    stage.keys(&["Down", "Up"]).sees("2 unread");
    stage.keys(&["Enter", "Esc"]).sees("2 open · every type · 1 unread");
    assert_eq!(stage.seen().matches(" new ").count(), 1, "{}", stage.seen());
    // Beside the list, an item is read once it was left.
    stage.resize(160, 50);
    stage.keys(&["Down"]).sees("1 unread");
    stage.keys(&["Up"]).sees_not("unread");
    assert_eq!(stage.sources.read.ids().unwrap().len(), 2);
    // A new program knows it, and done feedback needs no reading.
    let look = stage.watch.look();
    stage.reopen(Title::database(DATABASE), &look);
    let ben = Caller::acting_as(&stage.tidings, "ben").unwrap();
    data::wrote(&stage.tidings, &ben, None, "bug", "Another one.");
    stage.tick(1_000);
    stage.keys(&["3"]).sees("3 open · every type · 1 unread");
    stage.keys(&["g", "d"]).sees("2 open · every type").sees_not("unread");
}
