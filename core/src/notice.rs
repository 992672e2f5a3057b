//! Notices.

/// The notices in memory.
#[derive(Default)]
pub struct Board;
