//! Korean particles (조사) at the end of a word.

use After::{Any, Closed, ClosedButRieul, Open, OpenOrRieul};

/// The ending of the syllable that a particle can follow. Most particles have one form for vowels and one for consonants, so
/// `전문가` (expert) keeps its `가`: after `문` the particle would be `이`.
#[derive(Clone, Copy)]
enum After {
    Any,
    Open,
    Closed,
    OpenOrRieul,
    ClosedButRieul,
}

/// Longer ones first. These are the common particles of Korean grammar, and the forms of `이다` (to be) that attach to a noun. `나`, `며` and
/// `고` alone are excluded: more words end with these syllables (`바나나`) than with the particles.
fn particles(last: char) -> &'static [(&'static str, After)] {
    match last {
        '가' => &[("가", Open)],
        '게' => &[("에게", Any)],
        '고' => &[("이라고", Closed), ("라고", Open), ("하고", Any)],
        '과' => &[("과", Closed)],
        '께' => &[("께", Any)],
        '나' => &[("이나", Closed)],
        '는' => &[("이라는", Closed), ("라는", Open), ("는", Open)],
        '다' => &[("입니다", Any), ("마다", Any), ("보다", Any), ("이다", Any)],
        '도' => &[("이라도", Closed), ("라도", Open), ("도", Any)],
        '란' => &[("이란", Closed), ("란", Open)],
        '랑' => &[("이랑", Closed), ("랑", Open)],
        '럼' => &[("처럼", Any)],
        '로' => &[
            ("이야말로", Closed),
            ("야말로", Open),
            ("대로", Any),
            ("으로", ClosedButRieul),
            ("로", OpenOrRieul),
        ],
        '를' => &[("를", Open)],
        '만' => &[("만", Any)],
        '며' => &[("이며", Closed)],
        '뿐' => &[("뿐", Any)],
        '서' => &[
            ("으로서", ClosedButRieul),
            ("에게서", Any),
            ("한테서", Any),
            ("께서", Any),
            ("로서", OpenOrRieul),
            ("에서", Any),
        ],
        '써' => &[("으로써", ClosedButRieul), ("로써", OpenOrRieul)],
        '에' => &[("밖에", Any), ("에", Any)],
        '와' => &[("와", Open)],
        '은' => &[("은", Closed)],
        '을' => &[("을", Closed)],
        '의' => &[("의", Any)],
        '이' => &[("이", Closed)],
        '저' => &[("마저", Any)],
        '지' => &[("이든지", Closed), ("까지", Any), ("든지", Open)],
        '차' => &[("조차", Any)],
        '큼' => &[("만큼", Any)],
        '터' => &[("으로부터", ClosedButRieul), ("로부터", OpenOrRieul), ("부터", Any)],
        '테' => &[("한테", Any)],
        _ => &[],
    }
}

pub(crate) fn is_syllable(c: char) -> bool {
    ('가'..='힣').contains(&c)
}

/// `c` is in NFKC. Parts of syllables count too.
pub(crate) fn is_hangul(c: char) -> bool {
    is_syllable(c) || matches!(c, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}')
}

/// Returns `word` without its last particle, then without the previous one: `학교에서` and `학교` for `학교에서는`. At most two particles are
/// removed, the second only before a particle that can follow others (`는`, `도`, `의` …). A stem has at least two syllables: `나이`
/// (age) and `회의` (meeting) are words far more often than `나` and `회` with a particle. The removed syllables may belong to the
/// word, as in `민주주의`, so callers use a stem in addition to its word, not instead of it.
pub fn stems(word: &str) -> impl Iterator<Item = &str> {
    let first = cut(word);
    let second = first
        .filter(|&(_, particle)| follows_others(particle))
        .and_then(|(stem, _)| cut(stem))
        .filter(|&(_, particle)| !follows_others(particle) || particle == "만");
    [first, second].into_iter().flatten().map(|(stem, _)| stem)
}

/// Returns the stem and the longest particle. If that particle does not fit the stem, no shorter one is tried: `집으로` is not `집으`
/// and `로`.
fn cut(word: &str) -> Option<(&str, &str)> {
    let ending = |&(particle, after)| Some((word.strip_suffix(particle)?, particle, after));
    let (stem, particle, after) = particles(word.chars().next_back()?).iter().find_map(ending)?;
    fits(stem, after).then_some((stem, particle))
}

fn fits(stem: &str, after: After) -> bool {
    let mut letters = stem.chars().rev();
    let Some(last) = letters.next() else { return false };
    if !is_syllable(last) {
        return true; // `rust를`: the spelling of a foreign word does not determine its final sound.
    }
    // Syllables are ordered by their 28 finals: 0 is none, 8 is ㄹ (Unicode standard, section 3.12).
    let ending = (u32::from(last) - u32::from('가')) % 28;
    letters.next().is_some()
        && match after {
            Any => true,
            Open => ending == 0,
            Closed => ending != 0,
            OpenOrRieul => ending == 0 || ending == 8,
            ClosedButRieul => ending != 0 && ending != 8,
        }
}

fn follows_others(particle: &str) -> bool {
    matches!(particle, "은" | "는" | "도" | "만" | "의" | "이" | "가" | "을" | "를")
}

/// Returns the pairs of adjacent Hangul syllables of a word.
///
/// ```
/// use tidings_tokens::hangul::pairs;
///
/// assert_eq!(pairs("ai반도체").collect::<Vec<_>>(), ["반도", "도체"]);
/// ```
pub fn pairs(word: &str) -> impl Iterator<Item = &str> {
    // The syllables are in a range of code points that all have three bytes.
    const BYTES: usize = 3;
    let pair = |at: usize| word.get(at..at + 2 * BYTES);
    let places = word.char_indices().filter(|(_, c)| is_syllable(*c)).map(|(at, _)| at);
    places.filter_map(pair).filter(|pair| pair.chars().all(is_syllable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_is_removed_if_it_fits_the_preceding_syllable_and_leaves_a_word() {
        for (word, expected) in [
            ("한국은", "한국"),
            ("우리는", "우리"),
            ("학생이", "학생"),
            ("친구가", "친구"),
            ("도서관에서", "도서관"),
            ("대학교까지", "대학교"),
            ("서울로", "서울"),
            ("부산으로", "부산"),
            ("선생님하고", "선생님"),
            ("학생이나", "학생"),
            ("컴퓨터와", "컴퓨터"),
            ("선생님께서", "선생님"),
            // A particle before another is removed, too.
            ("학교에서는", "학교에서 학교"),
            ("친구만이", "친구만 친구"),
            ("서울까지의", "서울까지 서울"),
            // A particle of a foreign word is removed in each form.
            ("rust를", "rust"),
            ("c은", "c"),
            ("2026년에는", "2026년에 2026년"),
        ] {
            assert_eq!(stems(word).collect::<Vec<_>>().join(" "), expected, "{word}");
        }
        for word in ["전문가", "서울으로", "부산로", "친구은"] {
            assert_eq!(stems(word).count(), 0, "{word}");
        }
        for word in ["나이", "회의", "사과", "집으로", "말하고", "는", "에서", ""] {
            assert_eq!(stems(word).count(), 0, "no stem of {word} has one syllable");
        }
    }

    #[test]
    fn particles_are_listed_under_their_last_syllable_longer_ones_first() {
        for last in '가'..='힣' {
            let list = particles(last);
            assert!(list.iter().all(|(particle, _)| particle.ends_with(last)), "{last}");
            assert!(list.windows(2).all(|pair| pair[0].0.len() >= pair[1].0.len()), "{last}");
        }
    }
}
