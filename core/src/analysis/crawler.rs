//! Declared crawlers: search engines and similar programs, which are not visitors.
//!
//! Only programs that identify themselves are recognised: by words that such programs use, and by a list of others. Plain
//! HTTP clients (curl, libraries) are visitors, because the apps of a service look like them.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// What crawlers of all kinds have in their user agents, in any case. `\b` is the boundary of a word of ASCII.
const GENERAL: &[&str] = &[
    // A word that ends in "bot", unless it is Cubot, a maker of phones.
    r"(?:\b|_)(?:bot|ubot|\w*[^\Wu]bot|\w*[^\Wc]ubot|\w+cubot)s?\b",
    r"(?:crawler|spider|scraper|fetcher|harvester|archiver|indexer)s?(?:\b|_|\d)",
    r"\b(?:crawl|crawling|slurp|scrapy|scraping|archive|archiving|indexing|robot|robots)\b",
    // An address for questions about the program: browsers have none.
    r"\+ ?(?:https?:|www\.)|\+[\w.-]+@\w",
    r"^(?:[^MO]|M[^o]|O[^p]).*https?://|\(compatible;[^()]*https?://",
    // Monitors and checks
    r"(?:monitor|monitoring|validator|checker|scanner|analy[sz]er|detector|auditor|prober)s?\b",
    r"\b(?:uptime|pingdom|statuscake|synthetics?|health-?check|site-?check|link-?check|inspect(?:or|ion)?)\b",
    // Link previews
    r"preview(?:er)?s?\b|\b(?:unfurl\w*|webhooks?|embedly|expanding)\b",
    r"^WhatsApp(?:/[\d.]+(?:/[a-z]| [a-z])?)?$",
    // Feed readers
    r"\b(?:feed-?(?:fetcher|reader|parser|burner|validator|bin)|rss(?:-?reader)?|fetch(?:ing)?)\b|feedparser\b",
    // Browsers without a person
    r"headless|lighthouse\b|\b(?:phantomjs|puppeteer|playwright|selenium|prerender)",
];

/// The product tokens of crawlers that neither the general patterns nor the list recognise.
///
/// Sources: Google, *Google's common crawlers*, *special-case crawlers* and *user-triggered fetchers*
/// (developers.google.com/crawling), and the pages that the other tokens' user agents link to.
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

/// Further crawlers, as patterns that begin at the beginning of a word.
const LIST: &str = include_str!("crawler/list.txt");

/// Returns whether a user agent declares a crawler.
pub(super) fn is_declared(user_agent: &[u8]) -> bool {
    static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
        let general = GENERAL.join("|");
        let tokens = TOKENS.join("|");
        let listed = listed().map(|pattern| {
            let is_word = pattern.starts_with(|c: char| c.is_ascii_alphanumeric());
            if is_word { format!(r"\b{pattern}") } else { pattern.to_owned() }
        });
        let listed = listed.collect::<Vec<_>>().join("|");
        let pattern = format!(r"(?-u)(?i:{general}|\b(?:{tokens})\b)|{listed}");
        Regex::new(&pattern).expect("the patterns are valid")
    });
    DECLARED.is_match(user_agent)
}

/// Returns the patterns of the list.
fn listed() -> impl Iterator<Item = &'static str> {
    LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests;
