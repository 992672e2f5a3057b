//! Snapshots of every screen, and of those with wide text. Another test draws every screen at every size.

use tidings_core::notice::{Draft, Insert};

use super::*;

fn each_screen(name: &str, stage: &mut Stage, keys: &[&str]) {
    for key in keys {
        stage.keys(&[*key]);
        stage.tick(0);
        let title = TITLES[stage.state.current].to_lowercase();
        insta::assert_snapshot!(format!("{name}_{title}"), stage.drawn());
    }
}

#[test]
fn an_empty_database_has_nothing_to_list() {
    let mut stage = Stage::new();
    for (key, text) in [
        ("1", "There were no requests yet."),
        ("2", "There are no notices. n writes one."),
        ("3", "There is no open feedback. a shows done items, too."),
        ("4", "No member has signed up yet."),
        ("5", "There are no posts. tidings post import FILE imports some."),
        ("6", "0 visitors · 0 visits · 0 views · 0 likes · 0 searches"),
        ("7", "There were no requests yet."),
        ("8", "Nothing was done yet."),
        ("9", "There are no sources. n adds one"),
    ] {
        stage.keys(&[key]);
        stage.tick(0);
        stage.sees(text);
    }
}

#[test]
fn of_a_campus() {
    let mut stage = Stage::campus();
    each_screen("campus", &mut stage, &["1", "2", "3", "4", "5", "6", "7", "8"]);
    // The smallest window has other parts of these.
    stage.resize(40, 12);
    for (key, title) in [("1", "overview"), ("7", "log")] {
        stage.keys(&[key]);
        insta::assert_snapshot!(format!("campus_{title}_40x12"), stage.drawn());
    }
}

#[test]
fn of_wide_texts() {
    each_screen("wide", &mut Stage::at(data::wide), &["2", "3", "4"]);
}

#[test]
fn of_what_opens_from_a_list() {
    let mut stage = Stage::campus();
    stage.keys(&["2", "Down", "Down"]);
    let mut look = |name: &str, keys: &[&str], back: &[&str]| {
        stage.keys(keys);
        stage.tick(0);
        insta::assert_snapshot!(format!("open_{name}"), stage.drawn());
        stage.keys(back);
    };
    look("notice", &["2", "Down", "Down", "Enter"], &["Esc", "Up", "Up"]);
    look("help", &["2", "?"], &["Esc"]);
    look("feedback", &["3", "a", "End", "Enter"], &["Esc", "a"]);
    look("member", &["4", "Down", "Enter"], &["Esc", "Up"]);
    look("member_searches", &["4", "Down", "Enter", "vvv"], &["VVV", "Esc", "Up"]);
    look("post", &["5", "Enter"], &["Esc"]);
    look("students", &["6", "w", "v"], &["V"]);
    look("log_filter", &["7", "/", "/insert ann"], &["Esc"]);
}

#[test]
fn each_screen_is_drawn_at_every_size() {
    let mut stage = Stage::at(data::wide);
    let draw = |stage: &mut Stage, columns, rows| {
        stage.state.ctx.size = (columns, rows);
        stage.buffer();
    };
    // Below the smallest supported size all screens look the same.
    for columns in 1..=45 {
        (1..=14).for_each(|rows| draw(&mut stage, columns, rows));
    }
    for (columns, rows) in [(300, 1), (1, 100), (300, 11), (39, 100)] {
        draw(&mut stage, columns, rows);
    }
    let narrow = (40..=58).flat_map(|columns| (12..=21).map(move |rows| (columns, rows)));
    let wide = [59, 60, 61, 79, 80, 99, 100, 101, 109, 110, 111, 160, 241, 300];
    let wide = wide
        .into_iter()
        .flat_map(|columns| [12, 13, 14, 15, 16, 19, 20, 21, 24, 33, 50, 100].map(|rows| (columns, rows)));
    let sizes: Vec<(u16, u16)> = narrow.chain(wide).collect();
    // Each of these keys opens something that covers or divides the screen.
    for (n, keys) in [&["Enter"][..], &["e"], &["?"], &["x"], &["v", "v", "v"], &["/", "가"], &["E"]]
        .into_iter()
        .enumerate()
    {
        for screen in 0..TITLES.len() {
            stage.resize(80, 24);
            stage.keys(&["Esc", "Esc", "Esc", "k", "Esc", &(screen + 1).to_string()]);
            stage.keys(keys);
            stage.tick(0);
            // Testing all combinations would take minutes, so the test covers each key with every screen and with
            // every size.
            let step = if n == 0 { 1 } else { 7 };
            for (columns, rows) in sizes.iter().skip((screen + n) % step).step_by(step) {
                draw(&mut stage, *columns, *rows);
            }
        }
    }
}

#[test]
fn a_too_small_window_says_so_and_still_quits() {
    let mut stage = Stage::new();
    stage.resize(39, 12);
    insta::assert_snapshot!(stage.seen(), @"
    This window has 39 columns and 12 rows.
    tidings needs 40 and 12: make it
    larger, or press q to quit.
    ");
    stage.keys(&["2", "n"]);
    assert_eq!(stage.state.current, 0, "nothing is done that is not seen");
    stage.keys(&["q"]);
    assert!(stage.ended);
}

#[test]
fn without_colours_no_cell_has_one() {
    let mut stage = Stage::campus();
    stage.state.ctx.theme = crate::theme::Theme::new(false);
    for screen in 1..=TITLES.len() {
        stage.keys(&[&screen.to_string()]);
        stage.tick(0);
        let buffer = stage.buffer();
        let plain = |cell: &ratatui::buffer::Cell| {
            use ratatui::style::Color::Reset;
            (cell.fg, cell.bg) == (Reset, Reset)
        };
        assert!(buffer.content.iter().all(plain), "screen {screen}");
    }
}

/// Draws the screens in the README as a terminal would; `cargo insta review` updates them.
#[test]
fn the_readme_shows_the_screens_as_they_are() {
    let mut stage = Stage::campus();
    stage.resize(110, 32);
    for (name, keys) in [("overview", &["1"][..]), ("notices", &["2", "Down", "Down", "Enter"])] {
        stage.keys(keys);
        stage.tick(0);
        let svg = super::svg::of(&stage.buffer());
        insta::assert_binary_snapshot!(&format!("readme_{name}.svg"), svg.into_bytes());
    }
}

#[test]
fn a_term_searched_more_than_usual_is_marked() {
    let mut stage = Stage::at(|tidings, _| {
        for id in ["ann", "ben", "eve"] {
            let member = data::member(tidings, id, id);
            tidings_core::search::log(tidings, &member, None, "eclipse").wait().unwrap();
        }
        let member = data::member(tidings, "joe", "joe");
        tidings_core::search::log(tidings, &member, None, "library").wait().unwrap();
    });
    stage.tick(0);
    let overview = stage.seen();
    assert!(overview.contains("▲ eclipse 3") && !overview.contains("▲ library"), "{overview}");
    stage.keys(&["6", "vvv"]);
    stage.tick(0);
    let analytics = stage.seen();
    let figures = ["eclipse", "library"].map(|term| {
        let line = analytics.lines().find(|line| line.contains(term)).unwrap();
        line.split_whitespace().skip(1).take(2).collect::<Vec<_>>()
    });
    assert_eq!(figures, [["3", "3"], ["1", "0"]]);
}

#[test]
fn a_notice_that_begins_and_ends_by_its_dates_shows_its_state() {
    let mut stage = Stage::new();
    let draft = Draft {
        visible_from: Some((NOW + 60_000).to_string()),
        visible_until: Some((NOW + 120_000).to_string()),
        topic: Some("Sea".into()),
        pinned: Some(1),
        members_only: Some(1),
        ..data::draft("Exams")
    };
    stage.call(Insert { draft });
    stage.keys(&["2"]);
    for state in ["○ later", "● pinned", "○ ended"] {
        stage.sees(state);
        stage.tick(60_000);
    }
    stage.keys(&["Enter"]).sees("on the page of Sea · for members");
}
