//! Reads the settings. A flag takes precedence over its `TIDINGS_…` variable, then the TOML file, then the default.
//!
//! Three tables define the settings: those of the core, the server and the command line (`own`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tidings_core::Location;
use tidings_core::config::setting::{About, EXPERIMENTAL, Form, Group, Value};
use tidings_core::config::{Config, Invalid, SETTINGS, Secret};
use tidings_core::location::masked;

use crate::failure::Failure;

#[cfg(test)]
mod document;
mod effect;
mod file;
mod flags;
mod own;

pub(crate) use file::found;
pub(crate) use flags::wrong_variable;
pub(crate) use own::{LogFormat, LogLevel, Own};

/// A setting of one of the tables.
pub(crate) struct Entry {
    pub(crate) about: About,
    /// The heading of its group in the help.
    heading: &'static str,
    pub(crate) default: Option<Value>,
}

/// The name of the flag for the database, which every command has.
pub(crate) const DB: &str = "db";

/// All settings in the order of the help.
pub(crate) static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    /// Settings that the help lists before a setting of a different table.
    const BEFORE: [(&str, &str); 4] = [
        ("query-timeout", "max-connections"),
        ("log-format", "log-auth-failures"),
        ("log-level", "log-auth-failures"),
        ("analytics", "log-days"),
    ];
    let mut entries = entries_of(own::SETTINGS);
    entries.extend(entries_of(tidings_server::SETTINGS));
    entries.extend(entries_of(SETTINGS));
    // The table of the core has every heading.
    entries.sort_by_key(|entry| SETTINGS.iter().position(|group| group.heading == entry.heading));
    for (name, other) in BEFORE {
        let position = |entries: &[Entry], name| entries.iter().position(|entry| entry.about.name == name);
        let entry = entries.remove(position(&entries, name).expect("a setting"));
        entries.insert(position(&entries, other).expect("a setting"), entry);
    }
    entries
});

fn entries_of<C: Default>(table: &[Group<C>]) -> Vec<Entry> {
    let config = C::default();
    let all =
        table.iter().flat_map(|group| group.settings.iter().map(move |setting| (group.heading, setting)));
    all.map(|(heading, setting)| Entry { about: setting.about, heading, default: setting.get(&config) })
        .collect()
}

impl Entry {
    /// Returns whether `serve` and `config` have a flag for the setting.
    pub(crate) fn is_flag(&self) -> bool {
        self.about.name != DB && self.about.form != Form::Secret
    }

    /// Returns whether the setting belongs to the table `experimental` of the TOML file, and is only in the long help.
    pub(crate) fn is_experimental(&self) -> bool {
        self.heading == EXPERIMENTAL
    }

    /// Returns the help with the default.
    pub(crate) fn help(&self) -> String {
        let help = self.about.help();
        match self.default_in_words() {
            Some(default) => format!("{help} [default: {default}]"),
            None => help,
        }
    }

    /// Returns the default for people; `None` for a flag that is off.
    fn default_in_words(&self) -> Option<String> {
        match &self.default {
            None => Some(self.about.unset.to_owned()).filter(|words| !words.is_empty()),
            Some(Value::Bool(false)) if self.about.form == Form::Flag => None,
            Some(value) => Some(self.about.form.text(value)).filter(|text| !text.is_empty()),
        }
    }
}

/// Returns the help of a setting with its default.
pub(crate) fn help(name: &str) -> String {
    ENTRIES.iter().find(|entry| entry.about.name == name).map(Entry::help).unwrap_or_default()
}

/// The settings that have been set, by name; all others have their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    given: BTreeMap<&'static str, Given>,
    /// The TOML file that was read.
    file: PathBuf,
    /// The source of the TOML file's name.
    config: Option<Source>,
}

#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// The source of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment,
    /// The TOML file, with the line.
    File(usize),
}

impl Settings {
    /// Adds unset settings from the environment, for a command without flags for them, and then from the TOML file.
    ///
    /// # Errors
    /// When the file cannot be read or has an unknown key or a value of the wrong form, with its line; when a variable has
    /// a value of the wrong form.
    pub(crate) fn complete(mut self, file: Option<&Path>) -> Result<Self, Failure> {
        let (path, in_file) = file::read(file)?;
        for (name, given) in flags::from_environment()?.into_iter().chain(in_file) {
            self.given.entry(name).or_insert(given);
        }
        Ok(Self { file: path, ..self })
    }

    /// Returns the value and the source of a setting if it is set.
    pub(crate) fn given(&self, name: &str) -> Option<&Given> {
        self.given.get(name)
    }

    /// Sets a setting as it is in `other`.
    pub(crate) fn take(&mut self, name: &'static str, other: &Self) {
        match other.given(name) {
            Some(given) => self.given.insert(name, given.clone()),
            None => self.given.remove(name),
        };
    }

    /// Returns the location of the database in the TOML file, or the default.
    pub(crate) fn database(&self) -> Location {
        match self.given(DB) {
            Some(Given { value: Value::Text(location), .. }) => location.into(),
            _ => Own::default().db,
        }
    }

    /// Returns the source of the TOML file's name, if it was named.
    pub(crate) fn source_of_config(&self) -> Option<Source> {
        self.config
    }

    /// Returns the settings of the core. Also checks the files with token keys, because the database may not exist yet.
    ///
    /// # Errors
    /// When a setting breaks a rule, with its source.
    pub(crate) fn core(&self) -> Result<Config, Failure> {
        let config = self.apply(SETTINGS, |_| true)?;
        config.check().map_err(|invalid| self.refuse(&invalid))?;
        let keys = [
            ("token-key-file", &config.token_key, &config.token_key_file),
            ("token-key-previous-file", &config.token_key_previous, &config.token_key_previous_file),
        ];
        for (name, key, file) in keys {
            let Some(path) = file.as_ref().filter(|_| key.is_none()) else { continue };
            check_key(path).map_err(|rule| self.refuse(&Invalid { settings: vec![name], rule }))?;
        }
        Ok(config)
    }

    /// Returns the settings of the core with only the named ones set; all others have their defaults.
    ///
    /// # Errors
    /// The errors of [`Settings::core`].
    pub(crate) fn core_with(&self, names: &[&str]) -> Result<Config, Failure> {
        self.apply(SETTINGS, |name| names.contains(&name))
    }

    /// Returns the settings of the server.
    ///
    /// # Errors
    /// The errors of [`Settings::core`].
    pub(crate) fn server(&self) -> Result<tidings_server::Config, Failure> {
        let config: tidings_server::Config = self.apply(tidings_server::SETTINGS, |_| true)?;
        config.check().map_err(|invalid| self.refuse(&invalid))?;
        Ok(config)
    }

    /// Returns the settings of the command line.
    ///
    /// # Errors
    /// The errors of [`Settings::core`].
    pub(crate) fn own(&self) -> Result<Own, Failure> {
        self.apply(own::SETTINGS, |_| true)
    }

    fn apply<C: Default>(&self, table: &[Group<C>], wanted: impl Fn(&str) -> bool) -> Result<C, Failure> {
        let mut config = C::default();
        for setting in
            table.iter().flat_map(|group| group.settings).filter(|setting| wanted(setting.about.name))
        {
            if let Some(given) = self.given(setting.about.name) {
                setting.set(&mut config, &given.value).map_err(|invalid| self.refuse(&invalid))?;
            }
        }
        Ok(config)
    }

    /// Returns the failure of a setting that breaks a rule, with the source of the first setting in the rule that is set.
    pub(crate) fn refuse(&self, invalid: &Invalid) -> Failure {
        let rule = &invalid.rule;
        let found = invalid.settings.iter().find_map(|name| {
            let entry = ENTRIES.iter().find(|entry| entry.about.name == *name)?;
            Some((entry.about, self.given(name)?))
        });
        let Some((about, given)) = found else {
            return Failure::usage(format!("{}: {rule}", invalid.settings[0]));
        };
        let place = self.place(about.name).unwrap_or_default();
        match given.value {
            Value::Secret(_) => Failure::usage(format!("{place}: {rule}")),
            _ => Failure::invalid(&masked(&about.form.text(&given.value)), place, rule),
        }
    }

    /// Returns where a setting is set.
    fn place(&self, name: &str) -> Option<String> {
        let entry = ENTRIES.iter().find(|entry| entry.about.name == name)?;
        Some(match self.given(name)?.source {
            Source::Flag => format!("--{name}"),
            Source::Environment => entry.about.variable(),
            Source::File(line) => file::place(&self.file, line, name),
        })
    }
}

/// Checks that tokens can be signed with the key in a file.
fn check_key(path: &Path) -> Result<(), String> {
    let key = std::fs::read(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
    Secret(key.into()).check().map_err(|rule| format!("{}: {rule}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_have_the_same_name() {
        let mut names: Vec<_> = ENTRIES.iter().map(|entry| entry.about.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn the_defaults_keep_their_own_rules() {
        let settings = Settings::default();
        let _ = (settings.own().unwrap(), settings.core().unwrap(), settings.server().unwrap());
        for entry in ENTRIES.iter().filter(|entry| entry.about.form != Form::Secret) {
            let Entry { about: About { form, name, .. }, default, .. } = entry;
            if let Some(default) = default {
                assert_eq!(form.parse(&form.text(default)).as_ref(), Ok(default), "{name}");
            }
        }
    }

    #[test]
    fn the_place_of_a_rule_about_several_settings_is_one_that_is_given() {
        let value = Value::Whole(7);
        let given = [("pw-max", Given { value, source: Source::Environment })].into();
        let settings = Settings { given, ..Settings::default() };
        assert_eq!(
            settings.core().unwrap_err().message(),
            "invalid value '7' for TIDINGS_PW_MAX: must be at most pw-max, which is 7"
        );
    }

    #[test]
    fn a_password_in_the_address_of_a_mail_server_is_not_shown() {
        let value = Value::Text("smtp://ann:secret@mail.example.org".into());
        let given = [("smtp-url", Given { value, source: Source::Environment })].into();
        let settings = Settings { given, ..Settings::default() };
        assert_eq!(
            settings.core().unwrap_err().message(),
            "invalid value 'smtp://ann:***@mail.example.org' for TIDINGS_SMTP_URL: must not have the password: \
             name a file with it in smtp-password-file"
        );
    }
}
