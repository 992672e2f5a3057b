//! The core of tidings.
pub mod words;
