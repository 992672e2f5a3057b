//! The dates and places of notices in the editor, and the drafts of all administrators.

use tidings_core::notice::{Draft, ListDrafts, Remove, SaveDraft};

use super::*;

fn shared(stage: &Stage) -> Vec<(Option<String>, Draft)> {
    let drafts = stage.call(ListDrafts {}).drafts;
    drafts.into_iter().map(|draft| (draft.notice.map(|id| id.to_string()), draft.fields)).collect()
}

fn save(stage: &mut Stage, notice: Option<&str>, fields: Draft) {
    stage.call(SaveDraft { draft: None, notice: notice.map(str::to_owned), fields });
    stage.tick(500);
}

#[test]
fn a_notice_gets_dates_a_topic_a_pin_and_its_readers() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Exams", "Enter", "In hall 1.", "Tab", "Tab"]);
    insta::assert_snapshot!("form", stage.drawn());
    // A small window has room for the fields or the text.
    stage.resize(40, 12);
    insta::assert_snapshot!("form_40x12", stage.drawn());
    stage.resize(80, 24);
    stage.keys(&["2026-12-01", "Down", "2026-12-24 18:00", "Tab", "Sea", "Down", " ", "Down", " "]);
    stage.sees("○ will be shown later");
    stage.keys(&["Ctrl-S"]).sees("✓ Scheduled “Exams” for 2026-12-01 00:00, for members.").sees("○ later");
    let placement = &stage.notices()[0].placement;
    let [from, until] = [placement.visible_from, placement.visible_until].map(|at| at.unwrap().to_string());
    assert_eq!((from.as_str(), until.as_str()), ("2026-12-01T00:00:00.000Z", "2026-12-24T18:00:00.000Z"));
    assert_eq!((placement.topic.as_deref(), placement.pinned.activation()), (Some("Sea"), 1));
    assert_eq!(placement.members_only.activation(), 1);

    // Fields that are not changed stay, and an emptied field has no limit.
    stage.keys(&["e", "Tab", "Tab"]).sees("Edit the notice").sees("2026-12-24 18:00");
    stage.keys(&["Down", "Ctrl-U", "Down", "Down", "Down", " ", "Ctrl-S"]);
    let placement = &stage.notices()[0].placement;
    assert_eq!((placement.visible_from.is_some(), placement.visible_until), (true, None));
    assert_eq!((placement.topic.as_deref(), placement.members_only.activation()), (Some("Sea"), 0));
}

#[test]
fn a_draft_of_all_administrators_is_read_published_and_removed() {
    let mut stage = Stage::with_a_notice();
    let id = stage.notices()[0].id.to_string();
    let fields = Draft { visible_from: Some("2026-12-01".into()), pinned: Some(1), ..data::draft("Exams") };
    save(&mut stage, None, fields);
    save(&mut stage, Some(&id), Draft { post: Some("Open until eleven.".into()), ..Draft::default() });
    stage.resize(160, 50);
    stage.keys(&["g"]).sees("│ ✎ shared · 2026-11-20 08:36 · changes “Library hours”");
    stage.keys(&[" "]).sees("A draft is published");
    stage.keys(&["/", "eleven", "Enter", "p"]).sees("Publish the draft “Library hours”?");
    stage.sees("It changes the notice “Library hours”.");
    stage.keys(&["Esc"]);
    assert_eq!(&*stage.notices()[0].post, "Open until ten.");
    stage.keys(&["p", "y"]).sees("✓ Published “Library hours”.");
    assert_eq!((&*stage.notices()[0].post, shared(&stage).len()), ("Open until eleven.", 1));
    stage.keys(&["Esc", "g", "x"]).sees("Remove the draft “Exams”?");
    stage.keys(&["y"]).sees("✓ Removed the draft “Exams”.");
    assert_eq!((shared(&stage), stage.notices().len()), (vec![], 1));
    stage.keys(&["p"]).sees("This publishes a draft of all administrators.");
}

#[test]
fn a_draft_of_all_administrators_is_continued_in_the_editor() {
    let mut stage = Stage::new();
    stage.keys(&["2"]);
    save(&mut stage, None, Draft { pinned: Some(1), ..data::draft("Exams") });
    stage.keys(&["Enter"]).sees("A draft of all administrators");
    stage
        .keys(&[" Bring a pen.", "Esc", "a"])
        .sees("Saved as a draft of all administrators.")
        .sees("✎ shared");
    let drafts = shared(&stage);
    assert_eq!((drafts[0].1.post.as_deref(), drafts[0].1.pinned), (Some("In hall 1. Bring a pen."), Some(1)));
    stage.keys(&["e", " Good luck!", "Ctrl-S"]).sees("✓ Published “Exams”.");
    let notice = &stage.notices()[0];
    assert_eq!((&*notice.post, shared(&stage)), ("In hall 1. Bring a pen. Good luck!", vec![]));
    assert_eq!(notice.placement.pinned.activation(), 1);
}

#[test]
fn a_change_of_a_notice_becomes_a_draft_of_all_administrators() {
    let mut stage = Stage::with_a_notice();
    let id = stage.notices()[0].id.to_string();
    stage.keys(&["e", " Really.", "Esc", "a"]).sees("✎ shared").sees("● shown");
    assert_eq!(shared(&stage)[0].0, Some(id.clone()));
    // An empty title is not written yet, which a draft may be.
    stage.keys(&["n", "Enter", "Only a text.", "Esc", "a"]).sees("(no title yet)");
    assert_eq!((shared(&stage).len(), shared(&stage)[0].1.title.clone()), (2, None));
    stage.keys(&["n", "Esc"]);
    stage.call(Remove { notice_obi: id });
    stage.tick(500);
    stage.keys(&["/", "Really", "Enter", "p", "y"]);
    stage.sees("✗ It does not exist, or was removed in the meantime.");
    assert_eq!(shared(&stage).len(), 2);
}

#[test]
fn messages_tell_who_sees_a_notice_and_when() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Exams", "Enter", "In hall 1.", "Tab", "Tab", "2026-12-01"]);
    stage.sees("○ will be shown later");
    stage.keys(&["Ctrl-S"]).sees("✓ Scheduled “Exams” for 2026-12-01 00:00.");
    stage.keys(&[" ", " "]).sees("All readers will see it from 2026-12-01 00:00 on.");
    stage.keys(&["y"]).sees("✓ “Exams” is shown to everybody from 2026-12-01 00:00 on.");
    // The question when the editor is left says the same.
    stage.keys(&["e", "!", "Esc"]).sees("save the changes, to be seen later");
    stage.keys(&["d", "n", "Party", "Enter", "At nine.", "Tab", "Tab", "2026-12-01", "Esc"]);
    stage.sees("s  schedule it");
    stage.keys(&["d", "n", "Members", "Enter", "Only you.", "Shift-Tab", "Shift-Tab", " ", "Ctrl-S"]);
    stage.sees("✓ Published “Members” for members.");
    stage.keys(&[" ", " ", "y"]).sees("✓ “Members” is shown to members.");
    stage.keys(&["n", "Exam week", "Enter", "All night.", "Shift-Tab", " ", "Ctrl-S"]);
    stage.sees("✓ Saved “Exam week”, hidden.");
    save(&mut stage, None, Draft { visible_until: Some("2026-11-01".into()), ..data::draft("Fair") });
    stage.keys(&["/", "Fair", "Enter", "p"]).sees("It ended at 2026-11-01 00:00");
    stage.keys(&["y"]).sees("✓ Saved “Fair”; it ended at 2026-11-01 00:00.");
}

#[test]
fn a_refused_field_is_named_and_gets_the_cursor() {
    let mut stage = Stage::new();
    stage.keys(&["2", "n", "Enter", "A text.", "Ctrl-S"]).sees("✗ Title is one line of 1 to 200 characters.");
    stage.keys(&["Exams", "Ctrl-S"]).sees("✓ Published “Exams”.");
    stage.keys(&["n", "Empty", "Ctrl-S"]).sees("✗ Post has 1 to 20,000 characters").sees("A new notice");
    stage.keys(&["no more", "Tab", "Tab", "soon", "Ctrl-S"]);
    stage.sees("✗ A time looks like 2026-12-01 or 2026-12-01 09:00.").sees("Visible from   soon");
    assert_eq!(stage.notices().len(), 1);
    stage.keys(&["Ctrl-U", "2026-12-02", "Down", "2026-12-01", "Up", "Ctrl-S"]);
    stage.sees("✗ Visible until is after visible from.");
    // The cursor is in the field of the end.
    stage.keys(&["Backspace", "3", "Ctrl-S"]).sees("✓ Scheduled “Empty” for 2026-12-02 00:00.");
    assert_eq!(&*stage.notices()[0].post, "no more");
}

#[test]
fn the_text_is_written_in_the_editor_that_the_environment_names() {
    let mut stage = Stage::with_a_notice();
    stage.keys(&["e", "Ctrl-O"]);
    assert_eq!(stage.edited, ["Open until ten."]);
    stage.happens(Event::Edited(Err(Problem::new("The text is not changed: it failed."))));
    stage.sees("✗ The text is not changed: it failed.");
    stage.happens(Event::Edited(Ok("Open until\neleven.\n".into())));
    stage.keys(&["Ctrl-S"]);
    assert_eq!(&*stage.notices()[0].post, "Open until\neleven.");
}
