//! Tests of tokens.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

fn by_general(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    general(text, &mut |token: &str| tokens.push(token.to_owned()));
    tokens
}

#[test]
fn a_text_has_the_tokens_of_its_words_and_of_their_parts() {
    for (text, expected) in [
        // English words are in lower case, and stop words are none.
        ("The Quick brown fox is NOT over it.", "quick brown fox"),
        ("the who", ""),
        ("", ""),
        (" \t\r\n\0 -- !? 👍", ""),
        // Word boundaries are those of UAX #29.
        ("node.js, c++ & snake_case 3.14 1,000", "node.js node js c++ c snake_case snake case 3.14 1,000"),
        ("_it_ __init__ e-mail std::vec note:this", "init e mail std vec note"),
        ("C and R", "c r"),
        // Typographic apostrophes are folded, and the possessive is removed.
        ("Rust's café’s students' O’Reilly", "rust cafe students o'reilly reilly"),
        ("don't don’t DON＇T it's That’s that'll", ""),
        ("‘quoted’ 'words'", "quoted words"),
        // Compatibility forms are the same token.
        ("Ｒｕｓｔ ﬁne ｶﾞｲﾄﾞ cafe\u{301}", "rust fine ガイ イド cafe"),
        // A Hangul word is followed by its stems.
        ("학교에서는 밥을 먹는다", "학교에서는 학교에서 학교 밥을 먹는다"),
        ("Rust를 2026년에 the는", "rust를 rust 2026년에 2026년 2026 the는"),
        // Punctuation next to Hangul separates words.
        ("서울·부산ㆍ대구", "서울 부산 대구"),
        ("‘러스트’는 했다.그리고 3.1운동", "러스트 는 했다 그리고 3.1운동 3.1 운동"),
        // Han and Kana become pairs across scripts.
        ("東京タワー", "東京 京タ タワ ワー"),
        ("食べる、茶", "食べ べる 茶"),
        ("ラーメン・カレー", "ラー ーメ メン カレ レー"),
        ("Rust入門book大學은", "rust 入門 book 大學 은"),
        ("ab_カ\u{309a}_", "ab カ"),
        // A compound is followed by its parts.
        ("AI반도체를", "ai반도체를 ai반도체 ai 반도체"),
        ("3D프린터 K팝", "3d프린터 3d 프린터 k팝 k 팝"),
        ("제2학기 3월", "제2학기 2 학기 3월 3"),
        ("crm.action_log", "crm.action_log crm action_log action log"),
        ("www.uni.example", "www.uni.example www uni example"),
        ("img_data_ttl __init__", "img_data_ttl img data ttl init"),
        ("AI·SW l'École p.m.", "ai·sw ai sw l'ecole ecole p.m"),
        ("R&D센터 at&t", "r&d센터 r&d r d 센터 at&t t"),
        ("v2.1_beta 2026.03.01", "v2.1_beta v2.1 beta 2026.03.01"),
        // Signs after a name belong to it.
        ("C++, C# (F#)", "c++ c c# c f# f"),
        ("Ｃ＋＋", "c++ c"),
        ("C++를 C++17 C++言語", "c++ c 를 c++ c 17 c++ c 言語"),
        ("Disney+ A+", "disney+ disney a+"),
        ("a+b c++x 1+1 18+ a+++ issue#12 x##", "b c x 1 1 18 issue 12 x"),
        ("+ ++ # .+", ""),
    ] {
        assert_eq!(tokens(text).join(" "), expected, "{text}");
    }
}

#[test]
fn a_token_is_cut_after_64_characters() {
    assert_eq!(tokens(&"й".repeat(64)), ["й".repeat(64)]);
    assert_eq!(tokens(&"й".repeat(65)), ["й".repeat(64)]);
    assert_eq!(tokens(&format!("{}'s", "a".repeat(64))), ["a".repeat(64)]);
    assert_eq!(tokens(&format!("{}'sx", "a".repeat(62))), ["a".repeat(62)]);
    assert_eq!(tokens(&format!("{}++", "a".repeat(63))), ["a".repeat(63)]);
}

#[test]
fn a_compatibility_form_with_a_blank_yields_no_blank() {
    assert_eq!(tokens("x\u{37a}y \u{fdfa}").first().map(String::as_str), Some("x"));
    assert_eq!(tokens("\u{345} -\u{345} \u{7f}\u{345}"), Vec::<String>::new());
}

#[test]
fn distinct_tokens_keep_their_first_places() {
    let tokens = ["b", "a", "b", "c", "a"].map(str::to_owned).to_vec();
    assert_eq!(distinct(tokens), ["b", "a", "c"]);
}

#[test]
fn a_pair_of_han_and_kana_has_two_letters() {
    let of = |token: &str| letters(token).collect::<String>();
    assert_eq!(["図書", "ラー", "茶", "책방", "ab"].map(of), ["図書", "ラー", "", "", ""]);
}

#[test]
fn a_search_is_split_at_white_space_only() {
    assert_eq!(split("The\u{3000}who?  cafe\u{301}"), ["The", "who?", "café"]);
    assert!(split(" \n ").is_empty());
}

#[test]
fn a_term_is_composed_lower_case_and_trimmed() {
    assert_eq!(normalise_term("  The\u{3000}WHO?\nCAFE\u{301}  "), "the who? café");
    assert_eq!(normalise_term("H\u{331}"), "\u{1e96}");
    assert_eq!(normalise_term("İstanbul ＣＡＦＥ　ｶﾞ Straße"), "istanbul cafe ガ straße");
    assert_eq!(normalise_term("  "), "");
}

/// Generates texts with many of the characters that the rules mention.
fn dense() -> impl Strategy<Value = String> {
    let chars = " \n\t\0'’.,:;_-\"(+aIsSZ1éÉHßΣςﬁŉİ٣½ㅋㅏ은는로이東京々カｶﾞーの・·ㆍ👍🇰ﷺकไทא\
        \u{3000}\u{a0}\u{85}\u{331}\u{301}\u{345}\u{307}\u{1100}\u{11a8}\u{1160}\u{3099}\u{ad}\u{34f}\
        \u{200b}\u{200d}\u{fe0f}\u{202f}\u{900}\u{94d}\u{2e80}\u{20e3}";
    let char = proptest::sample::select(chars.chars().collect::<Vec<_>>()).prop_map(String::from);
    let word =
        proptest::sample::select(&["the", "Don't", "’s", "학교", "에서", "node.js"]).prop_map(str::to_owned);
    proptest::collection::vec(prop_oneof![4 => char, 1 => word], 0..40).prop_map(|parts| parts.concat())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![dense(), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_fast_path_agrees_with_the_general_one(
        ascii in "[ -~\n\ta-cA-C'._:;, 0-2s]{0,80}",
        korean in "[a-c'._:;, 0-2s가-힣은는에서의로이]{0,40}",
    ) {
        prop_assert_eq!(tokens(&ascii), by_general(&ascii));
        prop_assert_eq!(tokens(&korean), by_general(&korean));
    }

    #[test]
    fn the_tokens_of_the_pieces_are_those_of_the_whole(text in text()) {
        prop_assert_eq!(tokens(&text), by_general(&text));
    }

    #[test]
    fn a_token_has_1_to_64_characters_without_blanks_or_controls(text in text()) {
        for token in tokens(&text) {
            prop_assert!((1..=LENGTH_MAX).contains(&token.chars().count()), "{token:?}");
            prop_assert!(!token.contains(|c: char| c.is_whitespace() || c.is_control()), "{token:?}");
            prop_assert!(token.contains(char::is_alphanumeric), "{token:?}");
        }
    }

    #[test]
    fn a_token_is_the_first_of_its_own_tokens(text in text()) {
        for token in tokens(&text) {
            let again = tokens(&token);
            prop_assert_eq!(again.first(), Some(&token));
        }
    }

    #[test]
    fn the_tokens_of_two_texts_are_those_of_both_in_order(one in text(), two in text()) {
        let both = tokens(&format!("{one} {two}"));
        prop_assert_eq!(both, [tokens(&one), tokens(&two)].concat());
    }

    #[test]
    fn case_makes_no_difference(text in text()) {
        prop_assert_eq!(tokens(&text.to_lowercase()), tokens(&text));
        prop_assert_eq!(tokens(&text.to_ascii_uppercase()), tokens(&text));
    }

    #[test]
    fn composed_and_decomposed_text_yield_the_same(text in text()) {
        let expected = tokens(&text);
        prop_assert_eq!(&tokens(&text.nfc().collect::<String>()), &expected);
        prop_assert_eq!(&tokens(&text.nfd().collect::<String>()), &expected);
    }

    #[test]
    fn distinct_returns_each_token_once(text in text()) {
        let once = distinct(tokens(&text));
        prop_assert_eq!(&distinct(once.clone()), &once);
        prop_assert!(tokens(&text).iter().all(|token| once.contains(token)));
    }

    #[test]
    fn normalising_a_term_twice_changes_nothing(text in text()) {
        let term = normalise_term(&text);
        prop_assert_eq!(normalise_term(&term), term.clone());
        prop_assert_eq!(split(&term).join(" "), term);
    }
}
