//! The keys and colours that an administrator chose.

use std::fmt;

use crate::keys::Keymap;
use crate::theme::{Colours, Theme};

/// The keys and colours of the screens.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub(crate) keymap: Keymap,
    pub(crate) theme: Theme,
}

/// A setting of the screens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// Its name: `keys`, a table of keys and an action; or `theme` and a style.
    pub path: Vec<String>,
    /// The names of its keys, or its colour.
    pub values: Vec<String>,
}

/// The reason why the settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongPreference {
    /// The index of the setting that is wrong.
    pub index: usize,
    /// The rule that it breaks.
    pub rule: String,
}

impl fmt::Display for WrongPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)
    }
}

impl std::error::Error for WrongPreference {}

impl Preferences {
    /// Returns the preferences with the given settings, and without colours unless `colour` is set.
    ///
    /// ```
    /// use tidings_tui::{Preference, Preferences};
    ///
    /// let setting = |path: &[&str], value: &str| Preference {
    ///     path: path.iter().map(|name| (*name).to_owned()).collect(),
    ///     values: vec![value.to_owned()],
    /// };
    /// let keys = setting(&["keys", "notices", "new"], "Insert");
    /// let colour = setting(&["theme", "accent"], "pink-ish");
    /// assert!(Preferences::new(&[keys.clone()], true).is_ok());
    /// let wrong = Preferences::new(&[keys, colour], true).unwrap_err();
    /// assert_eq!(wrong.index, 1);
    /// assert!(wrong.rule.starts_with("there is no colour \"pink-ish\""));
    /// ```
    ///
    /// # Errors
    /// When there is no such action, key, style or colour, or two actions would have the same key.
    pub fn new(settings: &[Preference], colour: bool) -> Result<Self, WrongPreference> {
        let mut colours = Colours::default();
        let (mut keys, mut indices) = (Vec::new(), Vec::new());
        for (index, Preference { path, values }) in settings.iter().enumerate() {
            let wrong = |rule| WrongPreference { index, rule };
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            match (names.as_slice(), values.as_slice()) {
                (["keys", table, action], values) => {
                    keys.push((*table, *action, values));
                    indices.push(index);
                }
                (["theme", style], [value]) => colours.set(style, value).map_err(wrong)?,
                (["theme", _], _) => return Err(wrong("must be one colour".to_owned())),
                _ => {
                    return Err(wrong(
                        "there is no such setting: see keys.TABLE.ACTION and theme.STYLE".to_owned(),
                    ));
                }
            }
        }
        let keymap =
            Keymap::with(&keys).map_err(|(number, rule)| WrongPreference { index: indices[number], rule })?;
        Ok(Self { keymap, theme: Theme::new(colour.then_some(colours)) })
    }
}

#[cfg(test)]
impl Default for Preferences {
    /// Returns those of the tables, with colours.
    fn default() -> Self {
        Self { keymap: Keymap::default(), theme: Theme::new(Some(Colours::default())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &[&str])], colour: bool) -> Result<Preferences, WrongPreference> {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let settings: Vec<Preference> = settings
            .iter()
            .map(|(path, values)| Preference {
                path: texts(&path.split('.').collect::<Vec<_>>()),
                values: texts(values),
            })
            .collect();
        Preferences::new(&settings, colour)
    }

    #[test]
    fn colours_are_names_numbers_and_hex_and_none_without_colours() {
        let settings: [(&str, &[&str]); 3] =
            [("theme.accent", &["light-blue"]), ("theme.good", &["#7aa2f7"]), ("theme.bad", &["111"])];
        let theme = read(&settings, true).unwrap().theme;
        assert_eq!(
            [theme.accent(), theme.good(), theme.bad(), theme.attention()].map(|style| style.fg),
            [
                ratatui::style::Color::LightBlue,
                ratatui::style::Color::Rgb(0x7a, 0xa2, 0xf7),
                ratatui::style::Color::Indexed(111),
                ratatui::style::Color::Magenta,
            ]
            .map(Some)
        );
        let theme = read(&settings, false).unwrap().theme;
        assert!(
            [theme.accent(), theme.good(), theme.bad(), theme.attention()].iter().all(|one| one.fg.is_none())
        );
    }

    #[test]
    fn a_wrong_setting_is_refused_with_its_index() {
        let good: (&str, &[&str]) = ("theme.accent", &["blue"]);
        let refused = |path: &str, values: &[&str]| {
            let wrong = read(&[good, (path, values)], true).unwrap_err();
            assert_eq!(wrong.index, 1, "{wrong}");
            wrong.rule
        };
        assert!(refused("theme.loud", &["red"]).starts_with("there is no style \"loud\""));
        assert!(refused("theme.bad", &["rot"]).starts_with("there is no colour \"rot\""));
        assert_eq!(refused("theme.bad", &["red", "blue"]), "must be one colour");
        assert!(refused("mouse", &["off"]).starts_with("there is no such setting"));
        assert!(refused("keys.notices.new", &["e"]).starts_with("e is already the key of notices.edit"));
    }
}
