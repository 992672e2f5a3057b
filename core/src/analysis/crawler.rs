//! Declared crawlers: search engines, monitors, scripts and other programs without a person, which are not visitors. Programs that
//! identify themselves are recognised, by words that such programs use and by a list of others, and so are those without a user
//! agent. The HTTP libraries that apps contain, such as okhttp, are visitors.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

/// Words in the user agents of all kinds of crawlers, in any case. `\b` is the boundary of a word of ASCII.
const GENERAL: &[&str] = &[
    // A word that ends in "bot", unless it is Cubot, a maker of phones.
    r"(?:\b|_)(?:bot|ubot|\w*[^\Wu]bot|\w*[^\Wc]ubot|\w+cubot)s?\b",
    r"(?:crawler|spider|scraper|fetcher|harvester|archiver|indexer)s?(?:\b|_|\d)",
    r"\b(?:crawl|crawling|slurp|scrapy|scraping|archive|archiving|indexing|robot|robots)\b",
    // An address for questions about the program: browsers have none.
    r"\+ ?(?:https?:|www\.)|\+[\w.-]+@\w",
    r"^(?:[^MO]|M[^o]|O[^p]).*https?://|\(compatible;[^()]*https?://",
    // Monitors and checks
    r"(?:monitor|monitoring|validator|checker|scanner|analy[sz]er|detector|auditor|prober?)s?\b",
    r"\b(?:uptime|pingdom|statuscake|synthetics?|health[- ]?checks?|site-?check|link-?check|inspect(?:or|ion)?)\b",
    // Link previews
    r"preview(?:er)?s?\b|\b(?:unfurl\w*|webhooks?|embedly|expanding)\b",
    r"^WhatsApp(?:/[\d.]+(?:/[a-z]| [a-z])?)?$",
    // Feed readers
    r"\b(?:feed-?(?:fetcher|reader|parser|burner|validator|bin)|rss(?:-?reader)?|fetch(?:ing)?)\b|feedparser\b",
    // Browsers without a person
    r"headless|lighthouse\b|\b(?:phantomjs|puppeteer|playwright|selenium|prerender)",
];

/// The product tokens of crawlers that neither the general patterns nor the list recognise. Sources: Google, *Google's common
/// crawlers*, *special-case crawlers* and *user-triggered fetchers* (developers.google.com/crawling), and the pages that the other
/// tokens' user agents link to.
const TOKENS: &[&str] = &[
    "APIs-Google",
    "ChatGPT-User",
    "Daum",
    "Daumoa",
    "Google-Read-Aloud",
    "GoogleProducer",
    "meta-externalagent",
    "Nutch",
    "YandexImages",
    "Yeti",
    // The command line and the terminal UI of this project on a server: administration is no visit
    "tidings-access",
];

/// The beginnings of the user agents of programs, as regular expressions.
const PROGRAMS: &str = include_str!("crawler/programs.txt");

const LIST: &str = include_str!("crawler/list.txt");

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// An empty user agent declares a crawler too, because browsers and apps have one. Some programs send `-`.
pub(super) fn is_declared(user_agent: &[u8]) -> bool {
    static GENERALLY: LazyLock<Regex> = LazyLock::new(|| {
        let programs = entries(PROGRAMS).collect::<Vec<_>>().join("|");
        let (general, tokens) = (GENERAL.join("|"), TOKENS.join("|"));
        let pattern = format!(r"(?i-u){general}|\b(?:{tokens})\b|^(?:{programs})");
        Regex::new(&pattern).expect("the patterns are valid")
    });
    let is_empty = user_agent.iter().all(|byte| byte.is_ascii_punctuation() || *byte == b' ');
    is_empty || GENERALLY.is_match(user_agent) || is_listed(user_agent)
}

/// A text of the list counts only at the beginning of a word.
fn is_listed(user_agent: &[u8]) -> bool {
    // An automaton: a regular expression of that many texts would be slow, because its states do not fit into its cache.
    static LISTED: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(entries(LIST));
        automaton.expect("the list is short")
    });
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let begins = |at: usize| at == 0 || !is_word(&user_agent[at]) || !is_word(&user_agent[at - 1]);
    LISTED.find_overlapping_iter(user_agent).any(|found| begins(found.start()))
}

#[cfg(test)]
mod tests;
