//! Tests that no typed text is lost.

use super::*;

fn kept(stage: &Stage) -> Vec<(String, String)> {
    let drafts = stage.sources.drafts.all().unwrap();
    drafts.into_iter().map(|draft| (draft.title, draft.post)).collect()
}

fn typed() -> Stage {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Exam week", "Enter", "All night"]);
    stage
}

#[test]
fn typed_text_is_on_disk_after_the_next_tick() {
    let mut stage = typed();
    stage.tick(500);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
    stage.keys(&[" long"]);
    stage.tick(500);
    assert_eq!(kept(&stage)[0].1, "All night long");
}

#[test]
fn a_restarted_program_resumes_the_draft() {
    let mut stage = typed();
    stage.tick(500);
    // A new program on the same database finds the draft.
    stage.state = State::new(Title::database(DATABASE), true, (80, 24), &stage.watch.look());
    let first = stage.state.start();
    stage.perform(first);
    stage.keys(&["2"]);
    stage.sees("✎ draft");
    stage.keys(&["Enter"]);
    stage.sees("The draft of 2026-11-20 08:36");
    stage.sees("All night");
    stage.keys(&["Ctrl-S"]);
    stage.sees("● shown");
    assert_eq!(kept(&stage), []);
}

#[test]
fn closing_the_editor_asks_whether_to_save_a_draft_discard_or_publish() {
    let mut stage = typed();
    stage.keys(&["Esc"]);
    stage.sees("Leave “Exam week”?");
    stage.keys(&["Esc"]);
    stage.sees("A new notice");
    stage.keys(&["Esc", "k"]);
    stage.sees("✎ draft");
    assert_eq!(kept(&stage).len(), 1);
    stage.keys(&["e", "!", "Esc", "d"]);
    assert_eq!(kept(&stage), []);
    stage.keys(&["Up"]);
    stage.sees("There are no notices.");

    let mut stage = typed();
    stage.keys(&["Esc", "s"]);
    stage.sees("✓ Published “Exam week”.");
}

#[test]
fn an_editor_without_changes_closes_without_a_question() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Esc"]);
    stage.sees("There are no notices.");
    stage.keys(&["n", "x", "Backspace"]);
    stage.tick(500);
    stage.keys(&["Esc"]);
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
fn the_draft_of_a_removed_notice_becomes_a_new_notice() {
    let mut stage = Stage::at(Clock::fixed(NOW), |tidings, _| {
        data::notice(tidings, "Library hours", "Open until ten.", true);
    });
    stage.keys(&["2", "e", " Changed."]);
    stage.tick(500);
    stage.keys(&["Esc", "k"]);
    stage.sees("✎ edited");
    stage.keys(&["x", "y"]);
    stage.sees("✎ draft");
    stage.keys(&["e"]);
    stage.sees("Open until ten. Changed.");
    stage.keys(&["Ctrl-S"]);
    stage.sees("● shown");
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
    // A file takes the place of the directory of drafts.
    std::fs::write(stage.file("test.db.drafts"), "").unwrap();
    stage.keys(&["Esc", "k"]);
    stage.sees("A new notice");
    stage.sees("All night");
    stage.happens(Event::Stop);
    assert!(!stage.ended, "as long as there is time to wait");
    std::fs::remove_file(stage.file("test.db.drafts")).unwrap();
    stage.tick(500);
    assert_eq!(kept(&stage), [("Exam week".to_owned(), "All night".to_owned())]);
    stage.keys(&["Esc", "k"]);
    stage.sees("Saved as a draft.");
}

#[test]
fn a_notice_is_published_once_although_its_draft_cannot_be_removed() {
    let mut stage = typed();
    stage.tick(500);
    let drafts = stage.file("test.db.drafts");
    let draft = std::fs::read_dir(&drafts).unwrap().next().unwrap().unwrap().path();
    // A directory takes the place of the file.
    std::fs::remove_file(&draft).unwrap();
    std::fs::create_dir(&draft).unwrap();
    stage.keys(&["Ctrl-S"]);
    stage.sees("● shown");
    stage.sees_not("A new notice");
    let list = stage.tidings.call(&Caller::Operator, tidings_core::notice::List::default()).unwrap();
    assert_eq!(list.notices().len(), 1);
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
