//! Tests that a key never changes another notice than the one that the administrator means.

use tidings_core::notice::{Draft, Insert, SaveDraft, Visibility};

use super::*;

/// Opens the screen of notices with those of the campus, of which “Maintenance on Sunday” is hidden.
fn campus() -> Stage {
    let mut stage = Stage::campus();
    stage.keys(&["2"]);
    stage
}

/// Returns the titles of the hidden notices.
fn hidden(stage: &Stage) -> Vec<String> {
    let mut notices = stage.notices();
    notices.retain(|notice| notice.activation != Visibility::Shown);
    notices.iter().map(|notice| notice.title.to_string()).collect()
}

const MAINTENANCE: &str = "Maintenance on Sunday";

#[test]
fn space_after_saving_hides_the_saved_notice_and_publishes_no_other() {
    // Whatever is selected before, and whatever place the saved notice has.
    for sort in ["", "s", "ss", "sss"] {
        for down in 0..5 {
            let mut stage = campus();
            stage.keys(&[sort]);
            stage.keys(&vec!["Down"; down]);
            stage.keys(&["n", "Lost and found", "Enter", "At the desk.", "Ctrl-S", " "]);
            stage.sees("✓ “Lost and found” is hidden.");
            let mut titles = hidden(&stage);
            titles.sort();
            assert_eq!(titles, ["Lost and found", MAINTENANCE], "{sort} {down}");
        }
    }
}

#[test]
fn the_saved_notice_is_selected_after_its_place_has_changed() {
    let mut stage = campus();
    stage.keys(&["s", "/", "Welcome", "Enter", "e", "Tab", "Ctrl-U", "An early start", "Ctrl-S"]);
    // The filter would hide it.
    stage.sees("✓ Saved “An early start”.").sees("5 · by title");
    stage.keys(&["y", "s", "s", "y", " ", "y"]);
    assert!(stage.copied.iter().all(|text| text.starts_with("An early start\n")), "{:?}", stage.copied);
    assert_eq!((stage.copied.len(), hidden(&stage).len()), (3, 2));
}

#[test]
fn no_key_changes_a_notice_until_the_saved_one_is_selected() {
    let mut stage = campus();
    stage.keys(&["Down", "n", "Lost and found", "Enter", "At the desk."]);
    stage.holds = true;
    stage.keys(&["Ctrl-S"]);
    let is_save =
        |effect: &Effect| matches!(effect, Effect::Act(act) if matches!(act.change.kind, Kind::Save));
    let save = stage.waiting.iter().position(is_save).unwrap();
    let Effect::Act(Act { change, work }) = stage.waiting.remove(save) else { panic!("an act") };
    let result = work.run(&stage.sources);
    stage.happens(Event::Acted { change, result });
    // The editor is closed, and the list is that of before.
    for key in [" ", "x", "p", "e", "Enter"] {
        stage.waiting.retain(|effect| matches!(effect, Effect::Load { .. }));
        stage.keys(&[key]).sees("One moment");
        assert!(!stage.waiting.iter().any(|effect| matches!(effect, Effect::Act(_))), "{key}");
    }
    stage.release();
    stage.keys(&["y"]);
    assert!(stage.copied[0].starts_with("Lost and found\n"));
}

#[test]
fn showing_a_hidden_notice_asks_and_only_y_shows_it() {
    let mut stage = campus();
    stage.keys(&["Down"]);
    for no in ["n", "Esc"] {
        stage.keys(&[" "]).sees("Show the notice “Maintenance on Sunday”?");
        stage.sees("All readers will see it at once.");
        stage.keys(&["Enter", " "]).sees("Show the notice");
        stage.keys(&[no]);
        assert_eq!(hidden(&stage), [MAINTENANCE], "{no}");
    }
    stage.keys(&[" "]);
    insta::assert_snapshot!("show", stage.drawn());
    stage.keys(&["y"]).sees("✓ “Maintenance on Sunday” is shown to everybody.");
    assert!(hidden(&stage).is_empty());
}

#[test]
fn the_question_says_who_will_see_the_notice_and_when() {
    for (from, until, members_only, said) in [
        ("2026-12-01", "", 0, "All readers will see it from 2026-12-01 00:00 on."),
        ("", "", 1, "Members will see it at once."),
        ("2026-11-01", "2026-11-02", 0, "It ended at 2026-11-02 00:00, so nobody sees it"),
    ] {
        let mut stage = Stage::new();
        let draft = Draft {
            activation: Some(0),
            visible_from: Some(from.into()),
            visible_until: Some(until.into()),
            members_only: Some(members_only),
            ..data::draft("Exams")
        };
        stage.call(Insert { draft });
        stage.keys(&["2", " "]).sees(said);
    }
}

#[test]
fn a_published_or_shared_draft_stays_selected() {
    let mut stage = campus();
    stage.call(SaveDraft { draft: None, notice: None, fields: data::draft("Exams") });
    stage.tick(500);
    stage.keys(&["g", "p", "y", " "]).sees("✓ “Exams” is hidden.");
    stage.keys(&["n", "Later", "Esc", "a", "y"]);
    assert!(stage.copied[0].starts_with("Later\n"));
}
