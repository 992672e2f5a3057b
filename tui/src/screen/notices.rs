//! Notices: reading, writing, showing, hiding and removing them.

mod editor;
mod list;
mod row;

pub(crate) use list::Notices;
