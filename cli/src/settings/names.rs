//! Names that are not of settings in force: removed settings, those without effect, and unknown variables.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use strsim::normalized_damerau_levenshtein;

use super::{DB, Given, SECRETS, Settings, arguments, name, of_environment, variable};
use crate::failure::Failure;

const REMOVED: [(&str, &str); 8] = [
    (
        "experimental interest-weight novel-weight novel-half-life recent-weight recent-half-life recent-half-life-growth \
         near-weight together-weight fresh-weight popular-weight fresh-half-life interest-half-life interest-like-weight \
         interest-view-weight interest-search-weight interest-open-weight interest-topic-share interest-tag-share \
         interest-word-share interest-meaning-share",
        "the weights of the feeds are learned, see tidings feed weights",
    ),
    (
        "words-dimensions words-window words-min-posts words-max words-corpus words-seed feed-posts popular-like-weight \
         diverse-max postgres-read-connections query-timeout hash-queue log-lines-per-client max-connections-per-address \
         event-connections source-interval-max oidc-scopes oidc-name-claim id-min id-max pw-max nickname-min nickname-max",
        "its value is fixed now",
    ),
    ("oidc-major-claim", "the issuer gives members no major now, see tidings roster import"),
    ("passkey-origins", "the origin is https:// and passkey-domain"),
    (
        "sign-up-limit sign-up-burst search-limit guest-write-limit feedback-limit feedback-limit-per-address \
         feedback-open-max key-limit",
        "client-limits turns the limits of clients on or off",
    ),
    (
        "smtp-ca oidc-ca verifier-ca webhook-ca source-ca",
        "extra-ca names a file of certificates that every connection trusts too",
    ),
    ("webhook-private source-private", "private-addresses allows them for webhooks and sources"),
    (
        "reset-url confirm-url invite-url",
        "app-url names the app, whose pages are account/password, account/email and account/invitation",
    ),
];

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    REMOVED.iter().flat_map(|(names, instead)| names.split(' ').map(|name| (name, *instead)))
}

pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    all().find(|(removed, _)| *removed == name).map(|(_, instead)| instead)
}

pub(super) fn refuse_variables() -> Result<(), Failure> {
    match all().find(|(name, _)| of_environment(name).is_some()) {
        Some((name, instead)) => Err(Failure::usage(format!("{} was removed: {instead}", variable(name)))),
        None => Ok(()),
    }
}

pub(crate) fn removed_flag(command: &mut Command, refused: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = refused.get(ContextKind::InvalidArg) else { return refused };
    let instead = flag.strip_prefix("--").and_then(instead_of);
    match instead.filter(|_| refused.kind() == ErrorKind::UnknownArgument) {
        Some(instead) => command.error(ErrorKind::UnknownArgument, format!("{flag} was removed: {instead}")),
        None => refused,
    }
}

const DEFAULT_VERIFIER: &str = "roster";
/// These have no effect unless `verifier` is `http`.
const OF_HTTP: [&str; 4] = ["verifier-url", "verifier-timeout", "verifier-allow-plain-http", "school-ids"];

const OVERRIDDEN: [(&str, &str); 3] = [
    ("token-key-file", "TIDINGS_TOKEN_KEY"),
    ("token-key-previous-file", "TIDINGS_TOKEN_KEY_PREVIOUS"),
    ("log-level", "RUST_LOG"),
];

/// The variables that are neither settings nor options: a secret, and one of tests.
const OTHERS: [&str; 2] = ["TIDINGS_SERVER_KEY", "TIDINGS_STORE_REPLAY"];
const PREFIX: &str = "TIDINGS_";
const OF_TESTS: &str = "TIDINGS_TEST_";

impl Settings {
    pub(crate) fn warnings(&self, command: &Command) -> Vec<String> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            (!value.is_empty()).then(|| (name, value.to_string_lossy().into_owned()))
        });
        let variables: Vec<_> = variables.collect();
        let mut warnings = self.without_effect(|name| variables.iter().any(|(known, _)| known == name));
        warnings.extend(unknown(&variables, &known_variables(command)));
        warnings
    }

    fn without_effect(&self, is_variable: impl Fn(&str) -> bool) -> Vec<String> {
        let mut warnings = Vec::new();
        let verifier = self.given("verifier").map_or_else(|| DEFAULT_VERIFIER.to_owned(), Given::text);
        for place in OF_HTTP.iter().filter(|_| verifier != "http").filter_map(|name| self.place(name)) {
            warnings.push(format!("{place} has no effect, because verifier is {verifier}"));
        }
        for (name, variable) in OVERRIDDEN {
            if let Some(place) = self.place(name).filter(|_| is_variable(variable)) {
                warnings.push(format!("{place} has no effect, because {variable} is set"));
            }
        }
        warnings
    }
}

fn known_variables(command: &Command) -> Vec<String> {
    fn of_options(command: &Command, names: &mut Vec<String>) {
        let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
        names.extend(variables.map(str::to_owned));
        command.get_subcommands().for_each(|command| of_options(command, names));
    }
    let settings = arguments().iter().map(name).chain(SECRETS.map(|(name, _)| name)).chain([DB]);
    let mut names: Vec<_> = settings.map(variable).collect();
    names.extend(OTHERS.map(str::to_owned));
    of_options(command, &mut names);
    names
}

fn unknown(variables: &[(String, String)], known: &[String]) -> Vec<String> {
    let is_unknown = |name: &str| {
        name.starts_with(PREFIX) && !name.starts_with(OF_TESTS) && !known.iter().any(|known| known == name)
    };
    let unknown = variables.iter().filter(|(name, value)| is_unknown(name) && !is_of_kubernetes(name, value));
    let message = |(name, _): &(String, String)| {
        let rest = known.iter().filter_map(|known| known.strip_prefix(PREFIX));
        let meant = meant(&name[PREFIX.len()..], rest, PREFIX);
        format!("the variable {name} is unknown and has no effect{meant}")
    };
    unknown.map(message).collect()
}

/// The end of a message about an unknown name, which may be a misspelling of a known one.
pub(super) fn meant<'a>(typed: &str, known: impl Iterator<Item = &'a str>, prefix: &str) -> String {
    /// From 0 to 1; above it a name is suggested.
    const SIMILAR: f64 = 0.5;
    let similar = known.map(|name| (normalized_damerau_levenshtein(typed, name), name));
    let similar = similar.filter(|(similarity, _)| *similarity > SIMILAR);
    let nearest = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.map_or_else(String::new, |(_, name)| format!("; do you mean {prefix}{name}?"))
}

/// Kubernetes sets such variables for a service with the name `tidings`.
fn is_of_kubernetes(name: &str, value: &str) -> bool {
    let of_service = name.starts_with("TIDINGS_SERVICE_") || name.starts_with("TIDINGS_PORT_");
    of_service || value.starts_with("tcp://") || value.starts_with("udp://")
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::tests::settings;
    use super::*;

    #[test]
    fn no_removed_setting_exists() {
        assert_eq!(arguments().iter().map(name).find(|name| instead_of(name).is_some()), None);
    }

    #[test]
    fn a_setting_without_effect_is_named_with_the_reason() {
        let warnings = |given: &[_]| settings(given, Source::Flag).without_effect(|name| name == "RUST_LOG");
        let expected = [
            "--verifier-url has no effect, because verifier is roster",
            "--log-level has no effect, because RUST_LOG is set",
        ];
        assert_eq!(warnings(&[("verifier-url", "https://a.example"), ("log-level", "warn")]), expected);
        assert!(warnings(&[("verifier", "http"), ("verifier-url", "https://a.example")]).is_empty());
    }

    #[test]
    fn the_rules_name_settings() {
        let names: Vec<_> = arguments().iter().map(name).collect();
        for name in OF_HTTP.iter().chain(OVERRIDDEN.iter().map(|(name, _)| name)) {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn an_unknown_variable_is_named() {
        let known = known_variables(&Command::new("tidings"));
        let of = |name: &str, value: &str| unknown(&[(name.to_owned(), value.to_owned())], &known);
        let meant = "the variable TIDINGS_LISTN is unknown and has no effect; do you mean TIDINGS_LISTEN?";
        assert_eq!(of("TIDINGS_LISTN", "8080"), [meant]);
        assert_eq!(of("TIDINGS_QQQQ", "x"), ["the variable TIDINGS_QQQQ is unknown and has no effect"]);
        assert_eq!(of("TIDINGS_PORT", "8080").len(), 1);
        for (name, value) in [
            ("TIDINGS_LISTEN", "8080"),
            ("TIDINGS_TOKEN_KEY", "secret"),
            ("TIDINGS_PORT", "tcp://10.0.0.1:8080"),
            ("TIDINGS_SERVICE_HOST", "10.0.0.1"),
            ("PATH", "/bin"),
        ] {
            assert!(of(name, value).is_empty(), "{name}");
        }
    }
}
