//! The family of the program of a sign-in, for the member.

use std::borrow::Cow;

/// The family of a program and its system, such as `Firefox on Linux`. It has no version and names no person, so that it tells
/// members their own devices apart and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device(Cow<'static, str>);

impl Default for Device {
    fn default() -> Self {
        Self(Cow::Borrowed("unknown"))
    }
}

/// Families and their product tokens in a `User-Agent` header, each at the beginning of a word: names of devices contain names of
/// browsers too. The first that a header contains counts, because browsers also name those that they are compatible with.
const PROGRAMS: [(&str, &[&str]); 21] = [
    ("tidings", &["tidings"]),
    ("Edge", &["Edg/", "EdgA/", "EdgiOS/", "Edge/"]),
    ("Opera", &["OPR/", "OPX/", "OPT/", "OPiOS/", "Opera/", "Opera Mini"]),
    ("Samsung Internet", &["SamsungBrowser/"]),
    ("Whale", &["Whale/"]),
    ("Yandex Browser", &["YaBrowser/", "YaSearchBrowser/", "YaApp"]),
    ("Vivaldi", &["Vivaldi/"]),
    ("UC Browser", &["UCBrowser/"]),
    ("Mi Browser", &["MiuiBrowser/"]),
    ("Huawei Browser", &["HuaweiBrowser/"]),
    ("DuckDuckGo", &["DuckDuckGo/", "Ddg/"]),
    ("Firefox", &["FxiOS/", "Focus/", "Firefox/"]),
    ("Chrome", &["CriOS/", "HeadlessChrome/", "Chrome/"]),
    ("an app", &["CFNetwork/"]),
    ("Safari", &["Safari/"]),
    ("an app", &["okhttp/", "Dart/"]),
    ("curl", &["curl/"]),
    ("Wget", &["Wget/"]),
    ("Python", &["python", "Python", "aiohttp/"]),
    ("Go", &["Go-http-client/"]),
    ("Node.js", &["node", "Node", "undici"]),
];
/// Windows Phone also names Android and the iPhone.
const SYSTEMS: [(&str, &[&str]); 10] = [
    ("Windows", &["Windows Phone"]),
    ("Android", &["Android"]),
    ("iPhone", &["iPhone"]),
    ("iPad", &["iPad"]),
    ("Apple", &["Darwin"]),
    ("Windows", &["Windows"]),
    ("Mac", &["Macintosh"]),
    ("ChromeOS", &["CrOS"]),
    ("Linux", &["Linux"]),
    ("FreeBSD", &["FreeBSD"]),
];

/// The token counts only at the beginning of a word.
fn has_token(text: &str, token: &str) -> bool {
    let is_word = |at: usize| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(token).any(|(at, _)| !is_word(at))
}

impl Device {
    pub(super) fn of(user_agent: &str) -> Self {
        let known = |table: &[(&'static str, &[&str])]| {
            let has_one = |tokens: &[&str]| tokens.iter().any(|token| has_token(user_agent, token));
            table.iter().find(|(_, tokens)| has_one(tokens)).map(|(name, _)| *name)
        };
        match (known(&PROGRAMS), known(&SYSTEMS)) {
            (Some(program), Some(system)) => Self(format!("{program} on {system}").into()),
            (Some(name), None) | (None, Some(name)) => Self(Cow::Borrowed(name)),
            (None, None) => Self::default(),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_a_program_and_a_system() {
        let families = "
            Firefox on Linux: Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0
            Edge on Windows: Mozilla/5.0 (Windows NT 10.0) KHTML Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0
            Safari on iPhone: Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) KHTML Version/18.0 Mobile/15E148 Safari/604.1
            Chrome on Android: Mozilla/5.0 (Linux; Android 14) KHTML Chrome/130.0.0.0 Mobile Safari/537.36
            an app on Apple: Campus/7 CFNetwork/1568.100.1 Darwin/24.0.0
            an app: okhttp/4.12.0
            curl: curl/8.5.0
            Chrome on Android: Mozilla/5.0 (Linux; Android 12; Razer Edge 5G) KHTML Chrome/124.0 Safari/537.36
            Firefox on ChromeOS: Mozilla/5.0 (X11; CrOS; HP Chromebook 14) Gecko/20100101 Firefox/131.0
            Safari on Android: Mozilla/5.0 (Linux; Android 9; HP Chromebook) Version/4.0 Safari/537.36
            Chrome on Android: Mozilla/5.0 (Linux; Android 13; iPhone 14 Pro) Chrome/124.0 Safari/537.36
            Edge on Windows: Mozilla/5.0 (Windows NT 10.0) Chrome/64.0 Safari/537.36 Edge/17.17134
            Edge on Android: Mozilla/5.0 (Linux; Android 10; K) Chrome/130.0 Safari/537.36 EdgA/130.0
            Edge on iPhone: Mozilla/5.0 (iPhone; CPU iPhone OS 17_7) Version/17.0 EdgiOS/130.0 Safari/604.1
            Opera on Windows: Mozilla/5.0 (Windows NT 10.0) Chrome/124.0 Safari/537.36 OPX/2.4.1
            Opera on iPhone: Mozilla/5.0 (iPhone; CPU iPhone OS 17_4) Version/17.4 Safari/604.1 OPT/4.6.0
            Opera on iPad: Mozilla/5.0 (iPad; CPU OS 9_3) OPiOS/14.0.0.104835 Safari/9537.53
            Opera: Opera/9.80 (J2ME/MIDP; Opera Mini/9.80) Presto/2.8.119 Version/11.10
            Yandex Browser on Android: Mozilla/5.0 (Linux; Android 11) Chrome/124.0 YaSearchBrowser/24.40 Safari/537.36
            Python: Python/3.11 aiohttp/3.9.5
            Python: python-requests/2.31.0
            Python: Python-urllib/3.11
            Mac: Mozilla/5.0 (Macintosh)
            unknown: 일정/1.0
        ";
        for line in families.trim().lines() {
            let (family, header) = line.trim().split_once(": ").unwrap();
            let header = header.replace("KHTML", "AppleWebKit/537.36 (KHTML, like Gecko)");
            assert_eq!(Device::of(&header).name(), family, "{header}");
        }
        assert_eq!(Device::of("").name(), "unknown");
    }
}
