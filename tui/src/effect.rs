//! What the screens have done for them, off the thread that draws: the only calls to the core, and to files.

use tidings_core::Tidings;
use tidings_core::account::Members;
use tidings_core::analysis::{Live, LogEntry, LogFilter, LogPage, LogPlace, Period};
use tidings_core::feedback::Feedback;
use tidings_core::notice::Notice;
use tidings_core::profile::Lists;

use crate::draft::{Drafts, SavedDraft};
use crate::problem::Problem;

mod act;
mod query;

pub(crate) use act::Act;

/// What effects work on.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) tidings: Tidings,
    pub(crate) drafts: Drafts,
}

/// Something to be done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Asks something; the answer has this number.
    Load { number: u64, query: Query },
    /// Changes something.
    Act(Act),
    /// Hands a text to the terminal's clipboard.
    Copy(String),
    /// Goes to the background.
    Suspend,
    /// Draws everything anew, whatever stands on the terminal.
    Redraw,
    /// Ends.
    Quit,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Overview,
    Notices,
    Feedback,
    Popular,
    FindPosts(String),
    Post(String),
    Period { first: String, last: String },
    Log { filter: LogFilter, place: Option<LogPlace> },
    Members { search: String, after: Option<String>, limit: usize },
    Member(String),
}

/// What an overview shows beside what the program itself knows.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) live: Live,
    pub(crate) terms: Vec<(String, i64)>,
    pub(crate) log: LogPage,
    pub(crate) health: Health,
}

/// How the database is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) database_bytes: u64,
    pub(crate) wal_bytes: u64,
    /// Works of this process that wait to be written.
    pub(crate) waiting: usize,
    /// The number of the last transaction that changed anything that is shown.
    pub(crate) revision: i64,
    /// When this was looked at.
    pub(crate) at: i64,
}

/// A post as the list has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostRow {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) date: i64,
    pub(crate) end_date: Option<i64>,
    pub(crate) view: i64,
    pub(crate) fav: i64,
    /// Its rank in the popular feed, from 1, or how well it matches a search, in percent.
    pub(crate) place: usize,
}

/// A whole post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostText {
    pub(crate) id: String,
    pub(crate) post: String,
    pub(crate) topic: Vec<String>,
    pub(crate) tag: Vec<String>,
    pub(crate) img: String,
}

/// The answer to a question.
#[derive(Debug)]
pub(crate) enum Answer {
    Overview(Result<Box<Overview>, Problem>),
    Notices(Result<(Vec<Notice>, Vec<SavedDraft>), Problem>),
    Feedback(Result<(Vec<Feedback>, Vec<Notice>), Problem>),
    Posts(Result<Vec<PostRow>, Problem>),
    Post(Result<PostText, Problem>),
    Figures(Result<Box<Figures>, Problem>),
    Log(Result<LogPage, Problem>),
    Members(Result<Members, Problem>),
    Member(Result<Box<Member>, Problem>),
}

/// The figures of some days, and what is searched most now.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) period: Period,
    pub(crate) terms: Vec<(String, i64)>,
}

/// What there is to know of a member beside what the list has.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) auto_login: bool,
    pub(crate) lists: Lists,
    pub(crate) log: Vec<LogEntry>,
}

/// What a panic says.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Problem {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Problem::internal(&text.unwrap_or_else(|| "it panicked".to_owned()))
}
