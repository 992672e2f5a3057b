//! Generates `docs/settings.md` from the tables of settings.

use std::fmt::Write as _;
use std::path::Path;

use clap::Arg;
use clap::builder::PossibleValue;

use super::{SECRETS, arguments, default, is_flag, name, variable};

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
