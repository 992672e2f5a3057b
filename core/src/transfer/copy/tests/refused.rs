//! Copies that are refused, cancelled or wrong.

use super::*;

fn copied_with(from: &Location, to: &Location, on_step: &mut dyn FnMut(Step, &CancelFlag)) -> Result<Report> {
    let stop = CancelFlag::default();
    copy(operator(), from, to, &mut |step| on_step(step, &stop), &stop)
}

/// Calls `change` once, when the copy is complete and not yet verified.
fn before_verification(mut change: impl FnMut()) -> impl FnMut(Step, &CancelFlag) {
    let mut is_changed = false;
    move |step, _| {
        if matches!(step, Step::Verifying { .. }) && !std::mem::replace(&mut is_changed, true) {
            change();
        }
    }
}

fn stop_at(mut n: u32) -> impl FnMut(Step, &CancelFlag) {
    move |_, stop| {
        n = n.saturating_sub(1);
        if n == 0 {
            stop.set();
        }
    }
}

fn names(places: &Places) -> Vec<String> {
    let entries = fs::read_dir(places.folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn other_names_of_the_source_a_lost_log_and_another_version_are_refused() {
    let places = Places::new();
    let (source, empty) = (places.posts("a.db"), places.file("none.db"));
    fs::write(places.path("lost.db-wal"), "log").unwrap();
    std::os::unix::fs::symlink(places.path("a.db"), places.path("link.db")).unwrap();
    let before = names(&places);
    for (from, to, text) in [
        ("a.db", "link.db", "DIR/a.db cannot be copied to itself"),
        ("a.db", "a.db.key", "DIR/a.db cannot be copied to itself"),
        ("a.db", "lost.db", "DIR/lost.db-wal already exists"),
    ] {
        let message = copied(&places.file(from), &places.file(to)).unwrap_err().to_string();
        assert_eq!(message.replace(places.folder.path().to_str().unwrap(), "DIR"), text);
    }
    for (version, text) in [(5, "start this program with it once"), (99, "use the newer program")] {
        let connection = rusqlite::Connection::open(places.path("a.db")).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let message = copied(&source, &empty).unwrap_err().to_string();
        let text = [&*format!("schema version {version}"), text];
        assert!(text.iter().all(|text| message.contains(text)), "{message}");
    }
    assert_eq!(names(&places), before);
}

#[test]
fn a_missing_row_in_a_file_is_detected() {
    let places = Places::new();
    let (source, copy) = (places.posts("a.db"), places.file("b.db"));
    let before = names(&places);
    let draft = || {
        let name = names(&places).into_iter().find(|name| name.contains(".part")).unwrap();
        places.file(&name)
    };
    let mut change =
        before_verification(|| run(&draft(), "DELETE FROM label WHERE name = (SELECT max(name) FROM label)"));
    let message = copied_with(&source, &copy, &mut change).unwrap_err().to_string();
    assert!(message.contains("in the table label: ") && message.contains(" rows instead of "), "{message}");
    assert_eq!(names(&places), before);
}

#[test]
fn a_cancelled_copy_leaves_no_file() {
    let places = Places::new();
    let (source, copy) = (places.posts("a.db"), places.file("b.db"));
    let before = names(&places);
    let (mut steps, mut cancelled) = (0, 0);
    copied_with(&source, &copy, &mut |_, _| steps += 1).unwrap();
    fs::remove_file(places.path("b.db")).unwrap();
    for n in 1..=steps {
        match copied_with(&source, &copy, &mut stop_at(n)) {
            Err(CopyError::Interrupted) => cancelled += 1,
            other => panic!("{n}: {other:?}"),
        }
        assert_eq!(names(&places), before);
    }
    assert!(cancelled > 3, "{cancelled}");
}

#[test]
fn a_wrong_derived_row_is_copied_and_reported() {
    let places = Places::new();
    let (source, copy) = (places.posts("a.db"), places.file("b.db"));
    run(&source, "UPDATE total_count SET n = n + 1 WHERE counter = 12");
    let report = copied(&source, &copy).unwrap();
    let names: Vec<&str> = report.failed.iter().map(|check| check.name).collect();
    assert_eq!(names, ["posts"]);
    assert_equal(&source, &copy);
}

#[cfg(feature = "postgres")]
mod server {
    use super::*;
    use crate::transfer::check;

    #[test]
    fn a_missing_row_on_a_server_is_detected_and_the_copy_stays_incomplete() {
        let places = &mut Places::new();
        if !is_installed("verification on PostgreSQL") {
            return;
        }
        let (source, server, back) = (places.posts("a.db"), places.server(), places.file("b.db"));
        let database = &places.server[0];
        let mut change = before_verification(|| {
            database.query("DELETE FROM label WHERE name = (SELECT max(name) FROM label)", &[]);
        });
        let message = copied_with(&source, &server, &mut change).unwrap_err().to_string();
        assert!(
            message.contains("in the table label: ") && message.contains(" rows instead of "),
            "{message}"
        );
        let incomplete = "is an incomplete copy: wait for the end of tidings store copy, or run it again";
        let (stop, context) = (CancelFlag::default(), check::Context::default());
        let checked = check::check(operator(), &server, &context, &mut |_| {}, &stop).map(drop);
        let repaired = check::repair(operator(), &server, &mut |_| {}, &stop);
        for error in [
            Store::open(&server).map(drop).unwrap_err().to_string(),
            copied(&server, &back).unwrap_err().to_string(),
            checked.unwrap_err().detail().unwrap(),
            repaired.unwrap_err().detail().unwrap(),
        ] {
            assert!(error.contains(incomplete), "{error}");
        }
        copied(&source, &server).unwrap();
        assert_equal(&source, &server);
    }

    #[test]
    fn tables_of_another_program_are_refused_and_those_of_a_started_server_replaced() {
        let places = &mut Places::new();
        if !is_installed("refused copies to PostgreSQL") {
            return;
        }
        let (source, other) = (places.posts("a.db"), places.server());
        places.server[0].query("CREATE TABLE song (title text)", &[]);
        let message = copied(&source, &other).unwrap_err().to_string();
        assert!(message.contains("has tables of another program"), "{message}");
        // Servers that were started on an empty database leave no rows.
        places.server[0].query("DROP TABLE song", &[]);
        drop(builder(&other).start().unwrap());
        copied(&source, &other).unwrap();
        assert_equal(&source, &other);
    }

    #[test]
    fn a_copy_has_the_rows_of_one_moment_while_others_write() {
        let places = &mut Places::new();
        if !is_installed("copies while others write") {
            return;
        }
        let (source, server, back) = (places.posts("a.db"), places.server(), places.file("b.db"));
        // Both rows change in one transaction, so they are always equal.
        let both = "UPDATE total_count SET n = n + 1 WHERE counter IN (901, 902)";
        let insert = "INSERT INTO total_count (counter, n) VALUES (901, 0), (902, 0)";
        run(&source, insert);
        for (from, to) in [(&source, &server), (&server, &back)] {
            let writer = Store::open(from).unwrap();
            let mut write = |_, _: &CancelFlag| {
                writer.write(Isolation::Alone, move |tx| tx.run(both, &[])).unwrap();
            };
            copied_with(from, to, &mut write).unwrap();
            let sum = "SELECT count(DISTINCT n) FROM total_count WHERE counter IN (901, 902)";
            assert_eq!(number(to, sum), 1);
            let n = "SELECT n FROM total_count WHERE counter = 901";
            assert!(number(from, n) > number(to, n), "it was written during the copy");
        }
    }
}
