//! Tests of the tables of keys.

use std::collections::HashSet;

use super::*;

/// The tables that apply at the same time.
pub(crate) static TOGETHER: [&[&Table]; 13] = [
    &[&OVERVIEW, &GLOBAL],
    &[&NOTICES, &LIST, &SCROLL, &GLOBAL],
    &[&FEEDBACK, &LIST, &SCROLL, &GLOBAL],
    &[&MEMBERS, &LIST, &SCROLL, &GLOBAL],
    &[&POSTS, &LIST, &SCROLL, &GLOBAL],
    &[&LOG, &LIST, &SCROLL, &GLOBAL],
    &[&AUDIT, &LIST, &SCROLL, &GLOBAL],
    &[&SOURCES, &LIST, &SCROLL, &GLOBAL],
    &[&ANALYTICS, &SCROLL, &GLOBAL],
    &[&EDITOR],
    &[&INPUT],
    &[&HELP],
    &[&QUESTION],
];

#[test]
fn no_two_actions_have_the_same_key_at_the_same_time() {
    for tables in TOGETHER {
        let mut seen = HashSet::new();
        for binding in tables.iter().flat_map(|table| table.keys) {
            for key in binding.keys.split(' ') {
                assert!(seen.insert(key), "{key} in {}", tables[0].title);
            }
        }
    }
}

#[test]
fn analytics_moves_through_days_with_the_arrows() {
    let left = KeyEvent::new(KeyCode::Left, KeyModifiers::NONE);
    assert_eq!(find(&[&ANALYTICS, &SCROLL, &GLOBAL], &left), Some(Action::Earlier));
}

#[test]
fn keys_are_named_as_people_know_them() {
    let plain = [KeyCode::Char(' '), KeyCode::PageUp, KeyCode::F(1), KeyCode::Char('G')].map(KeyEvent::from);
    let held = KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL);
    let names: Vec<_> = [held].iter().chain(&plain).map(name).collect();
    assert_eq!(names, ["Ctrl-S", "Space", "PgUp", "F1", "G"]);
}

#[test]
fn shift_is_part_of_the_letter() {
    let event = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(find(&[&SCROLL], &event), Some(Action::Bottom));
    assert_eq!(find(&[&SCROLL], &KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL)), None);
}
