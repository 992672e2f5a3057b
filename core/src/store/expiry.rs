//! Tables whose rows expire in the order of their keys.

/// An engine may store such a table in partitions, each of which has a range of keys, and drops a partition as a whole. The first
/// and the last partition have no bound, so every key belongs to one.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no partitions"))]
pub(crate) struct Expiry {
    /// Its primary key is one integer, `key`.
    pub(crate) table: &'static str,
    /// The approximate key of a row of this moment.
    pub(crate) now: i64,
    /// Rows below this key have expired.
    pub(crate) expired: i64,
    /// The number of keys of a partition: a multiple of `unit`.
    pub(crate) span: i64,
    /// The bounds of all partitions are multiples of this number.
    pub(crate) unit: i64,
}

/// What the caller does with expired rows that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no partitions"))]
pub(crate) enum Leftover {
    Delete,
    /// The others go with their partition, which soon has no other rows.
    MayWait,
}
