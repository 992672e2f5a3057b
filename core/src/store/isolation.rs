//! Whether a unit of work runs alone or beside others.

/// How a unit of work relates to others that the store has to run at the same time.
///
/// Every write declares it. SQLite has one writer, so there all work runs alone. Writers of another engine may be in
/// other processes, so the declaration does not depend on which other work this process has.
///
/// What concurrent work relies on:
///
/// - Nothing that runs [alone](Isolation::Alone) changes anything before it ends: a member it has found is neither removed
///   nor blacklisted, a post stays, no schema or setting changes.
/// - What a commit writes last ([`Tx::count`](super::Tx::count), [`Tx::touch`](super::Tx::touch),
///   [`Tx::run_at_commit`](super::Tx::run_at_commit) and [`Tx::set_at_commit`](super::Tx::set_at_commit)) waits for no work that waits for it: counters have rows for each
///   writer, and the other rows are written in one order by all.
/// - Its statements see the commits of other concurrent work as they come. A rule that must hold over several rows, such as
///   that an administrator stays, is for work that runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// No other work runs from the work's first statement to its commit. It sees the changes of all work before it.
    /// This is right for every work, and necessary for work that writes what it has computed from rows that others may
    /// change.
    Alone,
    /// Other concurrent work may run at the same time. This work waits for none of it: it adds rows that no other work adds,
    /// and changes or deletes none that other concurrent work changes.
    Concurrent,
    /// Other concurrent work may run at the same time. This work locks rows that others lock too, in an order that all work of
    /// its kind keeps, before it reads what it changes. A transaction has at most one such work, so that two transactions never
    /// wait for each other, and then no deferred write, because others wait for its locks.
    Locking,
}

impl Isolation {
    /// Returns whether a transaction that has run works of this isolation can also run one with `other`.
    pub(super) fn admits(self, other: Self) -> bool {
        match self {
            Self::Alone => true,
            Self::Concurrent => other != Self::Alone,
            Self::Locking => other == Self::Concurrent,
        }
    }

    /// Returns the isolation of a transaction that runs works with both.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Concurrent { other } else { self }
    }
}
