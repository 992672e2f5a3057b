//! English stop words: function words, which carry no information about the topic of a text.

#![expect(clippy::disallowed_types, reason = "the keys are the words of this file")]

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// By word class, in lower case and with a plain apostrophe. Forms with `'s` are not listed: a token loses its `'s` before the
/// lookup. Neither are words that are often content words: `may` (the month), `us` (the country), `like`, `well`, `one`.
/// Tokens are in lower case, so `IT` counts as `it`.
const WORDS: [&str; 9] = [
    "a an the this that these those each every either neither some any all both few more most much many other \
     another such no own same",
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself \
     we our ours ourselves they them their theirs themselves",
    // Question words and relatives.
    "who whom whose which what when where why how whether while whatever whichever whoever",
    // To be, to have, to do, and the modal verbs.
    "am is are was were be been being have has had having do does did doing done can could will would shall should \
     might must ought cannot",
    // Their contractions: with a pronoun, and with not.
    "i'm i've i'll i'd you're you've you'll you'd he'll he'd she'll she'd it'll it'd we're we've we'll we'd they're \
     they've they'll they'd that'll that'd there'll there'd who'll who'd who've what're what'll could've would've \
     should've might've must've",
    "isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't can't couldn't won't wouldn't shan't \
     shouldn't mightn't mustn't needn't ain't",
    "about above across after against along among around as at before behind below beneath beside besides between \
     beyond by despite down during except for from in inside into near of off on onto out outside over per since \
     through throughout till to toward towards under until up upon via with within without",
    "and or but nor so yet if then else than because although though unless whereas",
    // Adverbs of place and degree.
    "not here there now again once ever never always also too very just only even still already almost quite rather \
     perhaps maybe however therefore thus hence otherwise instead further etc",
];

static SET: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| words().collect());

fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().flat_map(|group| group.split_ascii_whitespace())
}

/// In bytes.
const LONGEST: usize = 10;

/// `word` is in lower case.
pub(super) fn is_stop(word: &str) -> bool {
    word.len() <= LONGEST && SET.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_list_is_found_and_unique() {
        assert!(words().all(is_stop));
        assert_eq!(SET.len(), words().count());
    }

    #[test]
    fn the_list_has_the_form_of_tokens() {
        for word in words() {
            assert!(word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\''), "{word}");
            assert!(!word.ends_with("'s"), "{word}");
        }
    }
}
