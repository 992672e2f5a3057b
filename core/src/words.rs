//! Words: how text becomes tokens.
//!
//! [`tokens`] is the one place that says what a word is; whatever is stored, searched or learned is cut by it,
//! so that a search and the text it should find cannot disagree.

mod fold;
mod han;
mod hangul;
mod stop;
pub mod tokens;
