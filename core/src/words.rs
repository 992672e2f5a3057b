//! Words: how text becomes tokens.
pub mod tokens;
