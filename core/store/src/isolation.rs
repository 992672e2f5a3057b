//! Whether a unit of work runs alone or beside others.

/// How a unit of work relates to other work that the store has to run at the same time. On SQLite all work runs alone. Other
/// writers may be in other processes, so the declaration does not depend on the other work of this process.
///
/// Concurrent work relies on these facts:
///
/// - Work that runs [alone](Isolation::Alone) changes nothing before it ends: a member is neither removed nor blacklisted, a post
///   stays, no schema or setting changes.
/// - The last statements of a commit ([`Tx::count`](super::Tx::count), [`Tx::touch`](super::Tx::touch),
///   [`Tx::run_at_commit`](super::Tx::run_at_commit) and [`Tx::set_at_commit`](super::Tx::set_at_commit)) wait for no work that
///   waits for them: counters have rows for each writer, and all transactions write the other rows in one order.
/// - Its statements see the commits of other concurrent work as they come. A rule over several rows, such as that an
///   administrator stays, needs work that runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// No other work runs from the first statement to the commit. This is right for every work, and necessary for work that
    /// writes what it has computed from rows that others may change.
    Alone,
    /// This work waits for no other: it adds rows that no other work adds, and changes or deletes none that other concurrent work
    /// changes.
    Concurrent,
    /// This work locks rows that others lock too, in an order that all work of its kind keeps, before it reads what it changes. A
    /// transaction has at most one such work, so that two transactions never wait for each other, and then no deferred write,
    /// because others wait for its locks.
    Locking,
}

impl Isolation {
    pub(super) fn admits(self, other: Self) -> bool {
        match self {
            Self::Alone => true,
            Self::Concurrent => other != Self::Alone,
            Self::Locking => other == Self::Concurrent,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Concurrent { other } else { self }
    }
}
