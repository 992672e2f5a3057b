//! The frame around the screens: switching, help, the mouse, slow requests and quitting.

use tidings_core::account::Members;

use super::*;

#[test]
fn numbers_tab_and_mouse_switch_screens() {
    let mut stage = Stage::new();
    for (i, key) in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "Tab"].iter().enumerate() {
        stage.keys(&[key]);
        assert_eq!(stage.state.current, i % 9);
    }
    stage.keys(&["Shift-Tab"]);
    assert_eq!(stage.state.current, 8);
    let at = stage.seen().lines().next().unwrap().find("Members").unwrap();
    stage.click(u16::try_from(at).unwrap(), 0);
    assert_eq!(stage.state.current, 3);
    stage.keys(&["Esc", "Left", "Esc"]);
    assert_eq!(stage.state.current, 3, "a list stays open");
    // Some terminals report released keys.
    let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Char('2')) };
    stage.happens(Event::Key(released));
    assert_eq!(stage.state.current, 3);
}

#[test]
fn help_lists_the_keys_of_the_screen_and_closes() {
    let mut stage = Stage::new();
    stage.resize(80, 50);
    for open in ["?", "F1"] {
        stage.keys(&["2", open]).sees("Keys: Notices").sees("show or hide").sees("Ctrl-Z");
        stage.keys(&["2", "n"]).sees("Keys: Notices");
        stage.keys(&["Esc"]).sees_not("Keys: Notices");
    }
    stage.resize(80, 12);
    stage.keys(&["?"]).sees("more ↓");
    stage.keys(&["PgDn"; 6]).sees("quit").sees_not("more ↓");
}

#[test]
fn the_mouse_selects_opens_scrolls_and_presses_the_keys_in_the_footer() {
    let mut stage = Stage::campus();
    stage.keys(&["2"]);
    let row = stage.seen().lines().position(|line| line.contains("New feeds")).unwrap();
    let row = u16::try_from(row).unwrap();
    stage.click(5, row);
    stage.sees("Welcome");
    stage.click(5, row);
    stage.sees("Posts are recommended by what you read.");
    stage.keys(&["7"]);
    for (kind, is_seen) in [(MouseEventKind::ScrollDown, false), (MouseEventKind::ScrollUp, true)] {
        let scrolled = MouseEvent { kind, column: 9, row: 9, modifiers: KeyModifiers::NONE };
        for _ in 0..8 {
            stage.happens(Event::Mouse(scrolled));
        }
        assert_eq!(stage.seen().contains("401"), is_seen, "{kind:?}");
    }
    stage.keys(&["2", "Esc"]);
    let foot = stage.seen().lines().last().unwrap().to_owned();
    stage.click(u16::try_from(foot.find("n new").unwrap()).unwrap(), 23);
    stage.sees("A new notice");
}

#[test]
fn a_slow_request_is_shown_and_cancelled_and_its_late_answer_is_dropped() {
    let mut stage = Stage::campus();
    stage.holds = true;
    stage.keys(&["4"]);
    stage.tick(299);
    stage.sees_not("loading");
    stage.tick(1);
    stage.sees("loading … Esc cancels");
    // Keys still work.
    stage.keys(&["?", "Esc", "Esc"]).sees("Cancelled; Ctrl-L reloads.");
    stage.tick(1_000);
    stage.sees_not("loading");
    stage.release();
    stage.sees_not("Ben of the library");
    stage.keys(&["Ctrl-L"]).sees("Ben of the library");
}

#[test]
fn only_the_answer_to_the_latest_request_counts_in_whatever_order_answers_arrive() {
    let mut stage = Stage::campus();
    stage.keys(&["4"]);
    stage.holds = true;
    stage.keys(&["/", "an", "n"]);
    stage.holds = false;
    let asked = std::mem::take(&mut stage.waiting).into_iter().map(|effect| match effect {
        Effect::Load { number, query } => Event::Loaded { number, answer: query.run(&stage.sources) },
        other => panic!("{other:?}"),
    });
    let asked: Vec<Event> = asked.collect();
    let is_list =
        |event: &&Event| matches!(event, Event::Loaded { answer: Ok(list), .. } if list.is::<Members>());
    assert_eq!(asked.iter().filter(is_list).count(), 3);
    asked.into_iter().rev().for_each(|late| stage.happens(late));
    stage.sees("1 found").sees("Ann");
}

#[test]
fn changes_show_with_the_next_tick_and_without_changes_nothing_is_loaded() {
    let mut stage = Stage::new();
    stage.keys(&["2"]).sees("There are no notices.");
    data::notice(&stage.tidings, "From elsewhere", "Now.", true);
    stage.tick(500);
    stage.sees("From elsewhere");
    for screen in ["1", "2", "3", "4", "5", "6", "7", "9"] {
        stage.keys(&[screen]);
        stage.tick(1_000);
        stage.holds = true;
        stage.tick(1_000);
        assert!(stage.waiting.is_empty(), "{screen}: {:?}", stage.waiting);
        stage.holds = false;
    }
}

#[test]
fn a_failure_of_the_database_is_shown_and_the_screens_go_on() {
    let mut stage = Stage::campus();
    stage.holds = true;
    stage.keys(&["2", "Ctrl-L"]);
    let Some(Effect::Load { number, .. }) = stage.waiting.pop() else { panic!("nothing was asked") };
    stage.happens(Event::Loaded { number, answer: Err(Problem::new("The disk is full: make room.")) });
    stage.sees("✗ The disk is full: make room.");
    stage.holds = false;
    stage.keys(&["Ctrl-L"]).sees_not("disk is full");
}

#[test]
fn quitting_waits_for_running_changes_unless_pressed_twice() {
    let begin = || {
        let mut stage = Stage::with_a_notice();
        stage.holds = true;
        stage.keys(&[" ", "q"]);
        stage
    };
    let mut stage = begin();
    stage.tick(400);
    stage.sees("saving …");
    assert!(!stage.ended);
    stage.release();
    assert!(stage.ended);
    let mut stage = begin();
    stage.keys(&["q"]);
    assert!(stage.ended);
}

#[test]
fn every_screen_can_be_suspended() {
    let mut stage = Stage::new();
    stage.keys(&["Ctrl-Z", "2", "Ctrl-Z", "n", "typed", "Ctrl-Z"]).sees("typed").sees("A new notice");
    assert_eq!(stage.suspended, 3);
}
