//! Tests of the tables of keys.

use super::*;

/// Returns the combinations of tables that apply at the same time.
fn together() -> Vec<Vec<&'static Table>> {
    vec![
        vec![&OVERVIEW, &GLOBAL],
        vec![&NOTICES, &LIST, &SCROLL, &GLOBAL],
        vec![&FEEDBACK, &LIST, &SCROLL, &GLOBAL],
        vec![&MEMBERS, &LIST, &SCROLL, &GLOBAL],
        vec![&POSTS, &LIST, &SCROLL, &GLOBAL],
        vec![&LOG, &LIST, &SCROLL, &GLOBAL],
        vec![&AUDIT, &LIST, &SCROLL, &GLOBAL],
        vec![&ANALYTICS, &SCROLL, &GLOBAL],
        vec![&EDITOR],
        vec![&INPUT],
        vec![&HELP],
        vec![&QUESTION],
    ]
}

#[test]
fn no_key_hides_another() {
    for tables in together() {
        let chords: Vec<_> = tables.iter().flat_map(|t| t.keys).flat_map(|b| b.chords).collect();
        for (i, chord) in chords.iter().enumerate() {
            let again = chords[i + 1..].contains(chord);
            assert!(!again, "{} stands twice in {}", chord.name(), tables[0].title);
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
    let names = [ctrl('s'), ch(' '), key(KeyCode::PageUp), key(KeyCode::F(1)), ch('G')].map(Chord::name);
    assert_eq!(names, ["Ctrl-S", "Space", "PgUp", "F1", "G"]);
}

#[test]
fn shift_is_part_of_the_letter() {
    let event = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(find(&[&SCROLL], &event), Some(Action::Bottom));
    assert_eq!(find(&[&SCROLL], &KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL)), None);
}
