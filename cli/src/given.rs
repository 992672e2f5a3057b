//! Values and names as messages quote and suggest them.

use tidings_client::shown::escape;

/// The maximum length of a value in a message, in characters.
const VALUE_MAX: usize = 60;
/// The similarity above which a name is suggested in place of an unknown one.
const SIMILAR: f64 = 0.5;

pub(crate) fn shown(value: &str) -> String {
    let line = escape::line(value);
    if line.chars().count() <= VALUE_MAX {
        return format!("'{line}'");
    }
    let start: String = line.chars().take(VALUE_MAX).collect();
    format!("'{start}…'")
}

/// Returns at most 1; `None` if `typed` is hardly a misspelling of `known`.
pub(crate) fn similarity(typed: &str, known: &str) -> Option<f64> {
    Some(strsim::normalized_damerau_levenshtein(typed, known)).filter(|similarity| *similarity > SIMILAR)
}
