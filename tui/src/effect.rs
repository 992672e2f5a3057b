//! The work that the screens request. It does not run on the thread that draws. Only effects call the service or access files.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidings_client::Service;
use tidings_core::operation::Operation;

use crate::problem::Problem;
use crate::read::Read;
use crate::sheet::Sheet;

pub(crate) mod query;

#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) service: Service,
    pub(crate) read: Read,
}

#[derive(Debug)]
pub(crate) enum Effect {
    Load { number: u64, query: Work<Answer> },
    Act(Act),
    Copy(String),
    Edit(String),
    Suspend,
    Redraw,
    Quit,
}

/// Of the type that the request expects.
pub(crate) type Answer = Box<dyn Any + Send>;

/// Until the screen that waits for the answer has taken it.
pub(crate) type Loaded = Option<Result<Answer, Problem>>;

type Run<T> = dyn FnOnce(&Sources) -> Result<T, Problem> + Send;

pub(crate) struct Work<T>(Box<Run<T>>);

impl<T: Send + 'static> Work<T> {
    pub(crate) fn new(work: impl FnOnce(&Sources) -> Result<T, Problem> + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    pub(crate) fn call(operation: impl Operation<Answer = T>) -> Self {
        Self::new(|sources| Ok(sources.service.call(operation)?))
    }

    pub(crate) fn map<U: Send + 'static>(self, map: impl FnOnce(T) -> U + Send + 'static) -> Work<U> {
        Work::new(|sources| (self.0)(sources).map(map))
    }

    /// A panic is returned as a problem.
    pub(crate) fn run(self, sources: &Sources) -> Result<T, Problem> {
        catch_unwind(AssertUnwindSafe(|| (self.0)(sources))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked");
            Err(Problem::new(format!("The program failed: {text}. Please report it; saved data is safe.")))
        })
    }
}

impl<T> fmt::Debug for Work<T> {
    /// The work may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// The number of a request or a change, which no other has.
pub(crate) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The id of the saved record, or what only the service knows, such as a code.
pub(crate) type Saved = Option<String>;

pub(crate) type Changed<'r> = Result<Option<&'r str>, &'r Problem>;

#[derive(Debug)]
pub(crate) struct Act {
    pub(crate) change: Change,
    pub(crate) work: Work<Saved>,
}

#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) number: u64,
    /// The tab of the screen that shows the changed data.
    pub(crate) tab: Option<usize>,
    pub(crate) kind: Kind,
    /// Told after a success; `None` when the screen itself shows the result.
    pub(crate) done: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Save,
    ShareDraft,
    Remove,
    AddSource(String),
    FetchSource,
    /// Issues a code with which this member chooses a new password.
    IssueReset(String),
    /// Creates a secret for the second factor of the member who has signed in.
    BeginOtp,
    EnableOtp,
    Export(PathBuf, Arc<Sheet>),
}

impl Act {
    pub(crate) fn new(
        tab: impl Into<Option<usize>>,
        kind: Kind,
        done: impl Into<Option<String>>,
        work: Work<Saved>,
    ) -> Self {
        let change = Change { number: next_number(), tab: tab.into(), kind, done: done.into() };
        Self { change, work }
    }

    pub(crate) fn call(tab: usize, kind: Kind, done: String, operation: impl Operation) -> Self {
        Self::new(tab, kind, done, Work::call(operation).map(|_| None))
    }
}

impl Change {
    pub(crate) const fn doing(&self) -> &'static str {
        match self.kind {
            Kind::Remove => "removing",
            Kind::FetchSource => "fetching",
            Kind::ShareDraft => "saving the draft",
            Kind::Export(..) => "exporting",
            _ => "saving",
        }
    }
}
