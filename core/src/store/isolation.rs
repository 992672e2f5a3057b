//! Whether a unit of work runs alone or beside others.

/// How a unit of work relates to others that the store has to run at the same time.
///
/// Every write declares it. SQLite has one writer, so there all work runs alone. Writers of another engine may be in
/// other processes, so the declaration does not depend on which other work this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// No other work runs from the work's first statement to its commit. It sees the changes of all work before it.
    /// This is right for every work, and necessary for work that writes what it has computed from rows that others may
    /// change.
    Alone,
    /// Other concurrent work may run at the same time, and its commit may become visible between two statements. This
    /// is for work that changes no row that others change, or that locks such rows before it reads them.
    Concurrent,
}
