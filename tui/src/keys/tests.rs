//! Tests of the tables of keys.

use super::*;

#[test]
fn analytics_moves_through_days_with_the_arrows() {
    let left = KeyEvent::new(KeyCode::Left, KeyModifiers::NONE);
    assert_eq!(Keymap::default().find(&[&ANALYTICS, &SCROLL, &GLOBAL], &left), Some(Action::Earlier));
}

#[test]
fn keys_are_named_as_people_know_them() {
    let names = [ctrl('s'), ch(' '), key(KeyCode::PageUp), key(KeyCode::F(1)), ch('G')].map(Chord::name);
    assert_eq!(names, ["Ctrl-S", "Space", "PgUp", "F1", "G"]);
}

#[test]
fn shift_is_part_of_the_letter() {
    let event = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(Keymap::default().find(&[&SCROLL], &event), Some(Action::Bottom));
    assert_eq!(
        Keymap::default().find(&[&SCROLL], &KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL)),
        None
    );
}
