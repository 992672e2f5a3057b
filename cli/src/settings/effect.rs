//! Settings that have no effect, and variables that are no settings. The server names them when it starts.

use clap::Command;

use super::{ENTRIES, Settings};
use crate::given::similarity;

/// Settings that have no effect while another one has a value like this.
struct Rule {
    settings: &'static [&'static str],
    other: &'static str,
    is_off: fn(&str) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        settings: &["verifier-url", "verifier-timeout", "verifier-allow-plain-http", "school-ids"],
        other: "verifier",
        is_off: |verifier| verifier != "http",
    },
    Rule { settings: &["sign-up-burst"], other: "sign-up-limit", is_off: |limit| limit == "off" },
    Rule { settings: &["log-lines-per-client"], other: "analytics", is_off: |analytics| analytics == "off" },
    Rule { settings: &["novel-half-life"], other: "novel-weight", is_off: is_zero },
    Rule {
        settings: &["recent-half-life", "recent-half-life-growth"],
        other: "recent-weight",
        is_off: is_zero,
    },
];

/// Settings that a variable overrides.
const OVERRIDDEN: [(&str, &str); 3] = [
    ("token-key-file", "TIDINGS_TOKEN_KEY"),
    ("token-key-previous-file", "TIDINGS_TOKEN_KEY_PREVIOUS"),
    ("log-level", "RUST_LOG"),
];

/// The variables that are neither settings nor options: a secret, and one of tests.
const OTHERS: [&str; 2] = ["TIDINGS_SERVER_KEY", "TIDINGS_STORE_REPLAY"];
const PREFIX: &str = "TIDINGS_";
const OF_TESTS: &str = "TIDINGS_TEST_";

fn is_zero(text: &str) -> bool {
    text.parse() == Ok(0.0)
}

impl Settings {
    /// Returns a sentence about each setting that is set and has no effect, and about each unknown variable of `command`.
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
        for Rule { settings, other, is_off } in RULES {
            let value = self.text(other);
            for place in settings.iter().filter(|_| is_off(&value)).filter_map(|name| self.place(name)) {
                warnings.push(format!("{place} has no effect, because {other} is {value}"));
            }
        }
        for (name, variable) in OVERRIDDEN {
            if let Some(place) = self.place(name).filter(|_| is_variable(variable)) {
                warnings.push(format!("{place} has no effect, because {variable} is set"));
            }
        }
        warnings
    }

    /// Returns the value in force as text.
    fn text(&self, name: &str) -> String {
        let Some(entry) = ENTRIES.iter().find(|entry| entry.about.name == name) else { return String::new() };
        let value = self.given(name).map(|given| &given.value).or(entry.default.as_ref());
        value.map(|value| entry.about.form.text(value)).unwrap_or_default()
    }
}

/// Returns the variables of the settings, and of the options of a command and its subcommands.
fn known_variables(command: &Command) -> Vec<String> {
    fn of_options(command: &Command, names: &mut Vec<String>) {
        let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
        names.extend(variables.map(str::to_owned));
        command.get_subcommands().for_each(|command| of_options(command, names));
    }
    let mut names: Vec<_> = ENTRIES.iter().map(|entry| entry.about.variable()).collect();
    names.extend(OTHERS.map(str::to_owned));
    of_options(command, &mut names);
    names
}

/// Returns a sentence about each variable that has the prefix of settings and is none of the known ones.
fn unknown(variables: &[(String, String)], known: &[String]) -> Vec<String> {
    let is_unknown = |name: &str| {
        name.starts_with(PREFIX) && !name.starts_with(OF_TESTS) && !known.iter().any(|known| known == name)
    };
    let unknown = variables.iter().filter(|(name, value)| is_unknown(name) && !is_of_kubernetes(name, value));
    unknown
        .map(|(name, _)| {
            let rest = |name: &str| name.strip_prefix(PREFIX).unwrap_or_default().to_owned();
            let similar =
                known.iter().filter_map(|known| Some((similarity(&rest(name), &rest(known))?, known)));
            let nearest = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
            let meant = nearest.map(|(_, known)| format!("; do you mean {known}?")).unwrap_or_default();
            format!("the variable {name} is unknown and has no effect{meant}")
        })
        .collect()
}

/// Returns whether Kubernetes sets a variable for a service with the name `tidings`.
fn is_of_kubernetes(name: &str, value: &str) -> bool {
    let of_service = name.starts_with("TIDINGS_SERVICE_") || name.starts_with("TIDINGS_PORT_");
    of_service || value.starts_with("tcp://") || value.starts_with("udp://")
}

#[cfg(test)]
mod tests {
    use tidings_core::config::setting::{Form, Value};

    use super::super::{Given, Source};
    use super::*;

    fn settings(given: &[(&'static str, &str)]) -> Settings {
        let given = given.iter().map(|(name, text)| {
            let form = ENTRIES.iter().find(|entry| entry.about.name == *name).unwrap().about.form;
            let value =
                if form == Form::Text { Value::Text((*text).into()) } else { form.parse(text).unwrap() };
            (*name, Given { value, source: Source::Flag })
        });
        Settings { given: given.collect(), ..Settings::default() }
    }

    #[test]
    fn a_setting_without_effect_is_named_with_the_reason() {
        let warnings = |given: &[_]| settings(given).without_effect(|variable| variable == "RUST_LOG");
        assert_eq!(
            warnings(&[("verifier-url", "https://a.example"), ("sign-up-burst", "5"), ("log-level", "warn")]),
            [
                "--verifier-url has no effect, because verifier is roster",
                "--log-level has no effect, because RUST_LOG is set"
            ]
        );
        assert_eq!(
            warnings(&[
                ("sign-up-burst", "5"),
                ("sign-up-limit", "off"),
                ("novel-half-life", "2"),
                ("novel-weight", "0")
            ]),
            [
                "--sign-up-burst has no effect, because sign-up-limit is off",
                "--novel-half-life has no effect, because novel-weight is 0"
            ]
        );
        assert!(warnings(&[("verifier", "http"), ("verifier-url", "https://a.example")]).is_empty());
    }

    #[test]
    fn the_rules_name_settings() {
        let names: Vec<_> = ENTRIES.iter().map(|entry| entry.about.name).collect();
        let of_rules = RULES.iter().flat_map(|rule| rule.settings.iter().chain([&rule.other]));
        for name in of_rules.chain(OVERRIDDEN.iter().map(|(name, _)| name)) {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn an_unknown_variable_is_named() {
        let known = known_variables(&Command::new("tidings"));
        let of = |name: &str, value: &str| unknown(&[(name.to_owned(), value.to_owned())], &known);
        assert_eq!(
            of("TIDINGS_LISTN", "8080"),
            ["the variable TIDINGS_LISTN is unknown and has no effect; do you mean TIDINGS_LISTEN?"]
        );
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
