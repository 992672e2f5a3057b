//! Tests that no typed text is lost.

use super::*;

fn kept(stage: &Stage) -> Vec<(String, String)> {
    let drafts = stage.call(tidings_core::notice::ListDrafts {}).drafts;
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
    stage.keys(&["Esc"]).sees("Leave “Exam week”?");
    stage.keys(&["Esc"]).sees("A new notice");
    stage.keys(&["Esc", "a"]).sees("✎ shared");
    assert_eq!(kept(&stage).len(), 1);
    stage.keys(&["e", "!", "Esc", "d"]);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
    typed().keys(&["Esc", "s"]).sees("✓ Published “Exam week”.");
    typed().keys(&["Esc", "d"]).sees("There are no notices.");
}

#[test]
fn an_editor_without_changes_closes_without_a_question() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Esc"]).sees("There are no notices.");
    stage.keys(&["n", "x", "Backspace", "Esc"]).sees("There are no notices.");
    assert_eq!(kept(&stage), []);
}

#[test]
fn quitting_with_unsaved_text_asks_and_saves_a_draft() {
    let mut stage = typed();
    stage.click(4, 0);
    assert_eq!(stage.state.current, 0);
    stage.keys(&["q"]).sees("Quit with a notice that is not saved?");
    stage.keys(&["n"]);
    assert!(!stage.ended);
    stage.keys(&["q", "y"]);
    assert!(stage.ended);
    assert_eq!(kept(&stage).len(), 1);
}

#[test]
fn the_draft_is_saved_before_the_program_ends_without_a_question() {
    let ends: [fn(&mut Stage); 3] = [
        |stage| stage.happens(Event::Stop),
        // A time that cannot be read is not part of the draft.
        |stage| {
            stage.keys(&["Tab", "Tab", "soon"]);
            stage.happens(Event::Stop);
        },
        // The window is too small for a question.
        |stage| {
            stage.resize(38, 10);
            stage.keys(&["q"]);
        },
    ];
    for end in ends {
        let mut stage = typed();
        end(&mut stage);
        assert!(stage.ended);
        assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
    }
}

#[test]
fn keys_pressed_while_a_notice_is_saved_do_not_change_it() {
    let mut stage = typed();
    stage.holds = true;
    stage.keys(&["Ctrl-S", " later"]);
    stage.happens(Event::Paste("pasted".into()));
    stage.sees("All night").sees_not("later").sees_not("pasted");
    stage.release();
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
fn the_editor_lists_its_keys() {
    let mut stage = typed();
    stage.keys(&["F1"]).sees("undo").sees("the next field");
    stage.keys(&["Esc"]).sees("All night");
}
