//! Generates `docs/settings.md` from the tables of settings.

use std::fmt::Write as _;
use std::path::Path;

use tidings_core::config::SETTINGS;
use tidings_core::config::setting::{EXPERIMENTAL, Form};

use super::{ENTRIES, Entry};

const INTRODUCTION: &str = "\
# Settings

Each setting is a flag, an environment variable and a key of the TOML file: `--base-path /api`,
`TIDINGS_BASE_PATH=/api`, `base-path = \"/api\"`. A flag precedes a variable, a variable the file, the file the default.
The file is `./tidings.toml`, or the one that `--config` or `TIDINGS_CONFIG` names. `tidings config` shows the settings in
force and where each comes from. The [experimental settings](#experimental) are also keys of a table `experimental`.

This file is generated. A test compares it with the program; `WRITE_DOCS=1 cargo test -p tidings-cli --bins` writes it.
";

const INTO_EXPERIMENTAL: &str = "
The weights and half-lives of the feeds. They suit most stores, the weights of the recommended feed are learned, and an operator
can hardly judge them: their names and meanings may change. In the TOML file they belong into the table `experimental`; `serve
-h` does not list them.
";

fn document() -> String {
    let mut document = INTRODUCTION.to_owned();
    for heading in SETTINGS.iter().map(|group| group.heading) {
        let title = if heading.is_empty() { "General" } else { heading };
        let about = if heading == EXPERIMENTAL { INTO_EXPERIMENTAL } else { "" };
        write!(document, "\n## {title}\n{about}\n| setting | default | values | |\n|---|---|---|---|\n")
            .unwrap();
        for entry in ENTRIES.iter().filter(|entry| entry.heading == heading) {
            document.push_str(&row(entry));
        }
    }
    document
}

fn row(entry: &Entry) -> String {
    let about = entry.about;
    let name = match about.form {
        Form::Secret => format!("`{}`, no flag and no key", about.variable()),
        _ => format!("`{}`", about.name),
    };
    let default = entry.default.as_ref().map(|value| about.form.text(value)).filter(|text| !text.is_empty());
    let default = default.map_or_else(|| about.unset.to_owned(), |text| format!("`{text}`"));
    let bounds = about.form.bounds();
    let values = if bounds.is_empty() { about.placeholder } else { &bounds };
    let cells = [name, default, values.to_owned(), about.help()].map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
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
