//! Tables whose rows expire in the order of their keys.

/// An engine may store such a table in partitions, each of which has a range of keys, and drops a partition as a whole. The first
/// and the last partition have no bound, so every key belongs to one.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Its primary key is one integer, `key`.
    pub table: &'static str,
    /// The approximate key of a row of this moment.
    pub now: i64,
    /// Rows below this key have expired.
    pub expired: i64,
    /// The number of keys of a partition: a multiple of `unit`.
    pub span: i64,
    /// The bounds of all partitions are multiples of this number.
    pub unit: i64,
}

/// What the caller does with expired rows that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    Delete,
    /// The others go with their partition, which soon has no other rows.
    MayWait,
}
