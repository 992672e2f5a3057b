use super::*;

#[test]
fn ids_are_plain_ascii_and_not_reserved() {
    for id in ["ann", "2026-11_x.y", "007", "a_-.", "guest1", &"a".repeat(30)] {
        assert!(is_id(id), "{id}");
    }
    let long = "a".repeat(31);
    let wrong = ["", "an", &long, "-ann", ".ann", "_ann", "an n", " ann", "ann ", "ann\0", "ann\n", "a/b"];
    let more = ["a@b.c", "a+b", "ábc", "앤앤앤", "ａｂｃ", "🦀🦀🦀", "guest", "Guest", "removed", "REMOVED"];
    for id in wrong.iter().chain(&more) {
        assert!(!is_id(id), "{id:?}");
    }
}

#[test]
fn ids_are_compared_composed_and_in_lower_case() {
    for (id, folded) in [("Ann", "ann"), ("e\u{301}A1", "éa1"), ("\u{1112}\u{1161}", "하")] {
        assert_eq!(fold(id), folded);
    }
}

#[test]
fn a_password_has_8_to_128_characters_of_any_kind_counted_after_composition() {
    let config = Config::default();
    for right in ["8 charac", " \t\n\0 \u{7f}  ", "비밀번호여덟글자", &"🦀".repeat(128)] {
        assert!(is_password(&config, right), "{right:?}");
    }
    let wrong = ["🦀".repeat(7), "x".repeat(129), "e\u{301}".repeat(7)];
    for wrong in ["", "7 chara", "비밀번호일곱글"].into_iter().chain(wrong.iter().map(String::as_str))
    {
        assert!(!is_password(&config, wrong), "{wrong:?}");
    }
}

#[test]
fn a_nickname_has_1_to_30_visible_characters_and_is_stored_composed() {
    for (given, stored) in [
        ("x", "x"),
        ("Ann O'Neil <b>", "Ann O'Neil <b>"),
        (" a ", " a "),
        (&"🦀".repeat(30), &"🦀".repeat(30)),
        (&"e\u{301}".repeat(30), &"é".repeat(30)),
    ] {
        assert_eq!(nickname(given).as_deref(), Some(stored));
    }
    let long = ["n".repeat(31), "e\u{301}".repeat(31)];
    let wrong = ["", "  ", "\u{3000}", "a\nb", "\0", "\u{1b}[31mred", "a\u{7f}", "a\u{85}", "ad\u{200b}min"];
    for refused in wrong.into_iter().chain(long.iter().map(String::as_str)) {
        assert_eq!(nickname(refused), None, "{refused:?}");
    }
}

#[test]
fn a_nickname_is_made_from_what_is_visible_of_a_name_or_else_of_the_id() {
    let long = format!("\u{1b}[1m{}", "한".repeat(40));
    for (name, id, made) in [
        (&*long, "s1", &*format!("[1m{}", "한".repeat(27))),
        ("\u{202e}mik\u{200b}", "s1", "mik"),
        (" \n", "s2", "s2"),
        ("", "\u{200b}", "member"),
    ] {
        assert_eq!(cut_nickname(name, id), made, "{name:?}");
    }
}

#[test]
fn the_debug_output_of_a_caller_hides_the_token() {
    assert_eq!(format!("{:?}", Caller::token("eyJ.secret.x")), "Token([secret])");
}
