//! `tidings config`: the settings in force and the source of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tidings_tests::{Output, command, run};

use super::without_database;

/// A value for each setting that has no default.
const WITHOUT_DEFAULT: [(&str, &str); 28] = [
    ("base-path", "/api"),
    ("cors-origin", "https://app.example.org"),
    ("trust-proxy", "10.0.0.0/8"),
    ("tls-cert", "cert.pem"),
    ("tls-key", "key.pem"),
    ("rate-limit", "50"),
    ("metrics-listen", "127.0.0.1:9100"),
    ("token-key-file", "the.key"),
    ("token-key-previous-file", "the.key"),
    ("verifier-url", "https://campus.example.org/verify"),
    ("extra-ca", "ca.pem"),
    ("public-url", "https://campus.example/api"),
    ("app-url", "https://app.example"),
    ("smtp-url", "smtps://tidings@mail.example.org"),
    ("smtp-password-file", "smtp.password"),
    ("mail-from", "Campus <no-reply@campus.example>"),
    ("mail-templates", "mail"),
    ("oidc-issuer", "https://login.campus.example"),
    ("oidc-client-id", "campus"),
    ("oidc-client-secret-file", "oidc.secret"),
    ("oidc-pages", "https://app.example/signed-in"),
    ("oidc-groups", "students"),
    ("oidc-domains", "campus.example"),
    ("passkey-domain", "app.example"),
    ("school-ids", "^s"),
    ("popular-half-life", "2.5"),
    ("timezone", "Asia/Seoul"),
    ("trend-blocklist", "blocked.txt"),
];

/// Settings that are not flags of `serve`.
const OTHERS: [&str; 5] = ["config", "db", "oidc-client-secret", "token-key", "token-key-previous"];

type Settings = BTreeMap<String, (Value, String)>;

fn settings(output: &Output) -> Settings {
    let object = output.json();
    let setting = |setting: &Value| {
        let text = |name: &str| setting[name].as_str().unwrap().to_owned();
        (text("name"), (setting["value"].clone(), text("source")))
    };
    object["settings"].as_array().unwrap().iter().map(setting).collect()
}

/// Returns a value for every setting of `serve`, by name.
fn values(directory: &Path) -> BTreeMap<String, String> {
    let defaults = settings(&without_database(directory, &["config", "--json"]).succeeded());
    let mut values: BTreeMap<String, String> = defaults
        .into_iter()
        .filter(|(name, _)| !OTHERS.contains(&&**name))
        .map(|(name, (value, source))| {
            assert_eq!(source, "default", "{name}");
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let list = value.as_array().map(|texts| texts.iter().map(text).collect::<Vec<_>>().join(","));
            let value = list.unwrap_or_else(|| text(&value));
            let given = WITHOUT_DEFAULT.iter().find(|(other, _)| *other == name);
            (name, given.map_or(value, |(_, value)| (*value).to_owned()))
        })
        .collect();
    assert!(values.values().all(|value| value != "null"), "{values:?}");
    values.insert("no-docs".into(), "true".into());
    values
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("the.key"), "k".repeat(32)).unwrap();
    std::fs::write(directory.path().join("blocked.txt"), "spam\n").unwrap();
    directory
}

#[test]
fn every_setting_means_the_same_as_flag_variable_and_file_entry() {
    let directory = directory();
    let values = values(directory.path());
    let toml = |value: &str| match value {
        "true" | "false" => value.to_owned(),
        number if number.parse::<f64>().is_ok() => number.to_owned(),
        text => format!("{text:?}"),
    };
    let lists = ["cors-origin", "trust-proxy", "oidc-pages", "oidc-groups", "oidc-domains"];
    let lines = values.iter().map(|(name, value)| {
        let list = || value.split(',').map(toml).collect::<Vec<_>>().join(", ");
        let value = if lists.contains(&&**name) { format!("[{}]", list()) } else { toml(value) };
        format!("{name} = {value}\n")
    });
    std::fs::write(directory.path().join("all.toml"), lines.collect::<String>()).unwrap();
    let from = |configure: &dyn Fn(&mut std::process::Command)| {
        let mut config = command();
        config.current_dir(directory.path()).args(["config", "--json"]);
        configure(&mut config);
        settings(&run(config, "").succeeded())
    };
    let file = from(&|config| {
        config.args(["--config", "all.toml"]);
    });
    let environment = from(&|config| {
        for (name, value) in &values {
            config.env(format!("TIDINGS_{}", name.replace('-', "_").to_uppercase()), value);
        }
    });
    let flags = from(&|config| {
        for (name, value) in &values {
            config.arg(format!("--{name}={value}"));
        }
    });
    for name in values.keys() {
        let (value, source) = &file[name];
        assert_eq!(source, "file", "{name}");
        assert_eq!(environment[name], (value.clone(), "environment".to_owned()), "{name}");
        assert_eq!(flags[name], (value.clone(), "flag".to_owned()), "{name}");
        assert!(!value.is_null(), "{name}");
    }
    let help = without_database(directory.path(), &["serve", "--help"]).succeeded().stdout;
    for name in values.keys() {
        assert!(help.contains(&format!("--{name} ")) || help.contains(&format!("--{name}[")), "{name}");
    }
    // A flag overrides a variable, which overrides the file.
    let mixed = from(&|config| {
        config.args(["--config", "all.toml", "--pw-min", "9"]).env("TIDINGS_PW_MIN", "10");
        config.env("TIDINGS_LOG_DAYS", "4").env("TIDINGS_DB", "there.db");
    });
    assert_eq!(mixed["pw-min"], (json!(9), "flag".to_owned()));
    assert_eq!(mixed["log-days"], (json!(4), "environment".to_owned()));
    assert_eq!(mixed["token-days"], (json!(30), "file".to_owned()));
    assert_eq!(mixed["db"], (json!("there.db"), "environment".to_owned()));
    assert_eq!(mixed["config"], (json!("all.toml"), "flag".to_owned()));
}

#[test]
fn the_settings_in_force_are_a_table_for_people() {
    let directory = directory();
    std::fs::write(directory.path().join("tidings.toml"), "pw-min = 12\ndb = \"campus.db\"\n").unwrap();
    let printed = without_database(directory.path(), &["config", "--listen", "0.0.0.0:80"]).succeeded();
    let first: Vec<&str> = printed.stdout.lines().take(7).map(str::trim_end).collect();
    insta::assert_snapshot!(first.join("\n"), @r"
    Setting                    Value               From
    config                     tidings.toml        default
    db                         campus.db           file
    token-key                  none                default
    token-key-previous         none                default
    oidc-client-secret         none                default
    listen                     0.0.0.0:80          flag
    ");
    let line = printed.stdout.lines().find(|line| line.starts_with("pw-min ")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["pw-min", "12", "file"]);
    assert!(!directory.path().join("campus.db").exists(), "no database is created");
}

#[test]
fn secrets_are_masked() {
    let directory = directory();
    let mut config = command();
    config.current_dir(directory.path()).args(["config", "--json"]);
    config.env("TIDINGS_TOKEN_KEY", "a secret signing key that must not be printed");
    config.env("TIDINGS_TOKEN_KEY_PREVIOUS", "the previous signing key that must not be printed");
    config.env("TIDINGS_VERIFIER_URL", "https://tidings:hunter2@campus.example.org/verify");
    let output = run(config, "").succeeded();
    let settings = settings(&output);
    assert_eq!(settings["token-key"], (json!("***"), "environment".to_owned()));
    assert_eq!(settings["token-key-previous"], (json!("***"), "environment".to_owned()));
    assert_eq!(settings["verifier-url"].0, "https://tidings:***@campus.example.org/verify");
    assert!(
        !output.stdout.contains("must not be printed") && !output.stdout.contains("hunter2"),
        "{output:?}"
    );
}

#[test]
fn a_bad_setting_in_a_file_is_named_with_its_line() {
    let directory = directory();
    for (text, line, named) in [
        ("pw-min = 8\npassword-min = 8\n", 2, "password-min"),
        ("# a remark\n\nlog-days = \"many\"\n", 3, "log-days"),
        ("pw-min = 8\nverifier = \"oracle\"\n", 2, "oracle"),
        ("pw-min = 8\npw-min = 9\n", 2, "pw-min"),
        ("pw-min = \n", 1, ""),
        ("no-docs = true\n\nbase-path = \"/a b\"\n", 3, "base-path"),
        ("log-days = 3\npw-min = 0\n", 2, "error: invalid value '0' for tidings.toml, line 2, pw-min: "),
        (
            "\nschool-ids = \"(\"\nverifier = \"http\"\nverifier-url = \"http://127.0.0.1:1/\"\n",
            2,
            "school-ids",
        ),
        ("\n\nverifier = \"http\"\n", 3, "verifier-url"),
        ("verifier = \"http\"\nverifier-url = \"http://campus.example.org/verify\"\n", 2, "verifier-url"),
        ("pw-min = 8\ntoken-key-previous-file = \"blocked.txt\"\n", 2, "token-key-previous-file"),
        ("pw-min = 8\ntoken-key-file = \"none.key\"\n", 2, "token-key-file"),
        ("pw-min = 8\ntrend-blocklist = \"none.txt\"\n", 2, "trend-blocklist"),
        ("timezone = \"Mars/Olympus\"\n", 1, "timezone"),
        ("pw-min = 8\nsign-up-limit = 5\n", 2, "\"sign-up-limit\" was removed: client-limits"),
        ("pw-min = 8\n[experimental]\nnear-weight = 1\n", 2, "\"experimental\" was removed"),
        ("log-days = 3\npw_min = 8\n", 2, "there is no setting \"pw_min\"; do you mean pw-min?"),
        ("lissten = 3\n", 1, "there is no setting \"lissten\"; do you mean listen?"),
        // Only a setting with nearly the same name is suggested.
        ("port = 3\n", 1, "there is no setting \"port\"\n"),
        ("[serve]\nlog-days = 3\n", 1, "there is no setting \"serve\"\n"),
    ] {
        std::fs::write(directory.path().join("tidings.toml"), text).unwrap();
        for args in [&["config"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let output = without_database(directory.path(), args);
            assert_eq!((output.status, &*output.stdout), (2, ""), "{text:?} {args:?} {output:?}");
            let says = |text: &str| output.stderr.contains(text);
            assert!(
                says("tidings.toml") && says(&format!("line {line}")) && says(named),
                "{text:?} {output:?}"
            );
        }
    }
    assert!(!directory.path().join("tidings.db").exists(), "no database is created");
    // A valid flag overrides the invalid entry of the file.
    std::fs::write(directory.path().join("tidings.toml"), "base-path = \"/a b\"\n").unwrap();
    let _ = without_database(directory.path(), &["config", "--base-path", "/a"]).succeeded();
    let flag = without_database(directory.path(), &["config", "--base-path", "/c d"]);
    assert_eq!(flag.status, 2);
    assert!(!flag.stderr.contains("tidings.toml"), "the error must not name the file: {flag:?}");
    let object = without_database(directory.path(), &["config", "--json"]);
    assert_eq!((object.status, &object.json()["result"]), (2, &json!("bad request")));
}

#[test]
fn a_bad_variable_is_named() {
    let directory = directory();
    let with = |variable: &str, value: &str, args: &[&str]| {
        let mut config = command();
        config.current_dir(directory.path()).args(args).env(variable, value);
        run(config, "")
    };
    for (variable, value, message) in [
        ("TIDINGS_PW_MIN", "many", "invalid value 'many' for TIDINGS_PW_MIN: invalid digit found in string"),
        (
            "TIDINGS_VERIFIER",
            "oracle",
            "invalid value 'oracle' for TIDINGS_VERIFIER: it is one of none, roster, http",
        ),
        (
            "TIDINGS_PUBLIC_URL",
            "campus.example",
            "invalid value 'campus.example' for TIDINGS_PUBLIC_URL: must be an address that begins with https:// or \
             http://, without a user and a query",
        ),
        ("TIDINGS_TOKEN_KEY", "short", "TIDINGS_TOKEN_KEY: the key has fewer than 32 bytes"),
        (
            "TIDINGS_TOKEN_KEY_PREVIOUS",
            "short",
            "TIDINGS_TOKEN_KEY_PREVIOUS: the key has fewer than 32 bytes",
        ),
        (
            "TIDINGS_SMTP_CA",
            "ca.pem",
            "TIDINGS_SMTP_CA was removed: extra-ca names a file of certificates that every connection trusts too",
        ),
    ] {
        let output = with(variable, value, &["init"]);
        assert_eq!((output.status, output.stderr.trim_end()), (2, &*format!("error: {message}")));
    }
    let flag = with("TIDINGS_PW_MIN", "8", &["config", "--pw-min=many"]);
    assert!(flag.status == 2 && flag.stderr.contains("--pw-min"), "{flag:?}");
    assert!(!flag.stderr.contains("TIDINGS_"), "{flag:?}");
}

#[test]
fn a_bad_or_removed_flag_is_named() {
    let directory = directory();
    for (args, says) in [
        (&["--pw-min", "200"][..], "error: invalid value '200' for --pw-min: "),
        (&["--trust-proxy", "localhost"], "--trust-proxy"),
        (&["--verifier", "http"], "verifier-url"),
        (&["--rate-limit", "0"], "--rate-limit"),
        (&["--token-days", "-1"], "error: "),
        (&["--sign-in-slowing", "maybe"], "--sign-in-slowing"),
        (&["--log-format", "xml"], "--log-format"),
        (&["--sign-up-limit", "5"], "error: --sign-up-limit was removed: client-limits"),
        (&["--webhook-ca", "5"], "error: --webhook-ca was removed: extra-ca"),
        (&["--source-private", "5"], "error: --source-private was removed: private-addresses"),
        (&["--reset-url", "5"], "error: --reset-url was removed: app-url"),
        (&["--near-weight", "5"], "error: --near-weight was removed: the weights of the feeds are learned"),
        (&["--pw-max", "5"], "error: --pw-max was removed: its value is fixed"),
    ] {
        let refused =
            without_database(directory.path(), &[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        assert!(refused.status == 2 && refused.stderr.contains(says), "{says}: {refused:?}");
    }
    let address = without_database(directory.path(), &["config", "--listen", "nowhere"]);
    assert!(address.stderr.contains("an IP address and a port, such as 127.0.0.1:8080"), "{address:?}");
}
