//! What several screens are made of. Each draws what it is given and changes nothing.

pub(crate) mod browser;
pub(crate) mod chart;
pub(crate) mod cursor;
pub(crate) mod cycle;
pub(crate) mod input;
pub(crate) mod table;
