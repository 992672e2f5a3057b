//! Widgets that several screens share.

pub(crate) mod browser;
pub(crate) mod chart;
pub(crate) mod cursor;
pub(crate) mod cycle;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod table;
