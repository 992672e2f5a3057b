//! Tests of the settings. One of them writes `docs/settings.md`.

use std::fmt::Write as _;

use clap::builder::PossibleValue;

use super::*;

pub(super) fn settings(given: &[(&'static str, &str)], source: Source) -> Settings {
    let given = given.iter().map(|(name, text)| (*name, Given { texts: vec![text.into()], source }));
    Settings { given: given.collect(), ..Settings::default() }
}

#[test]
fn no_two_settings_have_the_same_name() {
    let mut names: Vec<_> = arguments().iter().map(name).chain(SECRETS.map(|(name, _)| name)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn the_defaults_keep_their_own_rules() {
    let settings = Settings::default();
    let _ = (settings.own().unwrap(), settings.core().unwrap(), settings.server().unwrap());
}

#[test]
fn a_password_in_the_address_of_a_mail_server_is_not_shown() {
    let settings = settings(&[("smtp-url", "smtp://ann:secret@mail.example.org")], Source::Environment);
    let refused = "invalid value 'smtp://ann:***@mail.example.org' for TIDINGS_SMTP_URL: must not have the password: \
                   name a file with it in smtp-password-file";
    assert_eq!(settings.core().unwrap_err().message, refused);
}

#[test]
fn a_level_is_known_or_refused() {
    for text in
        ["error", "INFO", "off", "tidings=debug", "warn,tidings_server=trace,hyper=off", "[span]=debug"]
    {
        LogLevel::parse(text).unwrap();
    }
    for text in [
        "warning",
        "WARNING",
        "err",
        "info ",
        "",
        "tidings=warning",
        "=debug",
        "info, hyper=warn",
        "info,,warn",
    ] {
        let refused = LogLevel::parse(text).err().unwrap_or_default();
        let rule = "must be error, warn, info, debug, trace or off, or directives";
        assert!(refused.contains(rule), "{text:?}");
    }
}

const INTRODUCTION: &str = "\
# Settings

Each setting is a flag, an environment variable and a key of the TOML file: `--base-path /api`,
`TIDINGS_BASE_PATH=/api`, `base-path = \"/api\"`. A flag precedes a variable, a variable the file, the file the default.
The file is `./tidings.toml`, or the one that `--config` or `TIDINGS_CONFIG` names. `tidings config` shows the settings in
force and where each comes from. `db`, the database, is an option of every command.

This file is generated. A test compares it with the program; `WRITE_DOCS=1 cargo test -p tidings-cli --bins` writes it.
";

fn document() -> String {
    let mut document = INTRODUCTION.to_owned();
    let mut headings: Vec<_> = arguments().iter().map(Arg::get_help_heading).collect();
    headings.sort_by_key(|heading| arguments().iter().position(|one| one.get_help_heading() == *heading));
    headings.dedup();
    for heading in headings {
        let title = heading.unwrap_or("General");
        write!(document, "\n## {title}\n\n| setting | default | values | |\n|---|---|---|---|\n").unwrap();
        for argument in arguments().iter().filter(|argument| argument.get_help_heading() == heading) {
            document.push_str(&row(argument));
        }
    }
    document.push_str("\n## Secrets\n\nOnly a variable can hold these.\n\n| variable | |\n|---|---|\n");
    for (name, help) in SECRETS {
        writeln!(document, "| `{}` | {help} |", variable(name)).unwrap();
    }
    document
}

fn row(argument: &Arg) -> String {
    let default = default(argument).filter(|_| !is_flag(argument));
    let words: Vec<_> = argument.get_possible_values();
    let words: Vec<_> = words.iter().map(PossibleValue::get_name).collect();
    let values = match (&*words, argument.get_value_names()) {
        ([], Some(names)) => names.join(" "),
        (words, _) => words.join(", "),
    };
    let default = default.map(|default| format!("`{default}`")).unwrap_or_default();
    let cells = [
        format!("`{}`", name(argument)),
        default,
        values,
        argument.get_help().map(ToString::to_string).unwrap_or_default(),
    ];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

#[test]
fn the_documentation_lists_every_setting_as_the_program_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, document()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document(),
        "docs/settings.md is stale: write it with WRITE_DOCS=1 cargo test -p tidings-cli --bins"
    );
}
