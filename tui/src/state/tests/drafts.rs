//! Tests that no typed text is lost.

use super::*;

fn kept(stage: &Stage) -> Vec<(String, String)> {
    let drafts = stage.tidings.call(&Caller::Operator, tidings_core::notice::ListDrafts {}).unwrap().drafts;
    let text = |text: Option<String>| text.unwrap_or_default();
    drafts.into_iter().map(|draft| (text(draft.fields.title), text(draft.fields.post))).collect()
}

fn typed() -> Stage {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Exam week", "Enter", "All night"]);
    stage
}

#[test]
fn closing_the_editor_asks_whether_to_save_a_draft_discard_or_publish() {
    let mut stage = typed();
    stage.keys(&["Esc"]);
    stage.sees("Leave “Exam week”?");
    stage.keys(&["Esc"]);
    stage.sees("A new notice");
    stage.keys(&["Esc", "a"]);
    stage.sees("✎ shared");
    assert_eq!(kept(&stage).len(), 1);
    stage.keys(&["e", "!", "Esc", "d"]);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);

    let mut stage = typed();
    stage.keys(&["Esc", "s"]);
    stage.sees("✓ Published “Exam week”.");
    let mut stage = typed();
    stage.keys(&["Esc", "d"]);
    stage.sees("There are no notices.");
}

#[test]
fn an_editor_without_changes_closes_without_a_question() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Esc"]);
    stage.sees("There are no notices.");
    stage.keys(&["n", "x", "Backspace", "Esc"]);
    stage.sees("There are no notices.");
    assert_eq!(kept(&stage), []);
}

#[test]
fn quitting_with_unsaved_text_asks_and_saves_a_draft() {
    let mut stage = typed();
    stage.click(4, 0);
    assert_eq!(stage.state.current, 0);
    stage.keys(&["q"]);
    stage.sees("Quit with a notice that is not saved?");
    stage.keys(&["n"]);
    assert!(!stage.ended);
    stage.keys(&["q", "y"]);
    assert!(stage.ended);
    assert_eq!(kept(&stage).len(), 1);
}

#[test]
fn a_signal_saves_the_draft_before_the_program_ends() {
    let mut stage = typed();
    stage.happens(Event::Stop);
    assert!(stage.ended);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
}

#[test]
fn keys_pressed_while_a_notice_is_saved_do_not_change_it() {
    let mut stage = typed();
    stage.holds = true;
    stage.keys(&["Ctrl-S", " later"]);
    stage.happens(Event::Paste("pasted".into()));
    stage.sees("All night");
    stage.sees_not("later");
    stage.sees_not("pasted");
    stage.holds = false;
    let waiting = std::mem::take(&mut stage.waiting);
    stage.perform(waiting);
    stage.sees("● shown");
    assert_eq!(kept(&stage), []);
}

#[test]
fn a_draft_that_cannot_be_saved_stays_in_the_editor() {
    let mut stage = typed();
    stage.happens(Event::Paste("!".repeat(20_001)));
    stage.happens(Event::Stop);
    stage.sees("✗ Post has 1 to 20,000 characters");
    assert!(!stage.ended, "as long as there is time to wait");
    assert_eq!(kept(&stage), []);
}

#[test]
fn a_time_that_cannot_be_read_does_not_keep_the_draft_from_being_saved() {
    let mut stage = typed();
    stage.keys(&["Tab", "Tab", "soon"]);
    stage.happens(Event::Stop);
    assert!(stage.ended);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
}

#[test]
fn quitting_in_a_too_small_window_saves_the_draft() {
    let mut stage = typed();
    stage.resize(38, 10);
    stage.keys(&["q"]);
    assert!(stage.ended);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
}

#[test]
fn the_editor_lists_its_keys() {
    let mut stage = typed();
    stage.keys(&["F1"]);
    stage.sees("undo");
    stage.keys(&["Esc"]);
    stage.sees("All night");
}
