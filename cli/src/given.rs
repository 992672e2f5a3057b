//! Values and names as messages quote and suggest them.

use tidings_client::shown::escape;

/// The maximum length of a value in a message, in characters.
const VALUE_MAX: usize = 60;
/// The similarity above which a name is suggested in place of an unknown one.
const SIMILAR: f64 = 0.5;

/// Returns a value in quotes, in one line that is not too long.
pub(crate) fn shown(value: &str) -> String {
    let line = escape::line(value);
    if line.chars().count() <= VALUE_MAX {
        return format!("'{line}'");
    }
    let start: String = line.chars().take(VALUE_MAX).collect();
    format!("'{start}…'")
}

/// Returns the similarity of two names, up to 1; `None` if one is hardly a typing error of the other.
pub(crate) fn similarity(typed: &str, known: &str) -> Option<f64> {
    Some(strsim::normalized_damerau_levenshtein(typed, known)).filter(|similarity| *similarity > SIMILAR)
}
