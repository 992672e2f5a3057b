//! Declared crawlers: search engines and similar programs, which are not visitors.
//!
//! Only crawlers that identify themselves are recognised. Plain HTTP clients (curl, libraries) are visitors, because
//! the apps of a service look like them.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// The product tokens that crawlers declare in their user agent.
///
/// Sources: Google, *Google's common crawlers*, *special-case crawlers* and *user-triggered fetchers*
/// (developers.google.com/crawling); Microsoft, *Which crawlers does Bing use?* (bing.com/webmasters/help); the pages
/// that the other tokens' user agents link to, as gathered in `crawler-user-agents.json` of
/// github.com/monperrus/crawler-user-agents.
const TOKENS: &[&str] = &[
    // Google
    "Googlebot",
    "Storebot-Google",
    "Google-InspectionTool",
    "GoogleOther",
    "Google-CloudVertexBot",
    "APIs-Google",
    "AdsBot-Google",
    "Mediapartners-Google",
    "Google-Safety",
    "FeedFetcher-Google",
    "GoogleProducer",
    "Google-Read-Aloud",
    "Google-Site-Verification",
    // Microsoft
    "bingbot",
    "adidxbot",
    "BingPreview",
    "BingVideoPreview",
    "MicrosoftPreview",
    // Other search engines
    "Applebot",
    "Baiduspider",
    "coccocbot",
    "Daum",
    "Daumoa",
    "DuckDuckBot",
    "Mail\\.RU_Bot",
    "PetalBot",
    "Qwantbot",
    "SeznamBot",
    "Slurp",
    "Sogou web spider",
    "YandexBot",
    "YandexImages",
    "YandexMobileBot",
    "Yeti",
    // Link previews of social networks
    "facebookexternalhit",
    "LinkedInBot",
    "Twitterbot",
    // Collectors of text for language models
    "Amazonbot",
    "Bytespider",
    "CCBot",
    "ChatGPT-User",
    "ClaudeBot",
    "GPTBot",
    "meta-externalagent",
    "OAI-SearchBot",
    "PerplexityBot",
    // The command line and the terminal UI of this project on a server: administration is no visit
    "tidings-access",
    // Archives and link checkers
    "AhrefsBot",
    "archive\\.org_bot",
    "DotBot",
    "MJ12bot",
    "SemrushBot",
];

/// Returns whether a user agent declares a crawler. Tokens match as whole words, ignoring case.
pub(super) fn is_declared(user_agent: &[u8]) -> bool {
    static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = format!(r"(?i-u)\b(?:{})\b", TOKENS.join("|"));
        Regex::new(&pattern).expect("the tokens are valid in a regular expression")
    });
    DECLARED.is_match(user_agent)
}

#[cfg(test)]
mod tests {
    use super::is_declared;

    #[test]
    fn only_declared_crawlers_are_recognised() {
        for crawler in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Googlebot-Image/1.0",
            "AdsBot-Google-Mobile (+http://www.google.com/mobile/adsbot.html)",
            "mozilla/5.0 (compatible; BINGBOT/2.0; +http://www.bing.com/bingbot.htm)",
            "Mozilla/5.0 (compatible; Yeti/1.1; +https://naver.me/spd)",
            "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
        ] {
            assert!(is_declared(crawler.as_bytes()), "{crawler}");
        }
        for visitor in [
            "",
            "curl/8.5.0",
            "okhttp/4.12.0",
            "python-requests/2.31.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0",
            "Mozilla/5.0 (Linux; Android 13; CUBOT_X70) AppleWebKit/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) DaumApps/8.0 DaumDevice/mobile",
            "MyGooglebotTester/1.0",
        ] {
            assert!(!is_declared(visitor.as_bytes()), "{visitor}");
        }
        assert!(!is_declared(b"\xff\xfe"));
    }
}
