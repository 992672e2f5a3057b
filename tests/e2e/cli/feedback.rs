//! Feedback as administrators read it: an open item among many closed ones, and long texts in a narrow terminal.

use serde_json::Value;
use tidings_tests::Terminal;

use super::fixture::{Fixture, with_redactions};

/// Adds `count` closed copies of Ann's feedback, all newer than it.
fn add_closed_feedback(fixture: &Fixture, done: u32) {
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
               INSERT INTO feedback (id, type, post, member, notice, activation, date)
               SELECT '650000000000000000' || (100000 + n.i), type, 'Done ' || n.i, member, '', 0, date
               FROM feedback, n ORDER BY n.i";
    assert_eq!(fixture.sql().execute(sql, &[i64::from(done).into()]), done as usize);
}

#[test]
fn open_feedback_is_listed_even_behind_1100_closed_items() {
    let fixture = Fixture::new();
    add_closed_feedback(&fixture, 1_100);
    let open = fixture.stdout(&["feedback", "list"]);
    assert!(open.contains("Open on Sundays, too") && !open.contains("Done"), "{open}");
    let all = fixture.run(&["feedback", "list", "--all"]).succeeded();
    assert!(all.stdout.contains("Done 1100") && !all.stdout.contains("Done 100\n"), "{}", all.stdout);
    assert!(all.stderr.contains("There are more"), "{}", all.stderr);
    let lines = |args: &[&str]| -> Vec<Value> {
        let text = fixture.stdout(&[&["feedback", "list", "--ndjson"], args].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (open, all) = (lines(&[]), lines(&["--all"]));
    assert_eq!((open.len(), all.len()), (1, 1_101));
    assert_eq!((&all[0]["post"], &all[1_099]["post"]), (&"Done 1100".into(), &"Done 1".into()));
    assert_eq!(all[1_100], open[0]);
}

#[test]
fn a_long_text_is_shown_whole_on_a_narrow_terminal() {
    let fixture = Fixture::new();
    let text = "The doors of the reading room are shut at eight, whatever the notice says.\n도서관은 밤 열 시까지 \
                열려 있다고 했습니다 그런데 여덟 시에 닫습니다.";
    let _ = fixture.stdout(&["--as", "ann", "feedback", "send", text]);
    let mut command = fixture.command(&["feedback", "list", "--all"]);
    command.env("TZ", "Asia/Seoul");
    let (status, shown) = Terminal::start(command, 40).end();
    assert_eq!(status, 0, "{shown}");
    with_redactions(|| insta::assert_snapshot!(shown));
}
