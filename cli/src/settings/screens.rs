//! Reads the settings of the terminal UI: the table `tui` of the TOML file, which has no flags and no variables.

use std::path::Path;

use tidings_tui::{Preference, Preferences};
use toml::de::{DeTable, DeValue};

use super::file::{self, SCREENS};
use crate::failure::Failure;

/// Returns the keys and colours of the terminal UI, without colours unless `colour` is set.
///
/// # Errors
/// When the file cannot be read, or one of the settings is wrong, with its line.
pub(crate) fn preferences(named: Option<&Path>, colour: bool) -> Result<Preferences, Failure> {
    let (path, text) = file::text(named)?;
    from_text(&text, &path, colour)
}

fn from_text(text: &str, path: &Path, colour: bool) -> Result<Preferences, Failure> {
    let table = DeTable::parse(text).map_err(|error| file::malformed(path, &error))?;
    let (mut settings, mut lines) = (Vec::new(), Vec::new());
    if let Some((key, value)) = table.get_ref().iter().find(|(key, _)| key.get_ref() == SCREENS) {
        let mut leaves = Vec::new();
        collect(&mut vec![SCREENS.to_owned()], value.get_ref(), key.span().start, &mut leaves);
        // In the order of the file, so that the first mistake is reported.
        leaves.sort_by_key(|leaf| leaf.at);
        for Leaf { path: names, values, at } in leaves {
            let line = file::line_at(text, at);
            let values = values.ok_or_else(|| {
                let name = names.join(".");
                Failure::usage(format!(
                    "{}, line {line}, {name}: must be a text or a list of texts",
                    path.display()
                ))
            })?;
            lines.push((line, names.join(".")));
            settings.push(Preference { path: names[1..].to_vec(), values });
        }
    }
    Preferences::new(&settings, colour).map_err(|wrong| {
        let (line, name) = &lines[wrong.index];
        Failure::usage(format!("{}, line {line}, {name}: {wrong}", path.display()))
    })
}

/// A value that is no table.
struct Leaf {
    path: Vec<String>,
    /// The texts; `None` if it is anything else.
    values: Option<Vec<String>>,
    at: usize,
}

fn collect(path: &mut Vec<String>, value: &DeValue<'_>, at: usize, leaves: &mut Vec<Leaf>) {
    let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned);
    let values = match value {
        DeValue::Table(table) => {
            for (key, value) in table {
                path.push(key.get_ref().to_string());
                collect(path, value.get_ref(), key.span().start, leaves);
                path.pop();
            }
            return;
        }
        DeValue::Array(items) => items.iter().map(|item| text(item.get_ref())).collect(),
        value => text(value).map(|text| vec![text]),
    };
    leaves.push(Leaf { path: path.clone(), values, at });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Preferences, String> {
        from_text(text, Path::new("here.toml"), true).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn keys_and_colours_are_read_from_tables_or_dotted_names() {
        for text in [
            "",
            "listen = \"127.0.0.1:80\"",
            "[tui.keys.notices]\nnew = \"a\"\nedit = [\"n\", \"F4\"]\n[tui.theme]\naccent = \"blue\"",
            "[tui]\nkeys.notices.new = \"a\"\ntheme.accent = \"#7aa2f7\"",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        for (text, said) in [
            ("tui = 1", "here.toml, line 1, tui: must be a text or a list of texts"),
            ("[tui]\nmouse = \"off\"", "here.toml, line 2, tui.mouse: there is no such setting"),
            ("\n[tui.keys.notices]\nnew = 1", "here.toml, line 3, tui.keys.notices.new: must be a text"),
            (
                "[tui.keys.notices]\nnw = \"a\"",
                "here.toml, line 2, tui.keys.notices.nw: there is no action \"nw\"",
            ),
            (
                "[tui.keys.notices]\nnew = \"a\"\nremove = \"a\"",
                "here.toml, line 3, tui.keys.notices.remove: a is already the key of notices.new",
            ),
            (
                "[tui.theme]\ngood = \"grün\"",
                "here.toml, line 2, tui.theme.good: there is no colour \"grün\"",
            ),
            ("[tui", "here.toml: "),
        ] {
            let failure = read(text).unwrap_err();
            assert!(failure.starts_with(said), "{failure}");
        }
    }
}
