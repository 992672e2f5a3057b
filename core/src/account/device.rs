//! The client of a sign-in: its address, for limits, and the family of its program, for the member.

use std::borrow::Cow;

use crate::client::Client;

/// The client of a sign-in.
#[derive(Clone, Debug, Default)]
pub struct SignInClient {
    /// Its address; `None` for this machine, which is never slowed.
    pub client: Option<Client>,
    /// The family of its program.
    pub device: Device,
}

impl SignInClient {
    /// Returns the client with this address and this `User-Agent` header, which may be empty.
    pub fn new(client: Client, user_agent: &[u8]) -> Self {
        Self { client: Some(client), device: Device::of(&String::from_utf8_lossy(user_agent)) }
    }
}

impl From<Option<Client>> for SignInClient {
    fn from(client: Option<Client>) -> Self {
        Self { client, device: Device::default() }
    }
}

/// The family of a program and its system, such as `Firefox on Linux`. It has no version and names no person, so that it tells
/// members their own devices apart and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device(Cow<'static, str>);

impl Default for Device {
    fn default() -> Self {
        Self(Cow::Borrowed("unknown"))
    }
}

/// Parts of a `User-Agent` header and what they mean. The first that a header contains counts: browsers also name the browsers
/// that they are compatible with.
const PROGRAMS: [(&str, &str); 22] = [
    ("tidings", "tidings"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Opera", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Whale/", "Whale"),
    ("YaBrowser", "Yandex Browser"),
    ("Vivaldi", "Vivaldi"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chrome", "Chrome"),
    ("CFNetwork", "an app"),
    ("Safari", "Safari"),
    ("okhttp", "an app"),
    ("Dart", "an app"),
    ("curl", "curl"),
    ("Wget", "Wget"),
    ("python", "Python"),
    ("Go-http-client", "Go"),
    ("node", "Node.js"),
];
const SYSTEMS: [(&str, &str); 9] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Darwin", "Apple"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
    ("FreeBSD", "FreeBSD"),
];

impl Device {
    /// Returns the family that a `User-Agent` header names.
    fn of(user_agent: &str) -> Self {
        let known = |table: &[(&str, &'static str)]| {
            table.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
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
        for (header, family) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 \
                 Safari/537.36 Edg/130.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 Version/18.0 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile \
                 Safari/537.36",
                "Chrome on Android",
            ),
            ("Campus/7 CFNetwork/1568.100.1 Darwin/24.0.0", "an app on Apple"),
            ("okhttp/4.12.0", "an app"),
            ("curl/8.5.0", "curl"),
            ("Mozilla/5.0 (Macintosh)", "Mac"),
            ("", "unknown"),
            ("일정/1.0", "unknown"),
        ] {
            assert_eq!(Device::of(header).name(), family, "{header}");
        }
    }
}
