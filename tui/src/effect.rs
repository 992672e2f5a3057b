//! The work that the screens request. It does not run on the thread that draws. Only effects call the service or access files.

use std::collections::HashSet;

use tidings_client::Service;
use tidings_core::account::{MemberFilter, Members};
use tidings_core::analysis::{GetLog, Live, LogLine, LogLines, LogPlace, Period, SearchBurst};
use tidings_core::audit::{AuditPage, Verification};
use tidings_core::clock::Timestamp;
use tidings_core::feedback::Feedback;
use tidings_core::notice::{FullNotice, SavedDraft};
use tidings_core::post::Post;
use tidings_core::profile::Lists;
use tidings_core::source::Source;

use crate::problem::Problem;
use crate::read::Read;

mod act;
mod query;

pub(crate) use act::{Act, Changed, NoticeEdit, Saved, Secret};

#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) service: Service,
    pub(crate) read: Read,
}

#[derive(Debug)]
pub(crate) enum Effect {
    /// Runs a query; `number` identifies its answer.
    Load { number: u64, query: Query },
    /// Makes a change.
    Act(Act),
    /// Copies a text to the terminal's clipboard.
    Copy(String),
    /// Opens a text in the editor that the environment names.
    Edit(String),
    /// Suspends the program.
    Suspend,
    /// Redraws the whole terminal.
    Redraw,
    /// Ends the program.
    Quit,
}

/// The newest posts are those of all topics, or of the topic or tag that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Overview,
    Notices,
    Feedback,
    Popular,
    Newest(Option<String>),
    FindPosts(String),
    Post(String),
    Period { first: String, last: String },
    Log { filter: GetLog, place: Option<LogPlace> },
    Members { search: String, only: Option<MemberFilter>, after: Option<String>, limit: usize },
    Member(String),
    Audit { before: Option<i64> },
    VerifyAudit,
    Sources,
}

#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) live: Live,
    pub(crate) terms: Vec<(String, i64)>,
    /// Terms that are searched more than usual.
    pub(crate) bursts: Vec<SearchBurst>,
    pub(crate) log: LogLines,
    pub(crate) health: Health,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) database_bytes: u64,
    pub(crate) wal_bytes: u64,
    /// Of this process, or of the server.
    pub(crate) waiting: usize,
    /// The last transaction that changed anything that the screens show.
    pub(crate) revision: i64,
    pub(crate) at: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Notices {
    pub(crate) list: Vec<FullNotice>,
    pub(crate) drafts: Vec<SavedDraft>,
}

#[derive(Debug)]
pub(crate) struct FeedbackData {
    pub(crate) list: Vec<Feedback>,
    pub(crate) notices: Vec<FullNotice>,
    /// Read on this machine.
    pub(crate) read: HashSet<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct PostRow {
    pub(crate) post: Post,
    /// The rank in the popular feed or among the newest posts, from 1, or the similarity to the search in percent.
    pub(crate) place: usize,
    /// Empty in other lists than the popular feed.
    pub(crate) why: String,
}

#[derive(Debug)]
pub(crate) struct PostText {
    pub(crate) shown: Post,
    pub(crate) post: String,
    pub(crate) topic: Vec<String>,
    pub(crate) tag: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Answer {
    Overview(Box<Overview>),
    Notices(Notices),
    Feedback(FeedbackData),
    Posts(Vec<PostRow>),
    Post(PostText),
    Figures(Box<Figures>),
    Log(LogLines),
    Members(Members),
    Member(Box<Member>),
    Audit(AuditPage),
    Verified(Verification),
    Sources(Vec<Source>),
}

/// The terms are those of the last 24 hours: the most frequent, and those searched more than usual.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) period: Period,
    pub(crate) terms: Vec<(String, i64)>,
    pub(crate) bursts: Vec<SearchBurst>,
}

/// The data of a member that the list lacks.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) auto_login: bool,
    pub(crate) lists: Lists,
    /// The member's lines of the log, or why the caller may not see them.
    pub(crate) log: Result<Vec<LogLine>, Problem>,
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Problem {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Problem::internal(&text.unwrap_or_else(|| "it panicked".to_owned()))
}
